import { randomUUID } from 'node:crypto';
import { postAndRead } from './callbacks.ts';

const LIMIT_MS = 3_000;
const MAX_URLS = 20_000;

/** Which callback URLs have passed MiniMax's check: each is asked once, `{"challenge":"…"}`, and must send it back in time. */
export class MinimaxChallenges {
  readonly #limitMs: number;
  readonly #passed = new Map<string, Promise<boolean>>();

  /** @param timeoutMs of a callback; a shorter one than MiniMax's 3 s counts */
  constructor(timeoutMs: number) {
    this.#limitMs = Math.min(LIMIT_MS, timeoutMs);
  }

  /** Whether this URL may be called; asked at its first event, and never again: callbacks stay off for one that failed. */
  mayCall(url: string): Promise<boolean> {
    const known = this.#passed.get(url);
    if (known !== undefined) return known;
    const oldest = this.#passed.size >= MAX_URLS ? this.#passed.keys().next().value : undefined;
    if (oldest !== undefined) this.#passed.delete(oldest);
    const asked = this.#ask(url);
    this.#passed.set(url, asked);
    return asked;
  }

  clear(): void {
    this.#passed.clear();
  }

  async #ask(url: string): Promise<boolean> {
    const challenge = randomUUID();
    const answer = await postAndRead(url, Buffer.from(JSON.stringify({ challenge })), this.#limitMs);
    try {
      const body: unknown = JSON.parse(answer?.toString('utf8') ?? '');
      return typeof body === 'object' && body !== null && 'challenge' in body && body.challenge === challenge;
    } catch {
      return false;
    }
  }
}
