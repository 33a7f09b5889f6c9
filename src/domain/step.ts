import type { GenerationErrorCode } from './errors.ts';
import type { Stage, State, TerminalState } from './generation.ts';
import type { IdempotencyCapability } from './provider.ts';

/** What operators see of a run: ids, enums and numbers only, since it stands in Temporal's history. */
export interface RunView {
  readonly state: State;
  readonly stage: Stage;
  readonly provider: string;
  readonly jobId: string | null;
  readonly credits: number;
  readonly deadlineInMs: number;
  /** A fixed code of the last trouble, or null. */
  readonly problem: string | null;
  /** The one that has the job, or may have it. Absent, like all below, in what versions before 0.4 wrote. */
  readonly submissionId?: string | null;
  /** What the provider offers against a lost answer; only where that matters. */
  readonly idempotency?: IdempotencyCapability;
  /** The provider has a list in which our job is recognised; only where that matters. */
  readonly listed?: boolean;
  /** The provider calls us when the job has ended. */
  readonly callbacks?: boolean;
  readonly cancelRequested?: boolean;
  /** The provider has finished: what it rendered is being stored. */
  readonly succeeded?: boolean;
}

/** How the run wants to end the generation. */
export interface SettleProposal {
  readonly state: TerminalState;
  readonly errorCode: GenerationErrorCode | null;
}

export interface AttachStep {
  readonly step: 'attach';
  readonly submissionId: string;
  readonly jobId: string;
  readonly view: RunView;
}

export interface SubmitStep {
  readonly step: 'submit';
  readonly inMs: number;
  readonly reason: string;
  readonly view: RunView;
  /** On whose queue; absent = the plan's first. */
  readonly provider?: string;
  /** The earlier places of the route list are closed now. */
  readonly fromRoute?: number;
}

/** What an activity found that has to be done next. */
export type Step =
  /** Terminal, or no such row any more: the run ends. */
  | { readonly step: 'done'; readonly state: TerminalState | 'gone' }
  /** Try to submit (again) after this time, or when woken. */
  | SubmitStep
  /** Read the rows and go on: the first step of a run, and the next one after a step was lost with its worker. */
  | { readonly step: 'resume'; readonly inMs: number; readonly lost: AttachStep | null }
  /** A job was accepted while the database was away: attach it before all else. */
  | AttachStep
  /** A provider has the job: wait for a wake, the first poll or the deadline, then collect. */
  | { readonly step: 'wait'; readonly inMs: number; readonly deadlineInMs: number; readonly view: RunView }
  | { readonly step: 'settle'; readonly proposal: SettleProposal; readonly view: RunView }
  /** Only a person can go on. */
  | { readonly step: 'park'; readonly reason: string };
