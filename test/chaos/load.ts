import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { MEDIA } from '../../src/simulators/media/kinds.ts';
import { inputFor } from './catalogue.ts';
import { type Answer, type Client, isToBeTriedAgain } from './client.ts';
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
  /** Hash of the image that was uploaded for a prompt. */
  readonly uploaded = new Map<string, string>();
  readonly #input: LoadInput;
  readonly #underWay = new Set<Promise<void>>();
  readonly #first = new Map<Asked, string>();
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

  /** Generations that have not ended. */
  get open(): number {
    return this.#input.open();
  }

  /** Nothing more will come, and nothing is left of what came. */
  get isOver(): boolean {
    return this.#allAsked && this.#underWay.size === 0 && this.#input.open() === 0;
  }

  /** One more, at once. */
  ask(wish: Wish): Asked {
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
      cancelSent: false,
      toldByUrl,
    };
    this.asked.push(asked);
    const created = this.#create(wish, asked);
    this.#track(created);
    if (wish.cancelAfterMs !== null) {
      this.#track(Promise.all([created, sleep(wish.cancelAfterMs)]).then(() => this.#cancel(asked)));
    }
    return asked;
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async #create(wish: Wish, asked: Asked): Promise<void> {
    const { client, signal } = this.#input;
    this.#unanswered += 1;
    try {
      const image = wish.fromImage ? await this.#upload(wish) : null;
      while (!signal.aborted) {
        const answer = await this.#post(wish, image);
        if (answer !== null && isTaken(wish, answer)) {
          this.#keep(wish, asked, answer);
          break;
        }
        asked.status = answer?.status ?? asked.status;
        if (answer !== null && !isToBeTriedAgain(answer)) {
          if (answer.status !== 402 && !(wish.tooLong && [400, 413].includes(answer.status))) {
            client.odd(`POST /v1/${wish.door}`, answer);
          }
          break;
        }
        await sleep(AGAIN_MS);
      }
      if (wish.repeated && asked.id !== null) this.#track(this.#repeat(wish, asked, image));
    } finally {
      this.#unanswered -= 1;
    }
  }

  /** An image of its own, under one key until it is there. @returns its id, null when the run was stopped */
  async #upload({ prompt, idempotencyKey }: Wish): Promise<string | null> {
    const { client, signal } = this.#input;
    const bytes = Uint8Array.from(MEDIA.image.make(prompt, 0));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    while (!signal.aborted) {
      const answer = await client.call('POST', '/v1/inputs', {
        bytes,
        key: `${idempotencyKey}-image`,
        headers: { 'content-type': 'image/png' },
      });
      if (answer?.status === 201) {
        const input = JSON.parse(answer.text) as { id: string; sha256: string };
        if (input.sha256 !== sha256) client.odd(`POST /v1/inputs of ${sha256}`, answer);
        this.uploaded.set(prompt, sha256);
        return input.id;
      }
      if (answer !== null && !isToBeTriedAgain(answer)) client.odd('POST /v1/inputs', answer);
      await sleep(AGAIN_MS);
    }
    return null;
  }

  #post(wish: Wish, image: string | null): Promise<Answer | null> {
    const { client, webhookUrl } = this.#input;
    const { model, account, idempotencyKey: key, deadlineSeconds } = wish;
    const input = inputFor(model, wish.prompt, image);
    if (wish.door === 'videos') {
      const { prompt, duration_seconds: seconds } = input;
      return client.call('POST', '/v1/videos', {
        json: {
          model,
          prompt,
          ...(seconds === undefined ? {} : { seconds }),
          ...(image === null ? {} : { input_reference: { file_id: image } }),
        },
        key,
        headers: { 'darkroom-account': account, 'darkroom-deadline-seconds': String(deadlineSeconds) },
      });
    }
    const callback = wish.toldByUrl ? { callback_url: `${webhookUrl}/callback-url` } : {};
    const json = { model, input, account, deadline_seconds: deadlineSeconds, ...callback };
    return client.call('POST', '/v1/generations', { json, key });
  }

  /** Under one key each answer has the same bytes; those of the usual shape are compared with the row too. */
  #keep(wish: Wish, asked: Asked, answer: Answer): void {
    const first = this.#first.get(asked) ?? answer.text;
    this.#first.set(asked, first);
    if (answer.text !== first) this.#input.client.odd(`POST /v1/${wish.door} after ${first}`, answer);
    if (wish.door === 'generations') asked.answers.push(answer.text);
    asked.status = 202;
    asked.id ??= (JSON.parse(answer.text) as { id: string }).id;
  }

  async #repeat(wish: Wish, asked: Asked, image: string | null): Promise<void> {
    const answer = await this.#post(wish, image);
    if (answer === null || isToBeTriedAgain(answer)) return;
    if (isTaken(wish, answer)) this.#keep(wish, asked, answer);
    else this.#input.client.odd(`POST /v1/${wish.door}, again under its key`, answer);
  }

  async #cancel(asked: Asked): Promise<void> {
    const { client, signal } = this.#input;
    while (!signal.aborted && asked.id !== null) {
      // Both ways to say it are the same.
      const [method, path] = asked.toldByUrl ? (['DELETE', ''] as const) : (['POST', '/cancel'] as const);
      asked.cancelSent = true;
      const answer = await client.call(method, `/v1/generations/${asked.id}${path}`);
      if (answer?.status === 200 || answer?.status === 202) asked.cancelled = true;
      else if (answer === null || (isToBeTriedAgain(answer) && answer.code !== 'already_terminal')) {
        await sleep(AGAIN_MS);
        continue;
      } else if (answer.code !== 'already_terminal') client.odd('POST /v1/generations/{id}/cancel', answer);
      return;
    }
  }
}

function isTaken({ door }: Wish, { status }: Answer): boolean {
  return status === (door === 'videos' ? 200 : 202);
}
