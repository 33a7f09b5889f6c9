/** What clients branch on. Only forward; a terminal state never changes (enforced in SQL). */
export const STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;
export type State = (typeof STATES)[number];

/** The states in which a generation has ended. */
export const TERMINAL_STATES = ['succeeded', 'failed', 'cancelled', 'expired'] as const;
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** Where the run is; `done` if and only if the state is terminal. */
export const STAGES = [
  'queued',
  'submitting',
  'submission_unknown',
  'waiting',
  'storing',
  'settling',
  'needs_operator',
  'done',
] as const;
export type Stage = (typeof STAGES)[number];

export const DELIVERIES = ['pending', 'stored', 'partial', 'failed', 'expired'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** What became of the wish to cancel. */
export const CANCELLATION_OUTCOMES = [
  'requested',
  'confirmed',
  'accepted_may_bill',
  'too_late',
  'unsupported',
] as const;
export type CancellationOutcome = (typeof CANCELLATION_OUTCOMES)[number];

/** `prepared` = not sent; `unknown` is sticky; `refused` and `abandoned` are dead, the others live. */
export const SUBMISSION_STATES = [
  'prepared',
  'sending',
  'unknown',
  'accepted',
  'refused',
  'abandoned',
] as const;

/** @returns true when the state can never change again. */
export function isTerminal(state: State): state is TerminalState {
  return (TERMINAL_STATES as readonly State[]).includes(state);
}
