import { setTimeout as delay } from 'node:timers/promises';
import { readGenerationVersion } from '../db/index.ts';
import { isTerminal } from '../domain/generation.ts';
import type { GenerationView } from '../domain/generation-view.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';
import { getGeneration } from './get-generation.ts';

const POLL_MS = 250;

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

export interface AwaitGenerationInput {
  readonly tenantId: string;
  readonly id: string;
  readonly waitMs: number;
  /** Whether the caller has this state already; if not, it is answered at once. */
  readonly isKnown: (view: GenerationView) => boolean;
  readonly waiters: Waiters;
  /** Ends the wait: the caller is gone. */
  readonly signal: AbortSignal;
  /** Ends the wait: the process stops. Read at each poll only, since a listener per request would pile up. */
  readonly draining: AbortSignal;
}

/**
 * The generation once it differs from what the caller knows, or as it is when the time is over; null for no such id.
 * `honoured` is false when too many wait already: then it is answered as it is.
 */
export async function awaitGeneration(
  ctx: Pick<ServiceContext, 'db'>,
  input: AwaitGenerationInput,
): Promise<{ readonly view: GenerationView; readonly honoured: boolean } | null> {
  if (!GENERATION_ID.test(input.id)) return null;
  // Read before the view: a change in between then ends the wait at once, instead of being missed.
  const version = await readGenerationVersion(ctx.db, input.tenantId, input.id);
  const before = await getGeneration(ctx, input);
  if (before === null) return null;
  if (isTerminal(before.state) || !input.isKnown(before)) return { view: before, honoured: true };
  if (!(await input.waiters.run(() => untilChanged(ctx, input, version)))) {
    return { view: before, honoured: false };
  }
  const after = await getGeneration(ctx, input);
  return after === null ? null : { view: after, honoured: true };
}

async function untilChanged(
  ctx: Pick<ServiceContext, 'db'>,
  input: AwaitGenerationInput,
  version: string | null,
): Promise<void> {
  const endMs = performance.now() + input.waitMs;
  for (;;) {
    const restMs = Math.min(POLL_MS, endMs - performance.now());
    if (restMs <= 0 || input.signal.aborted || input.draining.aborted) return;
    await delay(restMs, undefined, { signal: input.signal }).catch(() => undefined);
    if ((await readGenerationVersion(ctx.db, input.tenantId, input.id)) !== version) return;
  }
}
