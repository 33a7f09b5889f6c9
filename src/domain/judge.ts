import type { Timings } from './timings.ts';
import type { CancellationOutcome } from './generation.ts';
import type { Observation, ProviderCapabilities } from './provider.ts';
import type { SettleProposal } from './step.ts';
import { backoffMs } from './backoff.ts';

/** What is known of a job beside the observation itself. */
export interface JobFacts {
  readonly cancelRequested: boolean;
  /** The provider took our cancel call, or is known to offer none. */
  readonly cancelSent: boolean;
  /** It took it: from then on a job that is gone has been cancelled. */
  readonly cancelTaken: boolean;
  readonly sinceAcceptedMs: number;
  readonly deadlineInMs: number;
  readonly timings: Timings;
}

export type Verdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'store' }
  | { readonly kind: 'settle'; readonly proposal: SettleProposal }
  | { readonly kind: 'park'; readonly reason: string };

const PENDING: Verdict = { kind: 'pending' };
const CANCELLED: SettleProposal = { state: 'cancelled', errorCode: null };
const EXPIRED: SettleProposal = { state: 'expired', errorCode: 'deadline_exceeded' };

/** What the job's present state means for its generation (design.md §3). Pure: the rows are checked again in SQL. */
export function judge(observation: Observation, facts: JobFacts): Verdict {
  const pastDeadline = facts.deadlineInMs <= 0;
  const pastGrace = facts.deadlineInMs <= -facts.timings.deadlineGraceMs;
  switch (observation.kind) {
    case 'succeeded':
      return { kind: 'store' };
    case 'failed':
      return { kind: 'settle', proposal: { state: 'failed', errorCode: observation.code } };
    case 'cancelled':
      if (facts.cancelRequested) return { kind: 'settle', proposal: CANCELLED };
      if (pastDeadline) return { kind: 'settle', proposal: EXPIRED };
      return { kind: 'settle', proposal: { state: 'failed', errorCode: 'provider_failed' } };
    case 'not_found':
      if (facts.cancelTaken && facts.cancelRequested) return { kind: 'settle', proposal: CANCELLED };
      return pastDeadline && facts.sinceAcceptedMs >= facts.timings.notFoundGraceMs
        ? { kind: 'settle', proposal: EXPIRED }
        : pastGrace
          ? { kind: 'settle', proposal: EXPIRED }
          : PENDING;
    case 'unavailable':
      if (pastDeadline && observation.denied) return { kind: 'park', reason: 'provider_access_denied' };
      return pastGrace ? { kind: 'settle', proposal: EXPIRED } : PENDING;
    case 'running':
      return pastGrace ? { kind: 'settle', proposal: EXPIRED } : PENDING;
  }
}

/** True when the provider must now be asked to cancel: wished or overdue, seen running just before, not asked yet. */
export function mustAskCancel(observation: Observation, facts: JobFacts): boolean {
  return (
    observation.kind === 'running' && !facts.cancelSent && (facts.cancelRequested || facts.deadlineInMs <= 0)
  );
}

/** What a cancelled job means at a provider of this kind. */
export function cancelOutcome(cancel: ProviderCapabilities['cancel']): CancellationOutcome {
  return ({ stops: 'confirmed', may_bill: 'accepted_may_bill', unsupported: 'unsupported' } as const)[cancel];
}

/** When to look again, in milliseconds: callbacks make it rare, trouble and impatience make it frequent. */
export function nextPollMs(
  observation: Observation,
  facts: JobFacts & {
    readonly callbacks: boolean;
    readonly terminalHint: boolean;
    /** The provider's jobs share its poll budget: none is asked about more often than this. */
    readonly spacingMs: number;
  },
  attempt: number,
  random: number,
): number {
  const { timings } = facts;
  const rare =
    facts.callbacks &&
    !facts.terminalHint &&
    !facts.cancelRequested &&
    facts.deadlineInMs > 0 &&
    observation.kind === 'running';
  const series = { initialMs: timings.pollInitialMs, factor: 1.5, maxMs: timings.pollMaxMs };
  const asked = observation.kind === 'unavailable' ? (observation.retryAfterMs ?? 0) : 0;
  const wanted = Math.max(
    asked,
    // Spread, so that looks which begin together do not stay together.
    Math.round(facts.spacingMs * (0.75 + 0.5 * random)),
    rare ? timings.safetyPollMs : backoffMs(attempt, series, random),
  );
  const limit =
    facts.deadlineInMs > 0 ? facts.deadlineInMs : Math.max(0, facts.deadlineInMs + timings.deadlineGraceMs);
  return Math.max(Math.min(wanted, limit + 50), 50);
}
