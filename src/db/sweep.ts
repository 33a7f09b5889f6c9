import { z } from 'zod';
import type { Db } from './client.ts';
import { runFactsSchema } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

const turn = z.object({ at: z.string().nullable(), place: z.string().nullable() });
/** How far a pass has come: a time, and a place of the pass's own. */
export type PassMark = z.infer<typeof turn>;

/**
 * Takes the turn to do a pass, which one process has within the interval; null = it was done lately.
 * @param everyMs 0 = now in any case
 */
export function claimPass(db: Db, name: string, everyMs: number): Promise<PassMark | null> {
  return db.call('claim_pass', { name, everyMs }, turn.nullable());
}

/** Says how far a pass has come; its time never goes back. */
export async function markPass(db: Db, name: string, mark: PassMark): Promise<void> {
  await db.call('mark_pass', { name, ...mark }, z.boolean());
}

/** Run facts of a page; rows that cannot be read are counted and left to the sweep, which parks them when they are due. */
export interface PageOfRuns {
  /** Where the next page begins; null = this was the last. */
  readonly place: string | null;
  readonly runs: readonly RunFacts[];
  readonly unreadable: number;
}

function readable(rows: readonly unknown[]): Pick<PageOfRuns, 'runs' | 'unreadable'> {
  const parsed = rows.map((row) => runFactsSchema.safeParse(row));
  const runs = parsed.flatMap(({ success, data }) => (success ? [data] : []));
  return { runs, unreadable: rows.length - runs.length };
}

/** Sets the wake of open generations with a callback that no run has read though none is outstanding. */
export async function wakeUnseenCallbacks(
  db: Db,
  params: { readonly after: string | null; readonly limit: number; readonly olderThanMs: number },
): Promise<PageOfRuns> {
  const { place, woken } = await db.call(
    'wake_unseen_callbacks',
    { ...params },
    z.object({ place: z.string().nullable(), woken: z.array(z.unknown()) }),
  );
  return { place, ...readable(woken) };
}

/** Open generations whose row is not due for `farMs`; `unknown` = only those whose submission is unknown. */
export async function readPageOfRuns(
  db: Db,
  params: {
    readonly after: string | null;
    readonly limit: number;
    readonly farMs: number;
    readonly unknown: boolean;
  },
): Promise<PageOfRuns> {
  const { place, runs } = await db.call(
    'page_of_runs',
    { ...params },
    z.object({ place: z.string().nullable(), runs: z.array(z.unknown()) }),
  );
  return { place, ...readable(runs) };
}

const matched = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('attach'), submissionId: z.string() }),
  z.object({ outcome: z.enum(['known', 'sending', 'orphan', 'stray', 'foreign']) }),
]);

/**
 * Compares a job of a provider's list with our rows. `attach` = its submission has no job: record it. `orphan` and `stray`
 * are written, and told once. `sending` = an answer is about to be recorded: look again later.
 */
export function matchListedJob(
  db: Db,
  params: {
    readonly provider: string;
    readonly credential: string;
    readonly jobId: string;
    /** From the signature of its callback URL. */
    readonly submissionId: string | null;
    readonly idempotencyKey: string | null;
    /** Its callback URL has our signature. */
    readonly ours: boolean;
  },
): Promise<z.infer<typeof matched>> {
  return db.call('match_listed_job', { ...params }, matched);
}
