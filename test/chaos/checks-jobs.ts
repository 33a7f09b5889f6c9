import { promptText, type Books, type Finding, type Job, type Row } from './open-books.ts';
import { lostAnswerOf } from './struck.ts';

const UNTAKEN = new Set(['refused', 'prepared', 'abandoned']);

/** Our submissions, against the simulators' journals. */
export async function checkJobs(books: Books): Promise<Finding[]> {
  const strays = await books.db.prisma.strayJob.findMany();
  const stray = new Set(strays.map(({ provider, providerJobId }) => `${provider} ${providerJobId}`));
  return [
    ...books.rows.flatMap((row) => [
      ...moreThanOne(row, books.jobsOf(row)),
      ...withoutJob(row, books.jobsOf(row)),
      ...ofRefused(row, books.jobsOf(row)),
      ...unknown(books, row, books.jobsOf(row), stray),
    ]),
    ...ofNobody(books),
  ];
}

/** A route is left only when it refused, so one prompt is one job at all providers together. */
function moreThanOne({ id, submissions }: Row, jobs: readonly Job[]): Finding[] {
  if (jobs.length <= 1) return [];
  const named = jobs.map(({ provider, id: jobId }) => `${provider} ${jobId}`).join(', ');
  const states = submissions.map(({ provider, state }) => `${provider} ${state}`).join(', ');
  const problem = `${jobs.length} jobs: ${named}; submissions: ${states}`;
  return [{ check: 'one job for one generation', generation: id, problem }];
}

/** What was sold was made: by the job that the row names, with this generation's own key, and it succeeded. */
function withoutJob({ id, state, submissions, hold }: Row, jobs: readonly Job[]): Finding[] {
  if (state !== 'succeeded' && (hold?.captured ?? 0n) === 0n) return [];
  const check = 'a success has its job';
  const submission = submissions.find((one) => one.state === 'accepted');
  const job = jobs.find(
    ({ provider, id: jobId }) => provider === submission?.provider && jobId === submission.providerJobId,
  );
  if (job === undefined || submission === undefined) {
    const named = submission?.providerJobId ?? 'no job';
    return [{ check, generation: id, problem: `its row names ${named}, the provider has none like it` }];
  }
  const { idempotency_key: key, external_id: externalId, status } = job;
  const strangers = [key, externalId].filter(
    (one) => one !== null && one !== submission.idempotencyKey && one !== submission.id,
  );
  if (strangers.length > 0) {
    return [{ check, generation: id, problem: `the job has the key ${strangers.join(', ')}` }];
  }
  return status === 'succeeded' ? [] : [{ check, generation: id, problem: `the job is ${status}` }];
}

function ofRefused({ id, submissions }: Row, jobs: readonly Job[]): Finding[] {
  return jobs.flatMap(({ provider, id: jobId }) => {
    const tries = submissions.filter((one) => one.provider === provider);
    // One that was attached after the end is abandoned too, and names its job.
    if (tries.some(({ state, providerJobId }) => providerJobId === jobId || !UNTAKEN.has(state))) return [];
    const states = tries.map(({ state }) => state).join(', ') || 'no submission';
    const problem = `${provider} has ${jobId}, we have ${states} there`;
    return [{ check: 'no job for what was not taken', generation: id, problem }];
  });
}

/** The promise's one gap: an answer was lost, and nothing told of the job before the deadline. */
function unknown(books: Books, row: Row, jobs: readonly Job[], stray: ReadonlySet<string>): Finding[] {
  const known = new Set(
    row.submissions.flatMap(({ provider, providerJobId, orphans }) => [
      `${provider} ${providerJobId}`,
      ...orphans.map((orphan) => `${orphan.provider} ${orphan.providerJobId}`),
    ]),
  );
  return jobs.flatMap(({ provider, id: jobId }) => {
    const name = `${provider} ${jobId}`;
    if (known.has(name) || stray.has(name)) return [];
    // A wish to cancel what nobody knows waits for its answer too, so nothing is cancelled so.
    const isTold = row.errorCode === 'submission_unresolved' || row.completedAt === null;
    const prompt = promptText(row);
    const tries = row.submissions.filter((one) => one.provider === provider);
    if (isTold && tries.some((one) => lostAnswerOf(books.faults, one, prompt, true) !== null)) return [];
    const states = tries.map((one) => `${one.state} (${one.problem ?? ''})`).join(', ');
    const problem = `nothing of ours names ${name}, and nothing explains it; it is ${row.state} ${row.errorCode ?? ''}, its submissions there: ${states}`;
    return [{ check: 'every job is known', generation: row.id, problem }];
  });
}

/** Jobs of prompts without a row; of refused calls they are found there. */
function ofNobody({ jobs, rows, world, jobsOf }: Books): Finding[] {
  const ofRows = new Set(rows.flatMap((row) => jobsOf(row)));
  const prompts = new Map(world.asked.map((asked) => [asked.prompt, asked]));
  return jobs
    .filter((job) => !ofRows.has(job) && prompts.get(job.prompt ?? '')?.status !== 402)
    .map(({ provider, id, prompt }) => ({
      check: 'every job is known',
      generation: null,
      problem: `${provider} has ${id}, of ${prompt === null ? 'nobody' : `"${prompt.slice(0, 60)}", without a row`}`,
    }));
}
