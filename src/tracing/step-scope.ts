import { AsyncLocalStorage } from 'node:async_hooks';
import type { LogFields } from '../domain/log-fields.ts';
import type { AroundCall } from '../domain/watched-provider.ts';

/** What one attempt at a step gathers for its one line. */
export interface StepScope {
  readonly noted: { [F in keyof LogFields]: LogFields[F] };
  calls: number;
  callMs: number;
}

const scopes = new AsyncLocalStorage<StepScope>();

/** Runs `act` with a scope that everything it awaits can add to. */
export function inStepScope<T>(scope: StepScope, act: () => Promise<T>): Promise<T> {
  return scopes.run(scope, act);
}

export function newStepScope(): StepScope {
  return { noted: {}, calls: 0, callMs: 0 };
}

/** Adds to the line of the step under way; nothing outside of one. */
export function noteStep(fields: LogFields): void {
  Object.assign(scopes.getStore()?.noted ?? {}, fields);
}

/** Counts calls to providers, and their time, for the line of the step under way. */
export const countStepCalls: AroundCall = async (provider, _call, run) => {
  const scope = scopes.getStore();
  if (scope === undefined) return run();
  noteStep({ provider });
  const startedMs = performance.now();
  try {
    return await run();
  } finally {
    scope.calls += 1;
    scope.callMs += performance.now() - startedMs;
  }
};
