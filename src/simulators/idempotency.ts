import { createHash } from 'node:crypto';
import type { Answer } from './http.ts';

/** A stored first answer, replayed byte for byte. */
export interface StoredAnswer {
  readonly answer: Answer;
  readonly jobId: string;
}

interface Entry {
  readonly bodyHash: string;
  readonly expiresAtMs: number;
  stored: StoredAnswer | null;
}

/** What a key says about a new request with it. */
export type KeyVerdict =
  | { readonly kind: 'new' }
  | { readonly kind: 'reuse' }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'replay'; readonly stored: StoredAnswer };

const MAX_KEYS = 50_000;

/** Idempotency keys: the first answer is stored and replayed for `ttlMs`. */
export class IdempotencyKeys {
  readonly #entries = new Map<string, Entry>();
  readonly #ttlMs: number;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  check(key: string, body: Buffer): KeyVerdict {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAtMs <= Date.now()) return { kind: 'new' };
    if (entry.bodyHash !== hash(body)) return { kind: 'reuse' };
    return entry.stored === null ? { kind: 'in_progress' } : { kind: 'replay', stored: entry.stored };
  }

  /** Takes the key; `store` keeps the answer once it is made. */
  begin(key: string, body: Buffer): { store(stored: StoredAnswer): void } {
    const entry: Entry = { bodyHash: hash(body), expiresAtMs: Date.now() + this.#ttlMs, stored: null };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const oldest = this.#entries.size > MAX_KEYS ? this.#entries.keys().next().value : undefined;
    if (oldest !== undefined) this.#entries.delete(oldest);
    return {
      store: (stored) => {
        entry.stored = stored;
      },
    };
  }

  clear(): void {
    this.#entries.clear();
  }
}

function hash(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64');
}
