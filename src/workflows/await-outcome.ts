import { ActivityFailure, CancellationScope, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import type { Step } from '../domain/step.ts';
import type { Inbox } from './inbox.ts';

type WaitStep = Extract<Step, { step: 'wait' }>;

/**
 * Waits for a wake, the first poll or the deadline, then collects; a further wake cuts a waiting poll short, so that
 * it looks at once. What is being stored is not cut: the next attempt finds its lease and waits for it.
 */
export async function awaitOutcome(
  wait: WaitStep,
  inbox: Inbox,
  collect: (summary: string) => Promise<Step>,
): Promise<Step> {
  await inbox.wait(
    Math.min(wait.inMs, Math.max(wait.deadlineInMs, 0)),
    'until callback, first poll or deadline',
  );
  for (;;) {
    const look = new CancellationScope();
    const outcome = await look.run(async () => {
      const summary = inbox.woken
        ? 'woken: look, store if it has finished'
        : 'poll: look, store if it has finished';
      const collected = collect(summary);
      await Promise.race([collected, inbox.waitForWake()]).catch(() => undefined);
      look.cancel();
      return collected.catch((error: unknown) => {
        if (isCancellation(error)) return null;
        if (isDeadline(error))
          return { ...wait, step: 'submit', inMs: 0, reason: 'looked too long' } as const;
        throw error;
      });
    });
    if (outcome !== null) return outcome;
  }
}

/** Temporal ends a retrying activity in two shapes: no time for the next retry, or the timer itself. */
function isDeadline(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    (error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure)
  );
}
