import type { Fault } from '../../src/simulators/faults.ts';
import { promptText, type Books, type Finding, type Job, type Row } from './open-books.ts';
import { IN_PART } from './wishes.ts';
import { faultFor, isLinkDisturbed, lostRecordOf } from './struck.ts';

/** A job that was done and known so long before its deadline was to be stored: a stop of 5 s, and 15 s to recover. */
export const LEEWAY_MS = 20_000;
/** A render without a fault, on a machine that is busy. */
const RENDERED_MS = 5_000;

/** A look with one of these tells nothing of the job, or of another state than it has. */
const LOOKS: ReadonlySet<Fault['kind']> = new Set([
  'observe_5xx',
  'observe_404',
  'observe_hang',
  'observe_error_in_200',
  'unknown_status',
]);

/** By what the row says of an output that is not there: the faults of links and looks that lead to it. */
const OUTPUT_FAULTS: readonly { readonly problem: RegExp; readonly kinds: RegExp }[] = [
  { problem: /^lost link_gone$/, kinds: /^(link_404|link_redirect_private|succeeded_without_output)$/ },
  { problem: /^lost gone_at_provider$/, kinds: /^(observe_404|succeeded_without_output)$/ },
  { problem: /^lost store_time_over$/, kinds: /^(link_|observe_|unknown_status$)/ },
  { problem: /^invalid /, kinds: /^link_(html|empty|wrong_type|huge|redirect_private)$/ },
];

/** The ends that were told, against what the providers did: a success that was made and paid for is delivered. */
export function checkEnds(books: Books): Finding[] {
  return books.rows.flatMap((row) => [
    ...undelivered(books, row),
    ...missingOutputs(books, row),
    ...tooEarly(row),
  ]);
}

/** The job that the generation waited for when it ended; one that was attached afterwards is none. */
export function awaitedJob(books: Books, row: Row): { submission: Submission; job: Job } | null {
  const submission = row.submissions.find(({ state }) => state === 'accepted');
  const job = books
    .jobsOf(row)
    .find(({ provider, id }) => provider === submission?.provider && id === submission.providerJobId);
  if (submission === undefined || job === undefined) return null;
  const isLate = row.completedAt !== null && (submission.acceptedAt ?? row.completedAt) >= row.completedAt;
  return isLate ? null : { submission, job };
}

type Submission = Row['submissions'][number];

/** When the provider was done with it, at the latest: by its faults, since no journal tells it. */
export function renderedBy(
  { faults }: Books,
  { provider, created_at: createdAt }: Job,
  prompt: string,
): number {
  const renders = (faults.providerFaults[provider] ?? [])
    .filter(({ match }) => prompt.includes(match?.prompt ?? ''))
    .map((fault) => (fault.kind === 'render_ms' ? fault.ms : 0));
  return Date.parse(createdAt) + Math.max(0, ...renders) + RENDERED_MS;
}

/** A job that succeeded, and a generation that did not: a wish to cancel or a fault of that very job explains it. */
function undelivered(books: Books, row: Row): Finding[] {
  if (row.completedAt === null || row.state === 'succeeded') return [];
  const awaited = awaitedJob(books, row);
  if (awaited?.job.status !== 'succeeded' || isExplained(books, row, awaited)) return [];
  const { id, provider } = awaited.job;
  const problem = `${provider} finished ${id}, it is ${row.state} ${row.errorCode ?? ''}, and nothing explains it`;
  return [{ check: 'a finished job is delivered', generation: row.id, problem }];
}

function isExplained(
  books: Books,
  row: Row,
  { submission, job }: { readonly submission: Submission; readonly job: Job },
): boolean {
  const { provider } = job;
  const prompt = promptText(row);
  const hasFault = (fits: (fault: Fault) => boolean) =>
    faultFor(books.faults, { provider, prompt }, fits) !== undefined;
  switch (row.errorCode) {
    case null:
      return row.state === 'cancelled' && job.cancels > 0;
    case 'deadline_exceeded': {
      const deadlineMs = row.deadlineAt.getTime();
      const knownMs = Math.max(renderedBy(books, job, prompt), submission.acceptedAt?.getTime() ?? Infinity);
      if (knownMs + LEEWAY_MS > deadlineMs) return true;
      return (
        hasFault(({ kind }) => LOOKS.has(kind)) ||
        lostRecordOf(books.faults, deadlineMs - LEEWAY_MS, deadlineMs) !== null ||
        isLinkDisturbed(
          books.faults,
          provider,
          deadlineMs - LEEWAY_MS,
          row.completedAt?.getTime() ?? deadlineMs,
        )
      );
    }
    case 'no_output':
    case 'content_rejected':
      return hasFault(({ kind }) => kind === 'succeeded_without_output');
    case 'output_lost':
    case 'output_invalid':
      // Output by output, below.
      return row.outputs.length > 0;
    default:
      return false;
  }
}

/** A link that no fault touched leads to a file that is stored, also where other outputs of the job are. */
function missingOutputs(books: Books, row: Row): Finding[] {
  const awaited = awaitedJob(books, row);
  if (awaited === null || row.completedAt === null) return [];
  const { provider, deleted, cancels } = awaited.job;
  const prompt = promptText(row);
  return row.outputs
    .filter(({ state }) => state === 'lost' || state === 'invalid')
    .filter(({ state, problem }) => {
      const words = `${state} ${problem ?? ''}`;
      // Some providers remove what they are asked to cancel, and it was done meanwhile.
      if (state === 'lost' && deleted && cancels > 0) return false;
      // Its job was called failed when only some were stored.
      if (words === 'lost gone_at_provider' && prompt.startsWith(IN_PART)) return false;
      const kinds = OUTPUT_FAULTS.filter((one) => one.problem.test(words)).map((one) => one.kinds);
      const fits = ({ kind }: Fault) => kinds.some((one) => one.test(kind));
      return faultFor(books.faults, { provider, prompt }, fits) === undefined;
    })
    .map(({ index, state, problem }) => ({
      check: 'an output that was offered is stored',
      generation: row.id,
      problem: `output ${index} is ${state} (${problem}), and no fault of ${provider} touched its link`,
    }));
}

function tooEarly({ id, state, completedAt, deadlineAt }: Row): Finding[] {
  if (state !== 'expired' || completedAt === null || completedAt >= deadlineAt) return [];
  const problem = `ended at ${completedAt.toISOString()}, its deadline is ${deadlineAt.toISOString()}`;
  return [{ check: 'nothing expires before its deadline', generation: id, problem }];
}
