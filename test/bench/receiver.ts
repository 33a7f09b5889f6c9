import { startPlain, type PlainProcess } from './plain-process.ts';

interface Arrival {
  /** The generation that the webhook tells of. */
  readonly id: string;
  /** Of its first byte, by the machine's monotonic clock in milliseconds with fractions. */
  readonly atMs: number;
}

/** From the machine's monotonic clock to performance.now() of this process. */
const CLOCK_MS = performance.now() - Number(process.hrtime.bigint()) / 1e6;

/** A tenant's receiver in a process of its own (receiver.mjs), which tells of what has arrived. */
export class Receiver {
  readonly #process: PlainProcess;
  readonly #arrivals = new Map<string, number>();

  private constructor(process: PlainProcess) {
    this.#process = process;
    process.child.on('message', ({ id, atMs }: Arrival) => {
      if (!this.#arrivals.has(id)) this.#arrivals.set(id, atMs + CLOCK_MS);
    });
  }

  static async start(): Promise<Receiver> {
    return new Receiver(await startPlain(new URL('receiver.mjs', import.meta.url), []));
  }

  get url(): string {
    return this.#process.url;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** When the first byte about each generation arrived by performance.now(). */
  get arrivals(): ReadonlyMap<string, number> {
    return this.#arrivals;
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
