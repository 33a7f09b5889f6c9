import { setTimeout as sleep } from 'node:timers/promises';
import { readEventStream } from '../../src/client/event-stream.ts';
import type { Client } from './client.ts';
import type { Chance } from './random.ts';
import type { Asked, Violation } from './types.ts';

const AT_ONCE = 6;
const LOOK_MS = 200;
const AGAIN_MS = 400;
/** From a healthy stack, everything that ended is told by then. */
const REST_MS = 60_000;
const CHECK = 'a stream that was cut goes on where it was';

interface Told {
  readonly seq: number;
  readonly type: string;
}

export interface StreamsInput {
  readonly client: Client;
  readonly asked: () => readonly Asked[];
  readonly chance: Chance;
  readonly signal: AbortSignal;
}

/** SSE-1: follows some generations from their start; each stream is cut at random, and gone on with by `Last-Event-ID`. */
export class Streams {
  readonly violations: Violation[] = [];
  /** How often a stream was opened again. */
  resumed = 0;
  readonly #input: StreamsInput;
  readonly #told = new Map<string, Told[]>();
  readonly #open = new Set<Promise<void>>();
  #stopped = false;

  constructor(input: StreamsInput) {
    this.#input = input;
  }

  get count(): number {
    return this.#told.size;
  }

  /** Until `finish`. */
  async run(): Promise<void> {
    const { asked, chance, signal } = this.#input;
    let seen = 0;
    while (!this.#stopped && !signal.aborted) {
      const all = asked();
      // The newest, so that it is followed while it is under way.
      const newest = all.slice(seen).findLast(({ id }) => id !== null);
      if (this.#open.size < AT_ONCE && newest !== undefined) {
        seen = all.indexOf(newest) + 1;
        this.#start(newest.id ?? '', chance.fork(newest.idempotencyKey));
      }
      await sleep(LOOK_MS);
    }
  }

  #start(id: string, chance: Chance): void {
    if (this.#told.has(id)) return;
    const told: Told[] = [];
    this.#told.set(id, told);
    const following = this.#follow(id, told, chance).finally(() => this.#open.delete(following));
    this.#open.add(following);
  }

  /** All have ended and nothing is broken any more: every stream comes to its end, and told what the rows have. */
  async finish(eventsOf: (ids: readonly string[]) => Promise<Map<string, Told[]>>): Promise<void> {
    this.#stopped = true;
    const over = Promise.all(this.#open).then(() => true);
    const isOver = await Promise.race([over, sleep(REST_MS, false, { ref: false })]);
    if (!isOver) this.#wrong(null, `${this.#open.size} streams have no end ${REST_MS / 1_000} s after all`);
    const events = await eventsOf([...this.#told.keys()]);
    for (const [id, told] of this.#told) {
      const [joined, stands] = [told, events.get(id) ?? []].map((list) =>
        list.map(({ seq, type }) => `${seq} ${type}`).join(', '),
      );
      if (joined !== stands) this.#wrong(id, `told in all: ${joined}; there are ${stands}`);
    }
  }

  #wrong(generation: string | null, problem: string): void {
    this.violations.push({ check: CHECK, generation, problem });
  }

  async #follow(id: string, told: Told[], chance: Chance): Promise<void> {
    const { signal } = this.#input;
    for (let tries = 0; !signal.aborted; tries++) {
      if (tries > 0) await sleep(AGAIN_MS);
      // In the end it is left alone.
      const cutAfterMs = this.#stopped ? REST_MS : chance.whole(20, 4_000);
      const state = await this.#once(id, told, cutAfterMs);
      if (state === 'over') return;
      if (told.length > 0 && tries > 0) this.resumed += 1;
    }
  }

  /** One connection. @returns over = whoever has the last event is told that there is nothing more */
  async #once(id: string, told: Told[], cutAfterMs: number): Promise<'over' | 'again'> {
    const { client, signal } = this.#input;
    const last = told.at(-1);
    const url = `${client.nextApi()}/v1/generations/${id}/events`;
    const cut = AbortSignal.any([signal, AbortSignal.timeout(cutAfterMs)]);
    try {
      const answer = await fetch(url, {
        headers: {
          authorization: `Bearer ${client.key}`,
          accept: 'text/event-stream',
          ...(last === undefined ? {} : { 'last-event-id': String(last.seq) }),
        },
        signal: cut,
      });
      if (answer.status === 204 && last?.type === 'terminal') return 'over';
      if (answer.status !== 200 || answer.body === null) {
        const text = await answer.text();
        if (![401, 429, 503].includes(answer.status)) {
          client.odd(`GET /v1/generations/{id}/events after ${last?.seq}`, { status: answer.status, text });
          return 'over';
        }
        return 'again';
      }
      for await (const event of readEventStream(answer.body, () => {})) {
        this.#take(id, told, { seq: Number(event.id), type: event.type });
      }
    } catch {
      // Cut by us, by a fault, or by the end of its API.
    }
    return 'again';
  }

  #take(id: string, told: Told[], event: Told): void {
    const last = told.at(-1);
    if (event.seq !== (last?.seq ?? 0) + 1 || last?.type === 'terminal') {
      this.#wrong(id, `after ${last?.seq ?? 'nothing'} ${last?.type ?? ''} comes ${event.seq} ${event.type}`);
    }
    told.push(event);
  }
}
