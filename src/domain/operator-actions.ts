/** What an operator can do with one generation. */
export type OperatorActionName =
  | 'wake'
  | 'cancel'
  | 'observe'
  | 'retry-storing'
  | 'attach-job'
  | 'not-accepted'
  | 'redeliver';

/** What an action has brought about. */
export const ACTION_EFFECTS = [
  /** Its run looks at its rows. */
  'woken',
  'cancelled',
  /** The provider is asked; its answer decides. */
  'requested',
  'observing',
  /** Its job is not known: it is looked for where the provider can be asked. */
  'searching',
  /** The job of an ended generation, or of a dead submission. */
  'observing_late',
  'storing',
  /** Its run asks the provider for the named job, and attaches it when it is there. */
  'attaching',
  'attaching_late',
  /** It has that job already. */
  'attached',
  'ended',
  'resubmitting',
  'redelivering',
] as const;

export const ACTION_REFUSALS = [
  'already_terminal',
  'sending',
  'no_job',
  'job_ended',
  'no_success',
  'nothing_to_store',
  'no_submission',
  'has_job',
  'not_unknown',
  'job_malformed',
  'job_named',
  'job_taken',
  'cancel_requested',
  'no_time',
  'nothing_to_redeliver',
  'endpoints_disabled',
] as const;
export type ActionRefusal = (typeof ACTION_REFUSALS)[number];

/** What a refusal is told with. */
export interface RefusalFacts {
  readonly why: ActionRefusal;
  readonly state: string;
  readonly jobId?: string | undefined;
  /** Whose job it is. */
  readonly generationId?: string | undefined;
  readonly inMs?: number | undefined;
}

const AFTER_THE_END: Readonly<Record<OperatorActionName, string>> = {
  wake: 'there is no run to wake; to look at its job once more, observe it',
  cancel: 'there is nothing to cancel; a charge is taken back by a refund',
  observe: 'observe it again',
  'retry-storing': 'one that has ended stays ended; a charge is taken back by a refund',
  'attach-job': 'attach the job again',
  'not-accepted':
    'its credits are settled, and nothing is submitted for it any more; a job that turns up is booked as a cost',
  redeliver: 'redeliver it again',
};

/** Why an action was refused and what to do instead, in one or two sentences. */
export function refusalText(action: OperatorActionName, facts: RefusalFacts): string {
  const { why, state, jobId, generationId, inMs } = facts;
  switch (why) {
    case 'already_terminal':
      return `It has ended as ${state}: ${AFTER_THE_END[action]}.`;
    case 'sending':
      return `A submit is under way: try again in ${Math.max(1, Math.ceil((inMs ?? 0) / 1_000))} s, when its answer is recorded or its time is over.`;
    case 'no_job':
      return 'It was not submitted yet, so there is no job to look at: wake it, and it is tried at once.';
    case 'job_ended':
      return 'Its job is known to have ended, so there is nothing more to see at the provider.';
    case 'no_success':
      return 'The provider has not been seen to succeed, so there is nothing to store: observe it.';
    case 'nothing_to_store':
      return 'No output is lost or open: it is settled next. If that does not happen, wake it.';
    case 'no_submission':
      return 'It has no such submission: leave the submission out, or look up its id ("darkroom generation show").';
    case 'has_job':
      return `The submission has the job ${jobId} already, and keeps it: observe it instead.`;
    case 'not_unknown':
      return 'Only for a submission whose answer was lost (state unknown): this one is not. If it is stuck, wake it.';
    case 'job_malformed':
      return 'The id of a job has 1 to 255 visible ASCII characters: copy it from the console of the provider.';
    case 'job_named':
      return `A callback or an operator has named the job ${jobId}, and the provider has not answered yet whether it is there: observe it, then look again in a moment.`;
    case 'job_taken':
      return `The job ${jobId} belongs to ${generationId}: look for another one at the provider.`;
    case 'cancel_requested':
      return 'A cancellation is asked, so nothing is submitted any more: declare it without resubmit, and it ends as cancelled.';
    case 'no_time':
      return 'Too little time is left until its deadline: declare it without resubmit, and its credits are released.';
    case 'nothing_to_redeliver':
      return 'No webhook was due for it, or all are being delivered right now: look at its deliveries.';
    case 'endpoints_disabled':
      return 'Each endpoint that was told of it is disabled or deleted: its tenant enables it, then redeliver again.';
  }
}
