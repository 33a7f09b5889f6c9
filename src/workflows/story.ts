import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { RunView } from '../domain/step.ts';

const generationState = defineSearchAttributeKey('GenerationState', 'KEYWORD');
const provider = defineSearchAttributeKey('Provider', 'KEYWORD');

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

/** What operators read in the Temporal UI: the run's current details, worded like an incident note. Costs no event. */
export class Story {
  #view: RunView | null = null;

  /** @param inMs when the next thing happens by itself, if nothing wakes the run before. */
  tell(view: RunView, now: string, inMs: number | null = null): void {
    this.#moved(view.provider);
    this.#view = view;
    const until = inMs === null || inMs <= 0 ? '' : `; next look ${clock(inMs)}`;
    const problem = view.problem === null ? '' : `\n\nLast problem: \`${view.problem}\``;
    setCurrentDetails(`**${view.state}**, stage ${view.stage}: ${now}${until}${problem}\n\n${facts(view)}`);
  }

  /** After a failover, runs are found by the provider that has the job now. */
  #moved(name: string): void {
    const before = this.#view?.provider;
    if (before !== undefined && before !== name && isRegistered()) {
      upsertSearchAttributes([{ key: provider, value: name }]);
    }
  }

  /** Also the search attribute, so that parked runs can be listed. */
  parked(reason: string): void {
    const { workflowId } = workflowInfo();
    setCurrentDetails(
      [
        `**Needs an operator** (\`${reason}\`): ${wordsFor(reason)}.`,
        `The hold is intact. Put the cause right, then \`npx darkroom generation wake ${workflowId}\`.`,
        '"Request Cancellation" asks for a cancellation; "Terminate" is safe: the sweep starts it again.',
        ...(this.#view === null ? [] : [facts(this.#view)]),
      ].join('\n\n'),
    );
    attribute('needs_operator');
  }

  resumed(): void {
    attribute('running');
  }

  ended(state: string): void {
    const view = this.#view;
    const lines = view === null ? [] : [`provider \`${view.provider}\`, job ${job(view)}`];
    setCurrentDetails([`**${state}**. Nothing is left to do.`, ...lines].join('\n\n'));
    if (state !== 'gone') attribute(state);
  }
}

function job(view: RunView): string {
  return view.jobId === null ? 'none' : `\`${view.jobId}\``;
}

function facts(view: RunView): string {
  const held = `${view.credits} credits held`;
  return `provider \`${view.provider}\`, job ${job(view)}, ${held}, deadline ${clock(view.deadlineInMs)}`;
}

function clock(inMs: number): string {
  return new Date(Date.now() + inMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/**
 * A run that was started without attributes, since the namespace lacks them, must not upsert one: its task would fail
 * for ever.
 */
function attribute(value: string): void {
  if (isRegistered()) upsertSearchAttributes([{ key: generationState, value }]);
}

function isRegistered(): boolean {
  return workflowInfo().typedSearchAttributes.get(generationState) !== undefined;
}
