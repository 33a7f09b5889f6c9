import { type ChildEnd, logTail } from './child.ts';

/** The parts of a stack that run, and how each is stopped. */
export class Parts {
  #stopping: Promise<void> | undefined;
  readonly #stops: (() => Promise<unknown>)[] = [];
  #onBroken: (error: Error) => void = () => {};
  /** Rejects when a part ends that nobody stopped, with the end of its log. */
  readonly broken = new Promise<never>((_, reject) => {
    this.#onBroken = reject;
  });

  constructor() {
    this.broken.catch(() => {});
  }

  /** A part that was added later is stopped earlier; what one call stops together ends together. */
  add(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** @throws Error when a stop has begun: nothing more is to be started */
  assertWanted(): void {
    if (this.#stopping !== undefined) throw new Error('Stopped while starting.');
  }

  watch(name: string, ended: Promise<ChildEnd>, logFile: string): void {
    void this.#report(name, ended, logFile);
  }

  async #report(name: string, ended: Promise<ChildEnd>, logFile: string): Promise<void> {
    const { code, signal } = await ended;
    if (this.#stopping !== undefined) return;
    const how = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
    this.#onBroken(new Error(`${name} ${how}. The end of its log (${logFile}):\n${await logTail(logFile)}`));
  }

  /** Ends everything. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop().catch(() => {});
  }
}
