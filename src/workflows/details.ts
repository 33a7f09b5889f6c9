import { defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { RunView } from '../domain/step.ts';

const generationState = defineSearchAttributeKey('GenerationState', 'KEYWORD');

/** The incident note that operators read in the UI; costs no event. */
export function tell(view: RunView, now: string): void {
  const job = view.jobId === null ? 'none yet' : `\`${view.jobId}\``;
  const deadline = new Date(Date.now() + view.deadlineInMs).toISOString();
  setCurrentDetails(
    [
      `**${view.state}**, stage **${view.stage}**: ${now}`,
      '',
      `- provider \`${view.provider}\`, job ${job}`,
      `- ${view.credits} credits held, deadline ${deadline}`,
      `- last problem: ${view.problem === null ? 'none' : `\`${view.problem}\``}`,
    ].join('\n'),
  );
}

export function tellParked(reason: string): void {
  setCurrentDetails(
    [
      `**Needs an operator**: \`${reason}\``,
      '',
      'The hold is intact and nothing is settled. Put the cause right, then wake the run:',
      '`npx darkroom generation wake <id>`. Cancel here asks for a cancellation; Terminate is safe, the sweep starts it again.',
    ].join('\n'),
  );
}

/**
 * The last words of a run: its end, also as the search attribute. A run that was started without attributes, since the
 * namespace lacks them, must not upsert one: its task would fail for ever.
 */
export function tellEnd(state: string): void {
  setCurrentDetails(`**${state}**. Nothing is left to do.`);
  const registered = workflowInfo().typedSearchAttributes.get(generationState) !== undefined;
  if (registered && state !== 'gone') upsertSearchAttributes([{ key: generationState, value: state }]);
}
