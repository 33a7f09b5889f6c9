import { claimPass, markPass, wakeUnseenCallbacks } from '../db/sweep.ts';
import { inParallel } from './in-parallel.ts';
import type { SweepContext } from './sweep-context.ts';

export interface InboxOptions {
  /** Between passes of all processes together; 0 = now. */
  readonly everyMs: number;
  /** How long a callback may wait for its run. */
  readonly olderThanMs: number;
  /** Open rows per pass. */
  readonly limit: number;
}

export const INBOX_DEFAULTS: InboxOptions = { everyMs: 10_000, olderThanMs: 10_000, limit: 5_000 };
const CONCURRENCY = 8;

/**
 * Wakes runs of callbacks that nobody has read and for which no wake is outstanding. It should never find one: the wake is
 * written with the callback. A wake that is lost on its way is sent again by the pass over what is due.
 * @returns how many were woken, or null when another process has done it lately
 */
export async function sweepInbox(
  ctx: Pick<SweepContext, 'db' | 'ensure'>,
  options: InboxOptions = INBOX_DEFAULTS,
): Promise<number | null> {
  const turn = await claimPass(ctx.db, 'inbox', options.everyMs);
  if (turn === null) return null;
  const page = await wakeUnseenCallbacks(ctx.db, {
    after: turn.place,
    limit: options.limit,
    olderThanMs: options.olderThanMs,
  });
  await markPass(ctx.db, 'inbox', { at: null, place: page.place });
  await inParallel(page.runs, CONCURRENCY, (facts) => ctx.ensure(facts, 'sweep').catch(() => undefined));
  return page.runs.length + page.unreadable;
}
