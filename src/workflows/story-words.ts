import type { RunView, SettleProposal } from '../domain/step.ts';

/** What the fixed reason codes mean to whoever reads the run at night. */
const REASONS: Readonly<Record<string, string>> = {
  submission_unknown:
    'unknown whether the provider has the job; never sent as a new one, found or replayed where that is possible',
  capacity: 'the provider has no capacity',
  not_sent: 'the submit could not be sent',
  refused: 'the provider refused; looking for the next step',
  next_provider: 'to the next provider of the list',
  circuit_open: 'submits to the provider fail in a row: it is tried again by one at a time',
  daily_budget: 'the budget of the day for the provider is spent (darkroom budget show)',
  provider_paused: 'an operator has paused submits to the provider (darkroom pause list)',
  model_paused: 'an operator has paused the model (darkroom pause list)',
  tenant_paused: 'an operator has paused the tenant (darkroom pause list)',
  another_attempt_is_sending: 'another attempt may still be sending: its lease must end first',
  database_unavailable: 'the database is away',
  row_moved_on: 'reading the rows again',
  provider_access_denied: 'the provider answers 401, 402 or 403 past the deadline: check its API key',
  step_failed: 'a step failed in a way that trying again cannot mend: see the worker log of this generation',
  unknown_provider: 'no worker knows this provider: configure it again',
  unknown_credential: 'the credential that submitted this job is gone: configure it again',
  job_taken: 'the provider answered with a job that belongs to another submission',
  unreadable_plan: 'the plan stored with this generation cannot be read',
};

/** The words for a reason code; a code that is new stands for itself. */
export function wordsFor(reason: string): string {
  return REASONS[reason] ?? reason;
}

/** What the run waits for once a provider has the job. */
export function waitingWords(view: RunView): string {
  const { provider } = view;
  if (view.succeeded === true) {
    return view.problem === null
      ? `${provider} has finished: its outputs are being stored`
      : `${provider} has finished, but its outputs can not be stored yet`;
  }
  if (view.cancelRequested === true) {
    return `a cancellation was asked for: ${provider} is told, and its answer decides`;
  }
  if (view.deadlineInMs <= 0) {
    return `the deadline has passed: ${provider} is asked to cancel, and a last look decides`;
  }
  return view.callbacks === true
    ? `waiting for the callback of ${provider}; it is asked, too, in case that is lost`
    : `${provider} does not call us for this job: it is asked until the job has ended`;
}

const ENDS: Readonly<Record<string, string>> = {
  succeeded: 'The outputs are stored and the credits captured.',
  failed: 'The credits are released; nothing is charged.',
  cancelled: 'The credits are released; a job that may still render is looked at after 1, 6 and 24 hours.',
  expired: 'The credits are released; the job is looked at again after 1, 6 and 24 hours, to book its cost.',
  gone: 'Its row is not in the database, as after a restore to an earlier moment: see "Restore" in OPERATIONS.md.',
};

/** How a run has ended, and what that means for the tenant's credits. */
export function endWords(state: string, proposal: SettleProposal | null): string {
  const code = proposal?.state === state && proposal.errorCode !== null ? ` (\`${proposal.errorCode}\`)` : '';
  return `**${state}**${code}. ${ENDS[state] ?? ''}`.trim();
}
