import type { FailedCode } from '../domain/errors.ts';
import type { Observation, ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import { safeCode } from './json-answer.ts';
import { outputsFrom } from './output-urls.ts';
import type { RunwayTask } from './runway-schemas.ts';

/** Runway's status strings, exact. THROTTLED waits for a place of the organisation, which can take hours. */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled'>([
  ['PENDING', 'running'],
  ['THROTTLED', 'running'],
  ['RUNNING', 'running'],
  ['SUCCEEDED', 'succeeded'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
]);

/** What a `failureCode` means (task failures page of its documentation), first match; every other one is a fault there. */
const FAILURES: readonly (readonly [code: RegExp, means: FailedCode])[] = [
  [/^SAFETY\./, 'content_rejected'],
  [/^INPUT_PREPROCESSING\.SAFETY(\.|$)/, 'content_rejected'],
  [/^ASSET\.INVALID(\.|$)/, 'invalid_input'],
];

/** Runway's credits as an amount; null when not told, or when the number is no plain decimal. */
export function runwayCost(
  cost: { readonly credits: number } | null | undefined,
  final: boolean,
): ProviderCost | null {
  const amount = decimalText(cost?.credits);
  return amount === null ? null : { amount, unit: 'credits', final };
}

function failed(task: RunwayTask, cost: ProviderCost | null): Observation {
  const code = task.failureCode ?? '';
  return {
    kind: 'failed',
    status: task.status,
    code: FAILURES.find(([pattern]) => pattern.test(code))?.[1] ?? 'provider_failed',
    reason: safeCode(code),
    cost,
  };
}

function running(task: RunwayTask, unknownStatus: boolean): Observation {
  const { status, progress } = task;
  return {
    kind: 'running',
    status: unknownStatus ? safeCode(status) : status,
    progress: typeof progress === 'number' && progress >= 0 && progress <= 1 ? progress : null,
    unknownStatus,
  };
}

/**
 * One task as an observation. Links are fresh at each look and live at least `linkLifeMs` from it. Runway does not know
 * an output that has gone with its task still there, so a success without one is `no_output`.
 */
export function runwayObservation(task: RunwayTask, linkLifeMs: number, nowMs: number): Observation {
  const { status } = task;
  const state = STATUS.get(status);
  if (state === undefined || state === 'running') return running(task, state === undefined);
  const cost = runwayCost(task.cost, true);
  if (state === 'failed') return failed(task, cost);
  if (state === 'cancelled') return { kind: 'cancelled', status, cost };
  const outputs = outputsFrom(task.output ?? []);
  if (outputs.length === 0) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt: new Date(nowMs + linkLifeMs), cost };
}
