import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { isDatabaseUnavailable } from '../db/index.ts';
import { STEP_BROKEN } from '../domain/step-failures.ts';

/** A failure without a stack trace: Temporal keeps it with the failure, and it names places of this machine. */
function withoutStack(failure: ApplicationFailure): ApplicationFailure {
  failure.stack = `${failure.name}: ${failure.message}`;
  return failure;
}

/** Not an error: look again after this time. Adds no event to the history and counts as no failure. */
export function pollAgain(inMs: number, reason: string): ApplicationFailure {
  return withoutStack(
    ApplicationFailure.create({
      message: reason,
      type: 'NotYet',
      nextRetryDelay: Math.max(1, Math.round(inMs)),
      category: ApplicationFailureCategory.BENIGN,
    }),
  );
}

/** A defect or an unreadable row: trying again cannot help, a person must look. `code` is a fixed text. */
export function stepBroken(code: string): ApplicationFailure {
  return withoutStack(ApplicationFailure.create({ message: code, type: STEP_BROKEN, nonRetryable: true }));
}

/**
 * Lets out of an activity only codes and fixed texts, since messages of errors can carry prompts, URLs and secrets
 * into Temporal's history. `StepLines`, inside of it, tells our own log of the error.
 */
export class FixedTextFailures implements ActivityInboundCallsInterceptor {
  async execute(
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    try {
      return await next(input);
    } catch (error) {
      if (error instanceof ApplicationFailure || error instanceof CancelledFailure) throw error;
      if (isDatabaseUnavailable(error)) {
        throw withoutStack(
          ApplicationFailure.create({ message: 'database unavailable', type: 'DatabaseUnavailable' }),
        );
      }
      if (Context.current().cancellationSignal.aborted) throw new CancelledFailure('cancelled');
      throw stepBroken('step_failed');
    }
  }
}
