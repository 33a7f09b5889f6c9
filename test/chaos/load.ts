import { setTimeout as sleep } from 'node:timers/promises';
import { inputFor } from './catalogue.ts';
import type { Answer, Client } from './client.ts';
import type { Asked } from './types.ts';
import type { Wish } from './wishes.ts';

/** Generations that may be open at once: two cores run everything. */
const MOST_OPEN = 60;
/** Asked for ahead of the faults, so that each fault meets some. */
const AHEAD = 25;
/** Fewer are open than this: one more each second, so that whoever waits for a kill point sees somebody come there. */
const FEW_OPEN = 6;
const TRICKLE_MS = 1_000;
const LOOK_MS = 40;
/** Between tries of a call that was not answered, or that was to be tried again. */
const AGAIN_MS = 400;

export interface LoadInput {
  readonly client: Client;
  readonly wishes: readonly Wish[];
  readonly webhookUrl: string;
  /** How far the run is, from 0 to 1: the load keeps step with it. */
  readonly progress: () => number;
  /** Generations that have not ended. */
  readonly open: () => number;
  readonly signal: AbortSignal;
}

/** A tenant's backend: asks, repeats what was not answered, cancels some, repeats some that were answered. */
export class Load {
  readonly asked: Asked[] = [];
  readonly #input: LoadInput;
  readonly #underWay = new Set<Promise<void>>();
  #unanswered = 0;
  #allAsked = false;

  constructor(input: LoadInput) {
    this.#input = input;
  }

  /** Until all is asked for and answered. */
  async run(): Promise<void> {
    const { wishes, progress, open, signal } = this.#input;
    let askedMs = 0;
    for (const [number, wish] of wishes.entries()) {
      const mayGo = () => {
        if (number < wishes.length * progress() + AHEAD) return !this.isFull;
        return this.#unanswered + open() < FEW_OPEN && performance.now() - askedMs > TRICKLE_MS;
      };
      while (!signal.aborted && !mayGo()) await sleep(LOOK_MS);
      if (signal.aborted) break;
      this.ask(wish);
      askedMs = performance.now();
    }
    this.#allAsked = true;
    await this.answered();
  }

  /** Until nothing is under way. */
  async answered(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** As much is under way as two cores can do. */
  get isFull(): boolean {
    return this.#unanswered + this.#input.open() >= MOST_OPEN;
  }

  /** Nothing more will come, and nothing is left of what came. */
  get isOver(): boolean {
    return this.#allAsked && this.#underWay.size === 0 && this.#input.open() === 0;
  }

  /** One more, at once. */
  ask(wish: Wish): void {
    const { prompt, model, idempotencyKey, account, toldByUrl } = wish;
    const asked: Asked = {
      prompt,
      model,
      idempotencyKey,
      account,
      status: null,
      id: null,
      answers: [],
      cancelled: false,
      toldByUrl,
    };
    this.asked.push(asked);
    const created = this.#create(wish, asked);
    this.#track(created);
    if (wish.repeated) this.#track(created.then(() => this.#repeat(wish, asked)));
    if (wish.cancelAfterMs !== null) {
      this.#track(Promise.all([created, sleep(wish.cancelAfterMs)]).then(() => this.#cancel(asked)));
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async #create(wish: Wish, asked: Asked): Promise<void> {
    const { client, signal } = this.#input;
    this.#unanswered += 1;
    try {
      while (!signal.aborted) {
        const answer = await this.#post(wish);
        asked.status = answer?.status ?? asked.status;
        if (answer?.status === 202) {
          this.#keep(asked, answer);
          break;
        }
        if (answer !== null && !isToBeTriedAgain(answer)) {
          if (answer.status !== 402 && !(wish.tooLong && [400, 413].includes(answer.status))) {
            client.odd('POST /v1/generations', answer);
          }
          break;
        }
        await sleep(AGAIN_MS);
      }
    } finally {
      this.#unanswered -= 1;
    }
  }

  #post(wish: Wish): Promise<Answer | null> {
    const json = {
      model: wish.model,
      input: inputFor(wish.model, wish.prompt),
      account: wish.account,
      deadline_seconds: wish.deadlineSeconds,
      ...(wish.toldByUrl ? { callback_url: `${this.#input.webhookUrl}/callback-url` } : {}),
    };
    return this.#input.client.call('POST', '/v1/generations', { json, key: wish.idempotencyKey });
  }

  #keep(asked: Asked, { text }: Answer): void {
    asked.answers.push(text);
    asked.id ??= (JSON.parse(text) as { id: string }).id;
  }

  async #repeat(wish: Wish, asked: Asked): Promise<void> {
    if (asked.id === null) return;
    const answer = await this.#post(wish);
    if (answer?.status === 202) this.#keep(asked, answer);
    else if (answer !== null && !isToBeTriedAgain(answer)) {
      this.#input.client.odd('POST /v1/generations, again under its key', answer);
    }
  }

  async #cancel(asked: Asked): Promise<void> {
    const { client, signal } = this.#input;
    while (!signal.aborted && asked.id !== null) {
      const answer = await client.call('POST', `/v1/generations/${asked.id}/cancel`);
      if (answer?.status === 200 || answer?.status === 202) asked.cancelled = true;
      else if (answer === null || (isToBeTriedAgain(answer) && answer.code !== 'already_terminal')) {
        await sleep(AGAIN_MS);
        continue;
      } else if (answer.code !== 'already_terminal') client.odd('POST /v1/generations/{id}/cancel', answer);
      return;
    }
  }
}

/** By its status the same call may be answered otherwise later; 401 where a key was revoked under way. */
function isToBeTriedAgain({ status, code }: Answer): boolean {
  return status === 401 || status === 429 || status === 503 || code === 'idempotency_key_in_progress';
}
