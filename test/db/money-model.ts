import type { Proposal, Refunded } from '../../src/db/index.ts';

export type Phase =
  | 'queued'
  | 'sending'
  | 'unknown'
  | 'accepted'
  | 'ended'
  | 'storing'
  | 'released'
  | 'captured';
export const PHASES: readonly Phase[] = [
  'queued',
  'sending',
  'unknown',
  'accepted',
  'ended',
  'storing',
  'released',
  'captured',
];

export interface Gen {
  readonly each: number;
  readonly count: number;
  readonly overdue: boolean;
  readonly outputs: ('storing' | 'stored' | 'lost')[];
  readonly refunds: Map<string, number>;
  phase: Phase;
  flagged: boolean;
  ordinal: number;
  captured: number;
}

/** What an account and its generations must be, kept beside the database. */
export interface Model {
  granted: number;
  held: number;
  spent: number;
  readonly grants: Map<string, number>;
  readonly generations: Gen[];
}

export function newModel(granted: number): Model {
  return { granted, held: 0, spent: 0, grants: new Map(), generations: [] };
}

export const hasEnded = ({ phase }: Gen) => phase === 'released' || phase === 'captured';
export const available = ({ granted, held, spent }: Model) => granted - held - spent;
export const priceOf = ({ each, count }: Pick<Gen, 'each' | 'count'>) => each * count;
export const storedOf = ({ outputs }: Gen) => outputs.filter((output) => output === 'stored').length;
export const refundedOf = ({ refunds }: Gen) => [...refunds.values()].reduce((sum, value) => sum + value, 0);

/** The provider has finished: its outputs are to be stored. */
export function succeed(gen: Gen): void {
  gen.phase = 'storing';
  gen.outputs.push(...Array.from({ length: gen.count }, () => 'storing' as const));
}

/** The end: the hold is gone, the captured part of it is spent. */
export function end(model: Model, gen: Gen, captured: number): void {
  model.held -= priceOf(gen);
  model.spent += captured;
  gen.captured = captured;
  gen.phase = captured > 0 ? 'captured' : 'released';
}

/** What a settle by this proposal captures; null = stale. */
export function captureOf(gen: Gen, { state, errorCode }: Proposal): number | null {
  if (gen.phase === 'storing') {
    if (gen.outputs.includes('storing')) return null;
    const stored = storedOf(gen);
    if (state === 'succeeded') return stored > 0 ? gen.each * stored : null;
    return state === 'failed' && errorCode === 'output_lost' && stored === 0 ? 0 : null;
  }
  if (state === 'expired') {
    const fits = (errorCode === 'submission_unresolved') === (gen.phase === 'unknown');
    return gen.overdue && gen.phase !== 'sending' && fits ? 0 : null;
  }
  const free = gen.phase === 'queued' || gen.phase === 'ended';
  if (state === 'failed') return free && errorCode === 'provider_failed' ? 0 : null;
  return state === 'cancelled' && free && gen.flagged ? 0 : null;
}

/** What an operator is told who ends it by hand. */
export function resolutionOf(gen: Gen, state: 'failed' | 'succeeded'): string {
  if (hasEnded(gen)) return 'already_terminal';
  if (gen.phase === 'sending') return 'sending';
  if (gen.outputs.includes('storing')) return 'downloading';
  if (state === 'failed') return storedOf(gen) > 0 ? 'outputs_stored' : 'resolved';
  return storedOf(gen) === 0 ? 'no_output_stored' : 'resolved';
}

/** What a refund is told: once per reason, in all never more than was captured. */
export function refundOf(gen: Gen, reason: string, credits: number | null): Refunded {
  const before = gen.refunds.get(reason);
  const refunded = refundedOf(gen);
  if (before !== undefined) {
    const same = credits === null || credits === before;
    return { outcome: same ? 'duplicate' : 'reason_used', credits: before, refunded };
  }
  if (gen.captured === 0) return { outcome: 'not_captured' };
  const left = gen.captured - refunded;
  const wanted = credits ?? left;
  if (wanted < 1 || wanted > left) return { outcome: 'too_much', refundable: left };
  return { outcome: 'refunded', credits: wanted, refunded: refunded + wanted };
}
