import type { FailedCode } from '../domain/errors.ts';
import type { Observation, ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import { safeCode } from './json-answer.ts';
import { MINIMAX_CONTENT_CODES } from './minimax-answers.ts';
import type { MinimaxTask } from './minimax-schemas.ts';
import { outputsFrom } from './output-urls.ts';

/**
 * Version 2's status strings, exact; version 1 has others. `expired` is a task that MiniMax gave up after a time of its own:
 * an end without output, so it failed there, whoever waits here.
 */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled'>([
  ['queued', 'running'],
  ['running', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['expired', 'failed'],
  ['cancelled', 'cancelled'],
]);

/** The seconds that were metered, of input videos and output; null when not told, as of all but a success. */
function costOf(task: MinimaxTask): ProviderCost | null {
  const amount = decimalText(task.usage?.total_seconds);
  return amount === null ? null : { amount, unit: 'seconds', final: true };
}

/** What a cancelled task cost where nothing is told: only a queued one can be cancelled, and that is unbilled. */
export const MINIMAX_UNBILLED: ProviderCost = { amount: '0', unit: 'seconds', final: true };

function failedCode(code: string | null): FailedCode {
  if (code !== null && MINIMAX_CONTENT_CODES.test(code)) return 'content_rejected';
  return code === '2013' ? 'invalid_input' : 'provider_failed';
}

/**
 * One task as an observation. Each look signs a new link that lives `linkLifeMs` from then, so a success without a usable
 * one never had any.
 */
export function minimaxObservation(task: MinimaxTask, linkLifeMs: number, nowMs: number): Observation {
  const { status } = task;
  const state = STATUS.get(status);
  if (state === undefined || state === 'running') {
    const unknownStatus = state === undefined;
    const shown = unknownStatus ? safeCode(status) : status;
    return { kind: 'running', status: shown, progress: null, unknownStatus };
  }
  const cost = costOf(task);
  if (state === 'cancelled') return { kind: 'cancelled', status, cost: cost ?? MINIMAX_UNBILLED };
  if (state === 'failed') {
    const code = task.error?.code ?? (status === 'failed' ? null : status);
    return { kind: 'failed', status, code: failedCode(code), reason: safeCode(code), cost };
  }
  const outputs = outputsFrom([task.content?.url]);
  if (outputs.length === 0) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt: new Date(nowMs + linkLifeMs), cost };
}
