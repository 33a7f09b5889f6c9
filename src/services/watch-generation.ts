import type { ChangeFeed, Db } from '../db/index.ts';
import { isTerminal, type Stage, type State } from '../domain/generation.ts';
import { createBell } from './bell.ts';

/** Where a generation is now. */
export interface Watched {
  readonly id: string;
  readonly state: State;
  readonly stage: Stage;
  /** From 0 to 1; null when the provider tells none. */
  readonly progress: number | null;
  readonly provider: string;
  /** Why it ended without outputs, or why it needs an operator. */
  readonly reason: string | null;
  /** When its run must next have written; null when it has ended. */
  readonly due_at: string | null;
  readonly deadline_at: string;
  readonly temporal_url: string | null;
}

export interface WatchContext {
  readonly db: Db;
  readonly feed: Pick<ChangeFeed, 'subscribe'>;
  readonly runUrl: (generationId: string) => string | null;
}

/**
 * Each change of a generation as it comes, the first at once, until its terminal state (which is told) or the signal.
 * Hints come by NOTIFY; what a lost one hides is found by looking every second. Nothing = there is no such generation.
 */
export async function* watchGeneration(
  ctx: WatchContext,
  {
    id,
    signal,
    lookEveryMs = 1_000,
  }: { readonly id: string; readonly signal: AbortSignal; readonly lookEveryMs?: number },
): AsyncGenerator<Watched, void> {
  const bell = createBell([signal]);
  const unsubscribe = ctx.feed.subscribe('darkroom_generation', (payload) => {
    if (payload === null || payload === id) bell.ring();
  });
  try {
    let told = '';
    while (!bell.stopped()) {
      const now = await look(ctx, id);
      if (now === null) return;
      const text = JSON.stringify(now);
      if (text !== told) yield now;
      told = text;
      if (isTerminal(now.state)) return;
      await bell.heard(lookEveryMs);
    }
  } finally {
    unsubscribe();
    bell.release();
  }
}

async function look(ctx: WatchContext, id: string): Promise<Watched | null> {
  const row = await ctx.db.prisma.generation.findUnique({
    where: { id },
    select: {
      state: true,
      stage: true,
      progress: true,
      provider: true,
      errorCode: true,
      operatorReason: true,
      dueAt: true,
      deadlineAt: true,
    },
  });
  if (row === null) return null;
  return {
    id,
    // The casts hold because CHECK constraints allow these words only.
    state: row.state as State,
    stage: row.stage as Stage,
    progress: row.progress,
    provider: row.provider,
    reason: row.errorCode ?? row.operatorReason,
    due_at: row.dueAt?.toISOString() ?? null,
    deadline_at: row.deadlineAt.toISOString(),
    temporal_url: ctx.runUrl(id),
  };
}
