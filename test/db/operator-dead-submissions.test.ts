import { describe, expect, it } from 'vitest';
import { claimLateObservations, postponeLateSearch } from '../../src/db/index.ts';
import { attachJobByOperator, declareNotAccepted } from '../../src/db/operator-actions.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import { accept, observe, receive, send } from './fixtures.ts';
import { makeRow } from './rows.ts';

const test = useDatabase();
const by = (generationId: string) => ({ generationId, actor: 'cli:ann', reason: 'not in the console' });
const attach = (id: string, jobId: string, ordinal: number) =>
  attachJobByOperator(test.db, { ...by(id), jobId, submission: submissionId(id, ordinal) });
const declare = (id: string, resubmit = false) =>
  declareNotAccepted(test.db, { ...by(id), resubmit, submission: null });
const unknown = async () => (await makeRow(test.db, 'unknown', { flagged: false, overdue: false })).id;
const COST = { amount: '0.25', unit: 'USD' };

/** What is due now for the loop of late observations, of one generation. */
const lateOf = async (id: string) =>
  (await claimLateObservations(test.db, { limit: 100, leaseMs: 60_000, providers: ['infro'] })).filter(
    ({ submissionId: of }) => of.startsWith(`sub_${id.slice(4)}_`),
  );

/** Past the guard of frozen rows. */
const moveDeadline = (id: string, days: string) =>
  test.db.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET LOCAL session_replication_role = replica');
    await tx.$executeRawUnsafe(
      `UPDATE generation SET deadline_at = clock_timestamp() ${days} * interval '1 day' WHERE id = '${id}'`,
    );
  });

describe('the job of a submission that was declared not accepted', () => {
  async function resubmitted(): Promise<string> {
    const id = await unknown();
    await test.sql(`SELECT book_cost(id, $2::jsonb, 'catalogue') FROM submission WHERE generation_id = $1`, [
      id,
      JSON.stringify(COST),
    ]);
    await declare(id, true);
    await send(test.db, id, { ordinal: 2 });
    await accept(test.db, id, `job-2-${id}`, 2);
    return id;
  }

  it('a late answer: attached to the dead one, looked at, never the generation’s', async () => {
    const id = await resubmitted();
    expect(await accept(test.db, id, `job-1-${id}`)).toMatchObject({
      outcome: 'attached_late',
      state: 'abandoned',
    });
    expect(await lateOf(id)).toMatchObject([
      { submissionId: submissionId(id, 1), handle: { jobId: `job-1-${id}` } },
    ]);
    await observe(test.db, id, 'succeeded', { cost: { ...COST, final: true } });
    expect(await facts(test.db, id)).toMatchObject({ state: 'running', stage: 'waiting' });
    expect(await submissionOf(test.db, id)).toMatchObject({
      state: 'abandoned',
      costAmount: '0.25',
      costFinal: true,
      endedAs: 'succeeded',
      lateDueAt: null,
    });
    expect(await test.db.prisma.lateSuccess.count({ where: { generationId: id } })).toBe(1);
  });

  it('a callback with its token: looked for by the late loop, while the other job goes on', async () => {
    const id = await resubmitted();
    const inbox = { submissionId: submissionId(id, 1), jobId: `job-1-${id}`, terminal: true };
    expect(await receive(test.db, inbox)).toMatchObject({ outcome: 'recorded' });
    expect(await lateOf(id)).toMatchObject([{ handle: null, named: [`job-1-${id}`] }]);
    expect(await submissionOf(test.db, id, 2)).toMatchObject({ state: 'accepted', terminalHintAt: null });
  });

  it('named by an operator: attached late, also while the generation runs', async () => {
    const id = await resubmitted();
    expect(await attach(id, `job-1-${id}`, 1)).toMatchObject({ effect: 'attaching_late', state: 'running' });
    expect(await lateOf(id)).toMatchObject([{ submissionId: submissionId(id, 1), named: [`job-1-${id}`] }]);
    expect(await attach(id, `job-2-${id}`, 1)).toMatchObject({ outcome: 'refused', why: 'job_taken' });
  });

  it('asked for again in a minute while the provider cannot be asked, for two days', async () => {
    const id = await resubmitted();
    const of = submissionId(id, 1);
    await attach(id, `job-1-${id}`, 1);
    expect(await postponeLateSearch(test.db, of, true)).toBe(true);
    const row = await submissionOf(test.db, id);
    const inMs = row.lateDueAt!.getTime() - Date.now();
    expect([row.lateCount, inMs > 0, inMs <= 60_001]).toEqual([0, true, true]);
    await moveDeadline(id, '- 3');
    expect(await postponeLateSearch(test.db, of, true)).toBe(false);
    await moveDeadline(id, '+ 1');
  });

  it('its estimate is booked again when the provider tells no cost', async () => {
    const id = await unknown();
    const { plan } = await generationOf(test.db, id);
    const [route] = (plan as { routes: { estimatedCost: { amount: string } | null }[] }).routes;
    await declare(id);
    await accept(test.db, id, `job-1-${id}`);
    expect((await submissionOf(test.db, id)).costAmount).toBe(route?.estimatedCost?.amount ?? null);
    expect(route?.estimatedCost).not.toBeNull();
  });
});
