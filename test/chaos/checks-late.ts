import { PROVIDER_ROWS } from '../support/provider-models.ts';
import { renderedBy } from './checks-ends.ts';
import { promptText, type Books, type Finding, type Row } from './open-books.ts';
import { faultFor } from './struck.ts';

const SECONDS = 4;

/** What a job came to after its generation had ended without it, and what each success cost. */
export function checkLate(books: Books): Finding[] {
  return books.rows.flatMap((row) =>
    row.submissions.flatMap((submission) => [
      ...lateSuccess(books, row, submission),
      ...otherCost(row, submission),
    ]),
  );
}

type Submission = Row['submissions'][number];

/** A success that is delivered to nobody is in the books as such, and nothing else is. */
function lateSuccess(books: Books, row: Row, submission: Submission): Finding[] {
  if (row.completedAt === null) return [];
  const { id, provider, state, endedAs, lateSuccess: booked } = submission;
  const isDelivered = state === 'accepted' && row.successAt !== null;
  const expected = endedAs === 'succeeded' && !isDelivered;
  if (expected !== (booked !== null)) {
    const problem = `${id} ended as ${endedAs} at ${provider}, the success ${isDelivered ? 'was' : 'was not'} the generation's, and it ${booked === null ? 'is not' : 'is'} booked as late`;
    return [{ check: 'a late success is booked', generation: row.id, problem }];
  }
  return overlooked(books, row, submission);
}

/** Looked at after the end, when the provider was done for long: then its end was seen. */
function overlooked(
  books: Books,
  row: Row,
  { id, provider, providerJobId, endedAs, observedAt }: Submission,
): Finding[] {
  const job = books.jobsOf(row).find((one) => one.provider === provider && one.id === providerJobId);
  if (job?.status !== 'succeeded' || job.deleted || endedAs !== null || observedAt === null) return [];
  const prompt = promptText(row);
  if (observedAt.getTime() <= renderedBy(books, job, prompt)) return [];
  const told = faultFor(books.faults, { provider, prompt }, ({ kind }) =>
    /^(observe_|unknown_status$)/.test(kind),
  );
  if (told !== undefined) return [];
  const problem = `${id} was looked at last at ${observedAt.toISOString()}, ${provider} had finished ${job.id} by then, and its end is not in the books`;
  return [{ check: 'a late success is booked', generation: row.id, problem }];
}

/** For a video of four seconds from a text it is known what each provider tells of its cost. */
function otherCost(
  row: Row,
  { id, provider, endedAs, costAmount, costUnit, costFinal }: Submission,
): Finding[] {
  const { duration_seconds: seconds, image_url: image } = row.input as {
    readonly duration_seconds?: number;
    readonly image_url?: string;
  };
  const known = PROVIDER_ROWS.find(({ name }) => name === provider)?.cost;
  if (known === undefined || endedAs !== 'succeeded' || seconds !== SECONDS || image !== undefined) return [];
  const isRight =
    known.amount.test(costAmount?.toString() ?? '') && costUnit === known.unit && costFinal === known.final;
  if (isRight) return [];
  const problem = `${id} has ${costAmount?.toString() ?? 'no cost'} ${costUnit}, final ${costFinal}; ${provider} tells ${known.amount.source} ${known.unit}, final ${known.final}`;
  return [{ check: 'the books have the cost that was told', generation: row.id, problem }];
}
