import { settle } from '../../src/db/index.ts';
import type { Db, Proposal, Settled } from '../../src/db/index.ts';
import { accept, answer, observe, store } from './fixtures.ts';

function read(db: Db, id: string) {
  return db.prisma.generation.findUniqueOrThrow({
    where: { id },
    include: { submissions: { orderBy: { ordinal: 'desc' }, take: 1 }, outputs: true },
  });
}
type Row = Awaited<ReturnType<typeof read>>;

/** One step of what a run would do, told by the rows. */
async function advance(db: Db, { id, successAt, submissions: [submission], outputs }: Row): Promise<void> {
  if (successAt !== null) {
    const open = outputs.filter(({ state }) => state === 'storing');
    await Promise.all(open.map(({ index, attempt }) => store(db, id, { index, attempt })));
  } else if (submission?.state === 'sending') {
    await answer(db, id, submission.fence, 'not_sent', submission.ordinal);
  } else if (submission?.state === 'unknown') {
    await accept(db, id, undefined, submission.ordinal);
  } else if (submission?.state === 'accepted' && submission.endedAt === null) {
    await observe(db, id, 'cancelled', { submissionId: submission.id });
  }
}

function propose({ successAt, cancelRequestedAt, outputs }: Row): Proposal {
  const has = (wanted: string) => outputs.some(({ state }) => state === wanted);
  if (successAt !== null) {
    if (has('stored') || has('storing')) return { state: 'succeeded', errorCode: null };
    return { state: 'failed', errorCode: has('invalid') ? 'output_invalid' : 'output_lost' };
  }
  return cancelRequestedAt === null
    ? { state: 'failed', errorCode: 'provider_failed' }
    : { state: 'cancelled', errorCode: null };
}

/** Brings any generation to its end as a run would, by the functions only, from whatever its rows say. */
export async function finish(db: Db, generationId: string): Promise<Settled> {
  for (let step = 0; step < 5; step += 1) {
    const row = await read(db, generationId);
    if (row.completedAt === null) await advance(db, row);
    const settled = await settle(db, generationId, propose(row));
    if (settled.outcome !== 'stale') return settled;
  }
  throw new Error(`Generation ${generationId} does not come to an end.`);
}
