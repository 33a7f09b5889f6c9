import { PROVIDER_ROWS } from '../support/provider-models.ts';
import { promptText, type Books, type Finding, type Job, type Row } from './open-books.ts';
import { faultFor, isLinkDisturbed, lostRecordOf } from './struck.ts';

const ASKED_FOR = 'a cancel is one that was asked for';
/** The clocks of a simulator and of the database. */
const SLACK_MS = 1_000;
const NO_CANCEL = new Set(
  PROVIDER_ROWS.filter(({ cancel }) => cancel === 'unsupported').map(({ name }) => name),
);

/** The tenant's wishes to cancel, against rows, and against what the providers were asked. */
export function checkCancels(books: Books): Finding[] {
  return books.rows.flatMap((row) => [
    ...forgotten(books, row),
    ...unasked(books, row),
    ...otherOutcome(row),
    ...books.jobsOf(row).flatMap((job) => [...unwished(books, row, job), ...tooOften(books, row, job)]),
  ]);
}

function forgotten({ askedFor }: Books, { id, state, idempotencyKey, cancelRequestedAt }: Row): Finding[] {
  if (askedFor.get(idempotencyKey)?.cancelled !== true || cancelRequestedAt !== null) return [];
  const problem = `a cancel was taken, its row has none; it is ${state}`;
  return [{ check: 'a cancel that was taken is in the row', generation: id, problem }];
}

function unasked({ askedFor }: Books, row: Row): Finding[] {
  const { id, state, cancelRequestedAt: at, cancelRequestedBy: by, idempotencyKey } = row;
  if (at === null && state !== 'cancelled') return [];
  const asked = askedFor.get(idempotencyKey);
  // Where the run does not tell, the answer to one may have been lost.
  const isAsked = asked?.cancelled === true || asked?.cancelSent !== false;
  if (at !== null && by === 'tenant' && isAsked) return [];
  const problem = `${state}, cancel requested by ${by ?? 'nobody'}; the tenant ${isAsked ? 'may have' : 'has not'} asked`;
  return [{ check: ASKED_FOR, generation: id, problem }];
}

/** What the tenant is told of its wish, against the end. */
function otherOutcome({ id, state, completedAt, cancelRequestedAt, cancelOutcome }: Row): Finding[] {
  if (completedAt === null) return [];
  const right: readonly (string | null)[] =
    cancelRequestedAt === null
      ? [null]
      : state === 'cancelled'
        ? ['confirmed', 'accepted_may_bill']
        : ['too_late', 'unsupported', 'accepted_may_bill'];
  if (right.includes(cancelOutcome)) return [];
  const problem = `${state}, the outcome of the wish to cancel is ${cancelOutcome}`;
  return [{ check: 'the outcome of a cancel fits the end', generation: id, problem }];
}

interface Call {
  readonly atMs: number;
  readonly isCancel: boolean;
}

/** What the provider was asked about this job, in its own order; old ones may be missing. */
function callsAbout({ journals }: Books, { provider, id }: Job): Call[] {
  return (journals[provider]?.requests ?? [])
    .filter(({ path }) => decodeURIComponent(path).includes(id))
    .map(({ at, method, path }) => ({
      atMs: Date.parse(at),
      isCancel: method === 'DELETE' || path.endsWith('/cancel'),
    }));
}

/** A provider is asked to cancel for a wish, for the deadline, or for a job that came to light after the end. */
function unwished(
  books: Books,
  { id, cancelRequestedAt, completedAt, deadlineAt }: Row,
  job: Job,
): Finding[] {
  const first = callsAbout(books, job).find(({ isCancel }) => isCancel);
  const fromMs = Math.min(
    ...[cancelRequestedAt, completedAt, deadlineAt].map((at) => at?.getTime() ?? Infinity),
  );
  if (first === undefined || first.atMs >= fromMs - SLACK_MS) return [];
  const problem = `${job.provider} was asked to cancel ${job.id} at ${new Date(first.atMs).toISOString()}, for no reason`;
  return [{ check: ASKED_FOR, generation: id, problem }];
}

/** Once for each job, unless the answer was lost or said that it could not be done; never where there is no cancel. */
function tooOften(books: Books, row: Row, job: Job): Finding[] {
  const check = 'a provider is asked once to cancel';
  const { id: jobId, provider, cancels } = job;
  const finding = (problem: string): Finding[] => [{ check, generation: row.id, problem }];
  if (cancels > 0 && NO_CANCEL.has(provider))
    return finding(`${provider} has no cancel, and was asked ${cancels} times`);
  if (cancels <= 1) return [];
  const prompt = promptText(row);
  const fault = faultFor(books.faults, { provider, prompt }, ({ kind }) =>
    /^(cancel_5xx$|observe_)/.test(kind),
  );
  if (fault !== undefined) return [];
  const { timings } = row.plan as { readonly timings: { readonly observeHttpTimeoutMs: number } };
  const calls = callsAbout(books, job);
  const soon = calls.flatMap(({ atMs, isCancel }, at) => {
    const before = calls.findLastIndex((one, place) => place < at && one.isCancel);
    if (!isCancel || before === -1) return [];
    // Whoever stood still gave up on the first one; since when shows by the look that came before it.
    const fromMs = calls[Math.max(0, before - 1)]?.atMs ?? atMs;
    if (atMs - fromMs >= timings.observeHttpTimeoutMs - SLACK_MS) return [];
    const isLost =
      isLinkDisturbed(books.faults, provider, fromMs, atMs) ||
      lostRecordOf(books.faults, fromMs, atMs) !== null;
    return isLost ? [] : [atMs - fromMs];
  });
  if (soon.length === 0) return [];
  return finding(
    `${provider} was asked ${cancels} times to cancel ${jobId}, again within ${soon.join(', ')} ms`,
  );
}
