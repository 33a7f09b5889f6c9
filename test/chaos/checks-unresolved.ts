import type { Fault } from '../../src/simulators/faults.ts';
import { LEEWAY_MS } from './checks-ends.ts';
import { promptText, type Books, type Finding, type Row } from './open-books.ts';
import { faultFor, isLinkDisturbed, lostAnswerOf, lostRecordOf } from './struck.ts';

/** design.md §5: who can be asked again, by the same key or for our own id. All others can't. */
const ASKED_AGAIN: Readonly<Record<string, 'replay' | 'lookup'>> = {
  infro: 'replay',
  aigenway: 'replay',
  kling: 'lookup',
};
/** What a provider does to whoever asks again. */
const OF_SUBMITS_AND_LOOKS =
  /^(slow_submit|reset_|answer_lost|status_|html$|error_in_200$|missing_id$|refuse|observe_)/;

/** The promise's one gap, as narrow as it is told: a submit stays unresolved where nothing could be asked, or was told. */
export function checkUnresolved(books: Books): Finding[] {
  return books.rows
    .filter(({ errorCode }) => errorCode === 'submission_unresolved')
    .flatMap((row) => {
      const problem = mend(books, row);
      return problem === null
        ? []
        : [{ check: 'a submit stays unresolved only where it must', generation: row.id, problem }];
    });
}

type Submission = Row['submissions'][number];

/** Why it need not have ended so; null = it must. */
function mend(books: Books, row: Row): string | null {
  // One that was found after the end is accepted by now; what took its answer still stands in its row.
  const submission = row.submissions.find(
    ({ unknownAt, firstSentAt }) => (unknownAt ?? firstSentAt) !== null,
  );
  if (submission === undefined) return 'nothing of it was ever sent';
  const last = row.submissions.findLast(({ unknownAt }) => unknownAt !== null) ?? submission;
  const prompt = promptText(row);
  const job = books.jobsOf(row).find(({ provider }) => provider === last.provider);
  if (last.state === 'unknown' && lostAnswerOf(books.faults, last, prompt, job !== undefined) === null) {
    return `${last.provider} answered (${last.problem ?? 'nothing'}), and nothing took its answer from us`;
  }
  const how = ASKED_AGAIN[last.provider];
  if (how !== undefined && !isAway(books, row, last)) {
    return `${last.provider} offers ${how}, and could be asked again before the deadline`;
  }
  return namedInTime(books, row, last);
}

/** There was no time left, its link was cut, it disturbed whoever asked, or nobody of ours was there up to the deadline. */
function isAway(books: Books, row: Row, { provider, idempotencyKey, firstSentAt }: Submission): boolean {
  const prompt = promptText(row);
  const { timings } = row.plan as { readonly timings: { readonly submitLeaseMs: number } };
  const deadlineMs = row.deadlineAt.getTime();
  const fromMs = deadlineMs - LEEWAY_MS;
  if ((firstSentAt?.getTime() ?? 0) + timings.submitLeaseMs > fromMs) return true;
  if (isLinkDisturbed(books.faults, provider, fromMs, deadlineMs)) return true;
  if (lostRecordOf(books.faults, fromMs, deadlineMs) !== null) return true;
  const isSentAgain = (books.journals[provider]?.requests ?? []).some(
    ({ at, prompt: asked, idempotency_key: key }) =>
      (asked === prompt || key === idempotencyKey) && Date.parse(at) >= fromMs,
  );
  const fits = ({ kind }: Fault) => OF_SUBMITS_AND_LOOKS.test(kind);
  return (
    (isSentAgain || ASKED_AGAIN[provider] === 'lookup') &&
    faultFor(books.faults, { provider, prompt, byMs: deadlineMs }, fits) !== undefined
  );
}

/** A true callback that we took names the job by its token: then it is known. */
function namedInTime(books: Books, row: Row, { provider }: Submission): string | null {
  const deadlineMs = row.deadlineAt.getTime();
  const prompt = promptText(row);
  const isHidden =
    faultFor(books.faults, { provider, prompt }, ({ kind }) => kind.startsWith('observe_')) !== undefined ||
    isLinkDisturbed(books.faults, provider, deadlineMs - LEEWAY_MS, deadlineMs);
  if (isHidden) return null;
  const told = books
    .jobsOf(row)
    .filter((job) => job.provider === provider)
    .flatMap(({ callbacks }) => callbacks)
    .find(({ at, answer, forged }) => !forged && answer === 200 && Date.parse(at) + LEEWAY_MS < deadlineMs);
  return told === undefined ? null : `${provider} named its job by a callback at ${told.at}`;
}
