import { Context } from '@temporalio/activity';
import { collect } from './collect.ts';
import type { CollectInput } from './collect.ts';
import type { ActivityDeps } from './deps.ts';
import type { AttemptContext } from './job.ts';
import { park, settle } from './settle.ts';
import type { ParkInput, SettleInput, SettleResult } from './settle.ts';
import { look, submit } from './submit.ts';
import type { SubmitInput } from './submit.ts';
import type { Step } from '../domain/step.ts';

export type { ActivityDeps, ProviderAccess } from './deps.ts';
export { createDownloadSlots } from './download-slots.ts';
export { createObserve } from './observe-together.ts';
export { createPollBudget } from './poll-budget.ts';
export { FixedTextFailures } from './failures.ts';
export { StepLines, type StepLinesDeps } from './step-log.ts';

const HEARTBEAT_EVERY_MS = 1_500;

/** The steps of a generation. Submit, look and collect heartbeat, so that a dead worker is noticed within seconds. */
export interface Activities {
  readonly submit: (input: SubmitInput) => Promise<Step>;
  readonly look: (input: SubmitInput) => Promise<Step>;
  readonly collect: (input: CollectInput) => Promise<Step>;
  readonly settle: (input: SettleInput) => Promise<SettleResult>;
  readonly park: (input: ParkInput) => Promise<{ terminal: boolean }>;
}

/** Activities over these dependencies; one set per worker process. */
export function createActivities(deps: ActivityDeps): Activities {
  return {
    submit: (input) => withHeartbeat(() => submit(deps, input)),
    look: (input) => withHeartbeat(() => look(deps, input)),
    collect: (input) => {
      const { context, bytes } = attemptContext();
      return withHeartbeat(() => collect(deps, input, context), bytes);
    },
    settle: (input) => settle(deps, input),
    park: (input) => park(deps, input),
  };
}

/** Details are the bytes that the attempt has received so far: a number, nothing else may stand in Temporal. */
async function withHeartbeat<T>(step: () => Promise<T>, bytes?: () => number): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(bytes?.()), HEARTBEAT_EVERY_MS);
  try {
    return await step();
  } finally {
    clearInterval(beat);
  }
}

/** A worker's stop reaches an activity as a cancellation with its own reason. */
function attemptContext(): { readonly context: AttemptContext; readonly bytes: () => number } {
  const { info, cancellationSignal, cancelled } = Context.current();
  const shutdown = new AbortController();
  cancelled.catch((reason: unknown) => {
    if ((reason as { message?: unknown }).message === 'WORKER_SHUTDOWN') shutdown.abort(reason);
  });
  let bytes = 0;
  const received = (more: number): void => {
    bytes += more;
  };
  return {
    context: { attempt: info.attempt, signal: cancellationSignal, shutdown: shutdown.signal, received },
    bytes: () => bytes,
  };
}
