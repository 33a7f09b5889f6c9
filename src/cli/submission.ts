import { Command, InvalidArgumentError, Option } from 'commander';
import { SUBMISSION_STATES } from '../domain/generation.ts';
import { SUBMISSION_ID } from '../domain/submission-id.ts';
import { attachJob } from '../services/attach-job.ts';
import { declareNotAccepted } from '../services/declare-not-accepted.ts';
import { findSubmission, findSubmissions } from '../services/find-submissions.ts';
import type { ShownSubmission } from '../services/find-submissions.ts';
import { show, table, withContext } from './context.ts';
import { runAction, withActionOptions } from './generation-actions.ts';
import type { ActionOptions } from './generation-actions.ts';
import { providerName, rows } from './options.ts';

/** `darkroom submission`: single tries at providers; what became of one whose answer was lost is said here. */
export function submissionCommand(): Command {
  return new Command('submission')
    .description('tries at providers; attach a job by hand, or declare that there is none')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(attachCommand())
    .addCommand(notAcceptedCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('the newest submissions, newest first')
    .addOption(new Option('--state <state...>', 'in one of these states').choices(SUBMISSION_STATES))
    .option('--provider <name>', 'of this provider only', providerName)
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(
      async (options: {
        readonly state?: string[];
        readonly provider?: string;
        readonly limit: number;
        readonly json?: boolean;
      }) => {
        const { state: states = [], provider = null, limit, json = false } = options;
        const found = await withContext((ctx) => findSubmissions(ctx, { states, provider, limit }));
        show(found, json, () => (found.length === 0 ? 'No such submission.' : table(linesOf(found))));
      },
    );
}

const linesOf = (found: readonly ShownSubmission[]): string[][] => [
  ['submission', 'first sent', 'provider', 'state', 'job', 'problem'],
  ...found.map((one) => [
    one.id,
    one.first_sent_at ?? '',
    one.provider,
    one.state,
    one.job_id ?? '',
    one.problem ?? '',
  ]),
];

function showCommand(): Command {
  return new Command('show')
    .description('one submission, with the jobs that were named for it by hand')
    .argument('<id>', 'sub_…', ofSubmission)
    .option('--json', 'one JSON object instead of text')
    .action(
      async ({ submission: id }: SubmissionRef, { json = false }: { json?: boolean }, command: Command) => {
        const found = await withContext((ctx) => findSubmission(ctx, id));
        if (found === null) return command.error(`There is no submission ${id}.`, { exitCode: 1 });
        show(found, json, () => table(factsOf(found)));
      },
    );
}

function factsOf(found: ShownSubmission): string[][] {
  const { named_jobs: named, orphan_jobs: orphans, ...facts } = found;
  return [
    ...Object.entries(facts).flatMap(([name, value]) =>
      value === null ? [] : [[name.replaceAll('_', ' '), value]],
    ),
    ...named.map((job) => ['named by hand', `${job.job_id} at ${job.named_at}: ${whatCameOf(job)}`]),
    ...orphans.map((job) => ['orphan job', job]),
  ];
}

function whatCameOf({ attached, looked_for_at: at }: ShownSubmission['named_jobs'][number]): string {
  if (attached) return 'attached';
  if (at === null) return 'not looked for yet';
  return `looked for at ${at}, not attached: the provider does not know it, or could not be asked; check the id`;
}

function attachCommand(): Command {
  return withActionOptions(
    new Command('attach')
      .description(
        'name the job of a submission whose answer was lost; it is attached when the provider knows it',
      )
      .argument('<id>', 'sub_…', ofSubmission)
      .requiredOption('--job <id>', "the job, from the provider's console", jobId),
  ).action(
    ({ generation, submission }: SubmissionRef, options: ActionOptions & { job: string }, self: Command) =>
      runAction(self, 'attach-job', generation, options, (ctx, input) =>
        attachJob(ctx, { ...input, submission, jobId: options.job }),
      ),
  );
}

interface NotAcceptedOptions extends ActionOptions {
  readonly resubmit?: true;
  readonly yes?: true;
}

function notAcceptedCommand(): Command {
  return withActionOptions(
    new Command('not-accepted')
      .description(
        'declare that an unknown submission has no job: the generation ends as failed and is released, or is submitted again',
      )
      .argument('<id>', 'sub_…', ofSubmission)
      .option('--resubmit', 'send a new submission instead of ending; it buys a second job if you are wrong')
      .option(
        '--yes',
        'you have seen at the provider that there is no job: --resubmit does nothing without this',
      ),
  ).action(({ generation, submission }: SubmissionRef, options: NotAcceptedOptions, self: Command) => {
    const resubmit = options.resubmit === true;
    if (resubmit && options.yes !== true && options.dryRun !== true) {
      return self.error(
        `If ${submission} has a job after all, a second one is paid for: look into the provider's console, then add --yes.`,
        { exitCode: 2 },
      );
    }
    return runAction(self, 'not-accepted', generation, options, (ctx, input) =>
      declareNotAccepted(ctx, { ...input, submission, resubmit }),
    );
  });
}

interface SubmissionRef {
  readonly submission: string;
  readonly generation: string;
}

function ofSubmission(text: string): SubmissionRef {
  if (!SUBMISSION_ID.test(text)) {
    throw new InvalidArgumentError(
      'Write the id of a submission, as "darkroom generation show" tells it: sub_…',
    );
  }
  return { submission: text, generation: `gen_${text.slice(4, 30)}` };
}

function jobId(text: string): string {
  if (!/^(?!\.{1,2}$)[\x21-\x7e]{1,255}$/.test(text)) {
    throw new InvalidArgumentError('Write 1 to 255 visible ASCII characters, as the provider shows them.');
  }
  return text;
}
