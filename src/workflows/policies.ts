import type { ActivityOptions } from '@temporalio/workflow';
import type { Timings } from '../domain/timings.ts';
import { COLLECT_QUEUE, submitQueue } from './messages.ts';

/** Our own database steps: again every few seconds, without end; alerting is by age. */
const NEVER_ENDING = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;
/** A dead worker is noticed within this time. */
const HEARTBEAT = '5s';
const MINUTE_MS = 60_000;

/** One attempt: whether it may be repeated is decided by the row, not by Temporal. */
export function submitOptions(provider: string, timings: Timings): ActivityOptions {
  return {
    taskQueue: submitQueue(provider),
    scheduleToStartTimeout: timings.submitQueueMs,
    startToCloseTimeout: timings.submitStartToCloseMs,
    heartbeatTimeout: HEARTBEAT,
    retry: { maximumAttempts: 1 },
  };
}

/**
 * Polls by retry: the activity names each delay itself, so a look adds no event. The limits lie behind every limit
 * that the rows know, since an attempt may go on from observing to storing.
 */
export function collectOptions(deadlineInMs: number, timings: Timings): ActivityOptions {
  const longestMs = Math.max(deadlineInMs, 0) + timings.deadlineGraceMs + timings.storeForMs + MINUTE_MS;
  return {
    taskQueue: COLLECT_QUEUE,
    scheduleToCloseTimeout: longestMs,
    startToCloseTimeout: longestMs,
    heartbeatTimeout: HEARTBEAT,
    cancellationType: 'TRY_CANCEL',
    retry: NEVER_ENDING,
  };
}

/** Steps on the run's own queue that only write to the database. */
export const settleOptions: ActivityOptions = { startToCloseTimeout: '30s', retry: NEVER_ENDING };

/** Reading the rows, and asking the provider for a job that is unknown. Each attempt reads the rows anew. */
export const lookOptions: ActivityOptions = {
  startToCloseTimeout: '60s',
  heartbeatTimeout: HEARTBEAT,
  retry: NEVER_ENDING,
};
