import { z } from 'zod';
import type { Db } from './client.ts';

interface Attempt {
  readonly generationId: string;
  readonly index: number;
  readonly attempt: number;
}

/** Keeps the lease of a long download; false means that another attempt may have taken over. */
export function renewOutput(db: Db, attempt: Attempt & { readonly storeLeaseMs: number }): Promise<boolean> {
  return db.call('renew_output', { ...attempt }, z.boolean());
}

export type OutputRecord = Attempt &
  (
    | {
        readonly result: 'stored';
        readonly path: string;
        readonly bytes: number;
        /** Hex. */
        readonly sha256: string;
        readonly mediaType: string;
        readonly width: number | null;
        readonly height: number | null;
        readonly durationSeconds: number | null;
        readonly retentionMs: number;
      }
    | { readonly result: 'lost' | 'invalid'; readonly problem: string }
    | { readonly result: 'retry'; readonly problem: string; readonly gone: boolean }
  );

const result = z.object({
  outcome: z.enum(['recorded', 'lost_race']),
  state: z.enum(['storing', 'stored', 'lost', 'invalid', 'deleting', 'deleted']),
  goneCount: z.int(),
  /** The file that stands. */
  path: z.string().nullable(),
});

/** The end of one attempt; on `lost_race` another attempt's file stands and the caller removes its own. */
export function recordOutput(db: Db, record: OutputRecord): Promise<z.infer<typeof result>> {
  return db.call('record_output', { ...record }, result);
}
