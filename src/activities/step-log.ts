import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { isDatabaseUnavailable } from '../db/index.ts';
import type { LogFields } from '../domain/log-fields.ts';
import { safeError } from '../domain/safe-error.ts';
import { STEP_BROKEN } from '../domain/step-failures.ts';
import { inStepScope, newStepScope, type Tracing } from '../tracing/index.ts';
import type { StepLog } from './deps.ts';

/** How an attempt ended, as its line tells it. */
interface Ending {
  readonly message: 'step' | 'step broken' | 'database unavailable' | 'needs an operator';
  readonly fields: LogFields;
}

export interface StepLinesDeps {
  readonly log: StepLog;
  readonly tracing: Tracing;
  /** Told of each generation that this process has ended, after its line; must not throw. */
  readonly onSettled: (generation: string) => void;
}

/**
 * One wide line and one span per attempt at a step: what it is, for which generation, what it found, how long it and its
 * calls to the provider took. The innermost interceptor, since it has to see the error itself.
 */
export class StepLines implements ActivityInboundCallsInterceptor {
  readonly #deps: StepLinesDeps;

  constructor(deps: StepLinesDeps) {
    this.#deps = deps;
  }

  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    const { activityType: step, attempt, workflowExecution } = activityInfo();
    const generation = workflowExecution?.workflowId ?? null;
    const scope = newStepScope();
    const startedMs = performance.now();
    const write = ({ message, fields }: Ending): LogFields => {
      const { calls, callMs, noted } = scope;
      const found = { ...noted, ...fields };
      const took = { ms: Math.round(performance.now() - startedMs), calls, call_ms: Math.round(callMs) };
      const level = message === 'step' ? 'info' : 'warn';
      this.#deps.log[level]({ step, generation, attempt, ...found, ...took }, message);
      return { ...found, calls };
    };
    const start = { name: `step ${step}`, kind: 'internal', generation, fields: { step, attempt } } as const;
    let written: LogFields = {};
    return this.#deps.tracing.span(
      start,
      async () => {
        try {
          const result = await inStepScope(scope, () => next(input));
          written = write(endOf(step, result));
          if (written.settled === 'settled' && generation !== null) this.#deps.onSettled(generation);
          return result;
        } catch (error) {
          write(failureOf(error));
          throw error;
        }
      },
      () => written,
    );
  }
}

/** What the next step is, in codes. */
function endOf(step: string, result: unknown): Ending {
  const { step: outcome, reason, state, view, proposal } = result as Readonly<Record<string, unknown>>;
  const { provider, submissionId } = (view ?? {}) as Readonly<Record<string, unknown>>;
  const { state: proposed, errorCode } = (proposal ?? {}) as Readonly<Record<string, unknown>>;
  const fields = {
    // Parking tells only whether it was needed any more.
    outcome: step === 'park' ? 'parked' : outcome,
    state: proposed ?? state,
    problem: errorCode ?? reason,
    ...(provider === undefined || provider === '' ? {} : { provider }),
    ...(submissionId === undefined || submissionId === null ? {} : { submission: submissionId }),
  };
  return { message: step === 'park' ? 'needs an operator' : 'step', fields };
}

function failureOf(error: unknown): Ending {
  if (error instanceof CancelledFailure) return { message: 'step', fields: { outcome: 'cancelled' } };
  if (error instanceof ApplicationFailure) {
    // Fixed texts of ours, like "still running".
    const problem = error.message;
    return error.type === STEP_BROKEN
      ? { message: 'step broken', fields: { outcome: 'broken', problem } }
      : { message: 'step', fields: { outcome: 'again', problem } };
  }
  const problem = { error: safeError(error) };
  return isDatabaseUnavailable(error)
    ? {
        message: 'database unavailable',
        fields: { ...problem, outcome: 'again', problem: 'database_unavailable' },
      }
    : { message: 'step broken', fields: { ...problem, outcome: 'broken', problem: 'step_failed' } };
}
