import { randomUUID } from 'node:crypto';
import type { GenerationView } from '../domain/generation-view.ts';

/** One generation that was asked for. */
export interface Sent {
  readonly id: string;
  /** Nobody else's, so that the provider's jobs can be told apart. */
  readonly prompt: string;
}

/** Every fourth is polled, the rest end by the provider's callback. */
const MODELS = ['infro-video', 'infro-video', 'infro-video', 'infro-video-polled'] as const;
const AT_ONCE = 8;
const TRIES = 5;
const RETRY_MS = 1_000;
const CALL_MS = 30_000;

/** What a tenant's backend does: asks through both APIs in turn, repeats with the same key what was not answered. */
export class Load {
  readonly sent: Sent[] = [];
  /** Answers that were not 202, which were then tried again. */
  refusals = 0;
  readonly #apiUrls: readonly string[];
  readonly #apiKey: string;

  constructor(apiUrls: readonly string[], apiKey: string) {
    this.#apiUrls = apiUrls;
    this.#apiKey = apiKey;
  }

  /** Sends this many more, few at once. @throws Error when one is refused five times */
  async send(count: number): Promise<void> {
    let begun = 0;
    const sender = async () => {
      while (begun < count) {
        const number = this.sent.length + begun;
        begun += 1;
        await this.#create(number);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
  }

  async #create(number: number): Promise<void> {
    const prompt = `cluster run ${number} ${randomUUID()}`;
    const request = {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({
        model: MODELS[number % MODELS.length],
        input: { prompt, duration_seconds: 1 },
      }),
    };
    let last = '';
    for (let attempt = 0; attempt < TRIES; attempt++) {
      if (attempt > 0) await new Promise((done) => setTimeout(done, RETRY_MS));
      const api = this.#apiUrls[(number + attempt) % this.#apiUrls.length];
      const answer = await fetch(`${api}/v1/generations`, {
        ...request,
        signal: AbortSignal.timeout(CALL_MS),
      }).catch((error: unknown) => String(error));
      if (typeof answer !== 'string' && answer.status === 202) {
        const { id } = (await answer.json()) as GenerationView;
        this.sent.push({ id, prompt });
        return;
      }
      this.refusals += 1;
      last = typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`;
    }
    throw new Error(`A generation was refused ${TRIES} times, last with: ${last}`);
  }
}
