import { readEventNumbers } from '../db/index.ts';
import { isTerminal } from '../domain/generation.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { createBell } from './bell.ts';
import type { ServiceContext } from './context.ts';
import type { GenerationChanges } from './generation-changes.ts';
import { getGeneration } from './get-generation.ts';

/** Bounds how many requests of this process hold a connection open at once. */
export interface Waiters {
  /** Runs `wait` if there is room. @returns false when there is none. */
  run(wait: () => Promise<void>): Promise<boolean>;
}

export function createWaiters(limit: number): Waiters {
  let count = 0;
  return {
    async run(wait) {
      if (count >= limit) return false;
      count += 1;
      try {
        await wait();
        return true;
      } finally {
        count -= 1;
      }
    },
  };
}

type Waiting = Pick<ServiceContext, 'db' | 'links'> & { readonly changes: GenerationChanges };

export interface AwaitGenerationInput {
  readonly tenantId: string;
  readonly id: string;
  readonly waitMs: number;
  /** Whether the caller has this state already; if not, it is answered at once. */
  readonly isKnown: (view: GenerationView) => boolean;
  readonly waiters: Waiters;
  /** Ends the wait: the caller is gone. */
  readonly signal: AbortSignal;
  /** Ends the wait: the process stops. */
  readonly draining: AbortSignal;
}

/**
 * The generation once it differs from what the caller knows, or as it is when the time is over; null for no such id.
 * `honoured` is false when too many wait already: then it is answered as it is. What changes is told by its events.
 */
export async function awaitGeneration(
  ctx: Waiting,
  input: AwaitGenerationInput,
): Promise<{ readonly view: GenerationView; readonly honoured: boolean } | null> {
  if (!GENERATION_ID.test(input.id)) return null;
  // Read before the view: a change in between then ends the wait at once, instead of being missed.
  const number = await lastEvent(ctx, input.id);
  const before = await getGeneration(ctx, input);
  if (before === null) return null;
  if (isTerminal(before.state) || !input.isKnown(before)) return { view: before, honoured: true };
  let followed = false;
  const room = await input.waiters.run(async () => {
    followed = await untilChanged(ctx, input, number);
  });
  if (!room || !followed) return { view: before, honoured: false };
  const after = await getGeneration(ctx, input);
  return after === null ? null : { view: after, honoured: true };
}

/** @returns false when too many follow, so that it did not wait. */
async function untilChanged(
  ctx: Waiting,
  { tenantId, id, waitMs, signal, draining }: AwaitGenerationInput,
  number: number | undefined,
): Promise<boolean> {
  const endMs = performance.now() + waitMs;
  const bell = createBell([signal, draining]);
  const unfollow = ctx.changes.follow({ generationId: id, tenantId, onChange: bell.ring });
  try {
    if (unfollow === null) return false;
    // First looked at after following: what moved before it is seen here, what moves later rings.
    while (!bell.stopped() && (await lastEvent(ctx, id)) === number) {
      if (!(await bell.heard(endMs - performance.now()))) break;
    }
    return true;
  } finally {
    unfollow?.();
    bell.release();
  }
}

async function lastEvent({ db }: Waiting, id: string): Promise<number | undefined> {
  return (await readEventNumbers(db, [id])).get(id);
}
