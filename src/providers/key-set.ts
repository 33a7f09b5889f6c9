import { z } from 'zod';
import type { OutboundHttp } from '../net/types.ts';
import { parseJsonBytes } from './json-answer.ts';

/** How long keys are kept; a day is the longest that fal allows, and Google names none. */
const MAX_AGE_MS = 86_400_000;
/** How often a signature that fits no key may lead to a new fetch. */
const REFETCH_MS = 60_000;
/** How soon a failed fetch is tried again while there are no keys at all. */
const RETRY_MS = 5_000;
const FETCH_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
const MAX_KEYS = 16;

const keySet = z.object({ keys: z.array(z.unknown()).min(1).max(64) });

/** `unavailable`: no verdict, since the keys could not be had now. */
export type SignatureVerdict = 'verified' | 'unverified' | 'unavailable';

/** A provider's public keys (a JWKS, RFC 7517): kept for a day, longer while they can't be fetched; one fetch at a time. */
export class KeySet<K> {
  readonly #http: OutboundHttp;
  readonly #url: string;
  readonly #read: (entry: unknown) => K | null;
  #keys: readonly K[] = [];
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #lastFailed = false;
  #inFlight: Promise<void> | null = null;

  /** `read` makes a key of one entry of the set; null passes over an entry of another kind. */
  constructor(http: OutboundHttp, url: string, read: (entry: unknown) => K | null) {
    this.#http = http;
    this.#url = url;
    this.#read = read;
  }

  /** Whether a signature fits any of the keys. The time is an argument so that the ages are testable. */
  async verify(fits: (key: K) => boolean, nowMs: number): Promise<SignatureVerdict> {
    const none = this.#keys.length === 0;
    if (none || !within(nowMs, this.#fetchedAtMs, MAX_AGE_MS)) {
      await this.#fetch(nowMs, none ? RETRY_MS : REFETCH_MS);
    }
    if (this.#keys.some(fits)) return 'verified';
    await this.#fetch(nowMs, this.#keys.length === 0 ? RETRY_MS : REFETCH_MS);
    if (this.#keys.some(fits)) return 'verified';
    return this.#lastFailed ? 'unavailable' : 'unverified';
  }

  /** Joins the fetch under way, or starts one unless the last is younger than `spacingMs`. */
  async #fetch(nowMs: number, spacingMs: number): Promise<void> {
    if (this.#inFlight === null) {
      if (within(nowMs, this.#triedAtMs, spacingMs)) return;
      this.#triedAtMs = nowMs;
      this.#inFlight = this.#load(nowMs).finally(() => {
        this.#inFlight = null;
      });
    }
    await this.#inFlight;
  }

  async #load(nowMs: number): Promise<void> {
    const answer = await this.#http.request({
      method: 'GET',
      url: this.#url,
      headers: { accept: 'application/json' },
      timeoutMs: FETCH_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    const keys = answer.kind === 'answer' && answer.status === 200 ? this.#keysIn(answer.body) : [];
    this.#lastFailed = keys.length === 0;
    if (this.#lastFailed) return;
    this.#keys = keys;
    this.#fetchedAtMs = nowMs;
  }

  #keysIn(body: Buffer): readonly K[] {
    const entries = keySet.safeParse(parseJsonBytes(body)).data?.keys ?? [];
    return entries.slice(0, MAX_KEYS).flatMap((entry) => this.#read(entry) ?? []);
  }
}

/** False also when the clock went back. */
function within(nowMs: number, sinceMs: number, spanMs: number): boolean {
  const ageMs = nowMs - sinceMs;
  return ageMs >= 0 && ageMs < spanMs;
}
