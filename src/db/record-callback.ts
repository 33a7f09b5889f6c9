import { z } from 'zod';
import type { Db } from './client.ts';
import { runFactsSchema } from './run-facts.ts';

export interface VerifiedCallback {
  readonly provider: string;
  readonly credential: string;
  /** From our path token; null on the account-level route, where the job id must be given. */
  readonly submissionId: string | null;
  readonly jobId: string | null;
  /** The signed event id, else a hash of the body. */
  readonly eventKey: string;
  readonly type: string;
  readonly terminal: boolean;
  /** 0 to 1. */
  readonly progress: number | null;
}

const result = z.object({
  outcome: z.enum(['recorded', 'duplicate', 'capped', 'unknown_submission', 'unmatched']),
  run: runFactsSchema.nullable(),
  wake: z.boolean(),
});
export type RecordedCallback = z.infer<typeof result>;

/** Into the inbox, committed when this returns; `wake` tells whether the caller should send one. */
export function recordCallback(
  db: Db,
  callback: VerifiedCallback,
  rawBody: Uint8Array,
): Promise<RecordedCallback> {
  return db.call('record_callback', { ...callback }, result, rawBody);
}
