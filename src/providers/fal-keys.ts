import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import type { OutboundHttp } from '../net/types.ts';
import { falKey, falKeySet } from './fal-schemas.ts';
import { parseJsonBytes } from './json-answer.ts';

/** A day is the longest that fal allows to keep its keys. */
const MAX_AGE_MS = 86_400_000;
/** How often a signature that fits no key may lead to a new fetch. */
const REFETCH_MS = 60_000;
/** How soon a failed fetch is tried again while there are no keys at all. */
const RETRY_MS = 5_000;
const FETCH_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
const MAX_KEYS = 16;

/** `unavailable`: no verdict, since the keys could not be had now. */
export type SignatureVerdict = 'verified' | 'unverified' | 'unavailable';

/** fal's public keys (a JWKS): kept for a day, longer while they can't be fetched; one fetch at a time. */
export class FalKeys {
  readonly #http: OutboundHttp;
  readonly #url: string;
  #keys: readonly KeyObject[] = [];
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #lastFailed = false;
  #inFlight: Promise<void> | null = null;

  constructor(http: OutboundHttp, url: string) {
    this.#http = http;
    this.#url = url;
  }

  /** Whether any of fal's keys made this Ed25519 signature. The time is an argument so that the ages are testable. */
  async verify(message: Buffer, signature: Buffer, nowMs: number): Promise<SignatureVerdict> {
    const none = this.#keys.length === 0;
    if (none || !within(nowMs, this.#fetchedAtMs, MAX_AGE_MS)) {
      await this.#fetch(nowMs, none ? RETRY_MS : REFETCH_MS);
    }
    if (this.#fits(message, signature)) return 'verified';
    await this.#fetch(nowMs, this.#keys.length === 0 ? RETRY_MS : REFETCH_MS);
    if (this.#fits(message, signature)) return 'verified';
    return this.#lastFailed ? 'unavailable' : 'unverified';
  }

  #fits(message: Buffer, signature: Buffer): boolean {
    return this.#keys.some((key) => verify(null, message, key, signature));
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
    const keys = answer.kind === 'answer' && answer.status === 200 ? keysIn(answer.body) : [];
    this.#lastFailed = keys.length === 0;
    if (this.#lastFailed) return;
    this.#keys = keys;
    this.#fetchedAtMs = nowMs;
  }
}

/** False also when the clock went back. */
function within(nowMs: number, sinceMs: number, spanMs: number): boolean {
  const ageMs = nowMs - sinceMs;
  return ageMs >= 0 && ageMs < spanMs;
}

/** The Ed25519 keys of a set; keys of other kinds are passed over. */
function keysIn(body: Buffer): readonly KeyObject[] {
  const set = falKeySet.safeParse(parseJsonBytes(body)).data?.keys ?? [];
  return set.slice(0, MAX_KEYS).flatMap((entry) => {
    const jwk = falKey.safeParse(entry).data;
    return jwk === undefined ? [] : [createPublicKey({ key: jwk, format: 'jwk' })];
  });
}
