import { parkGeneration, settle as settleRow } from '../db/index.ts';
import { isTerminal } from '../domain/generation.ts';
import type { SettleProposal, Step } from '../domain/step.ts';
import { measureSettle } from '../metrics/latency-metrics.ts';
import { noteStep } from '../tracing/index.ts';
import type { ActivityDeps } from './deps.ts';

export interface SettleInput {
  readonly generationId: string;
  readonly proposal: SettleProposal;
}

/** What stands after the proposal; `stale` tells the run to look again. */
export type SettleResult = Extract<Step, { step: 'done' }> | { readonly step: 'stale' };

/** Ends the generation by one SQL function. Its proposal stands in the history before any money moves. */
export async function settle(
  deps: ActivityDeps,
  { generationId, proposal }: SettleInput,
): Promise<SettleResult> {
  const settled = await settleRow(deps.db, generationId, proposal);
  if (settled.times) measureSettle(settled.times);
  noteStep({ settled: settled.outcome, state: settled.state, captured: settled.captured });
  return settled.outcome !== 'stale' && isTerminal(settled.state)
    ? { step: 'done', state: settled.state }
    : { step: 'stale' };
}

export interface ParkInput {
  readonly generationId: string;
  readonly reason: string;
}

const LOOK_AGAIN_MS = 3_600_000;

/** Sets the generation aside for an operator; it tries again when woken, or by the sweep after an hour. */
export async function park(
  deps: ActivityDeps,
  { generationId, reason }: ParkInput,
): Promise<{ terminal: boolean }> {
  noteStep({ reason });
  return parkGeneration(deps.db, { generationId, reason, dueInMs: LOOK_AGAIN_MS });
}
