import { describe, expect, it } from 'vitest';
import { claimLateObservations, postponeLateSearch, settle } from '../../src/db/index.ts';
import { attachJobByOperator, declareNotAccepted, observeByOperator } from '../../src/db/operator-actions.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { generationOf, submissionOf } from './facts.ts';
import { accept, answer, create, newTenant, observe, receive, send } from './fixtures.ts';
import { EXPIRED } from './money.ts';

const test = useDatabase();
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const UNRESOLVED = { state: 'expired', errorCode: 'submission_unresolved' } as const;
const by = (generationId: string) => ({ generationId, actor: 'cli:ann', reason: 'not in the console' });
const overdue = async () => create(test.db, await newTenant(test.db), { deadlineSeconds: 0 });

async function expired(): Promise<string> {
  const id = await overdue();
  await send(test.db, id);
  await accept(test.db, id);
  await settle(test.db, id, EXPIRED);
  return id;
}

async function unresolved(): Promise<string> {
  const id = await overdue();
  await answer(test.db, id, await send(test.db, id), 'unknown');
  await settle(test.db, id, UNRESOLVED);
  return id;
}

/** As if it had ended so long ago, and nobody had looked since. */
const endedAgo = (id: string, hours: number) =>
  test.db.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET LOCAL session_replication_role = replica');
    await tx.$executeRawUnsafe(
      `UPDATE generation SET completed_at = completed_at - ${hours} * interval '1 hour' WHERE id = '${id}'`,
    );
    await tx.$executeRawUnsafe(
      `UPDATE submission SET late_due_at = late_due_at - ${hours} * interval '1 hour' WHERE generation_id = '${id}'`,
    );
  });
const dueNow = async (id: string) =>
  (await claimLateObservations(test.db, { limit: 100, leaseMs: 60_000, providers: ['infro'] })).filter(
    ({ submissionId: of }) => of.startsWith(`sub_${id.slice(4)}_`),
  );
/** From the last look to the next one. */
async function spacingMs(id: string): Promise<number | null> {
  const { observedAt, lateDueAt } = await submissionOf(test.db, id);
  return lateDueAt === null ? null : lateDueAt.getTime() - observedAt!.getTime();
}
/** By the database's clock. */
async function nowMs(): Promise<number> {
  const [row] = await test.sql<{ now: Date }>('SELECT clock_timestamp() AS now');
  return row!.now.getTime();
}
async function sinceEndMs(id: string): Promise<number> {
  const { lateDueAt } = await submissionOf(test.db, id);
  return lateDueAt!.getTime() - (await generationOf(test.db, id)).completedAt!.getTime();
}

describe('the next look', () => {
  it('comes at its time after the end where that is later', async () => {
    const id = await expired();
    expect(await sinceEndMs(id)).toBe(HOUR_MS);
    await observe(test.db, id, 'running');
    expect(await sinceEndMs(id)).toBe(6 * HOUR_MS);
  });

  it('comes ten minutes after the one before where no worker was up for a day', async () => {
    const id = await expired();
    await endedAgo(id, 25);
    for (const expected of [10 * MINUTE_MS, 10 * MINUTE_MS, null]) {
      await observe(test.db, id, 'running');
      expect(await spacingMs(id)).toBe(expected);
    }
  });

  it('comes ten minutes after one that an operator asked for shortly before the first', async () => {
    const id = await expired();
    await endedAgo(id, 0.95);
    await observeByOperator(test.db, by(id));
    await observe(test.db, id, 'running');
    expect(await submissionOf(test.db, id)).toMatchObject({ lateCount: 0 });
    expect(await spacingMs(id)).toBe(10 * MINUTE_MS);
  });

  it('so for a job that is searched for', async () => {
    const id = await unresolved();
    await endedAgo(id, 25);
    const from = await nowMs();
    expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(true);
    const until = await nowMs();
    const searchedMs = (await submissionOf(test.db, id)).lateDueAt!.getTime() - 10 * MINUTE_MS;
    expect(searchedMs).toBeGreaterThanOrEqual(from - 1);
    expect(searchedMs).toBeLessThanOrEqual(until + 1);
  });

  it('a job that became known after the last search has all its looks', async () => {
    const id = await unresolved();
    await endedAgo(id, 25);
    for (let searches = 0; searches < 3; searches += 1)
      await postponeLateSearch(test.db, submissionId(id, 1));
    expect(await dueNow(id)).toEqual([]);
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached_late' });
    expect(await dueNow(id)).toMatchObject([{ handle: { jobId: `job-${id}` } }]);
    for (const expected of [10 * MINUTE_MS, 10 * MINUTE_MS, null]) {
      await observe(test.db, id, 'running');
      expect(await spacingMs(id)).toBe(expected);
    }
  });
});

describe('callbacks before a planned look', () => {
  const receiveEnd = (id: string, eventKey: string) =>
    receive(test.db, { submissionId: submissionId(id, 1), jobId: `job-${id}`, terminal: true, eventKey });

  it('each that tells an end brings a look of its own; those planned still come, and a repeat brings none', async () => {
    const id = await expired();
    for (const hours of [1, 6, 24]) {
      for (const nth of ['one', 'two', 'three']) {
        await receiveEnd(id, `${nth} before ${hours} h`);
        expect(await dueNow(id)).toHaveLength(1);
        await observe(test.db, id, 'running');
        expect(await sinceEndMs(id)).toBe(hours * HOUR_MS);
        expect(await receiveEnd(id, `${nth} before ${hours} h`)).toMatchObject({ outcome: 'duplicate' });
        expect(await sinceEndMs(id)).toBe(hours * HOUR_MS);
      }
      await observe(test.db, id, 'running');
    }
    expect((await submissionOf(test.db, id)).lateDueAt).toBeNull();
  });

  it('so each that names a job which is not there', async () => {
    const id = await unresolved();
    for (const jobId of ['stray-1', 'stray-2', 'stray-3']) {
      await receive(test.db, { submissionId: submissionId(id, 1), jobId });
      expect(await dueNow(id)).toHaveLength(1);
      expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(true);
      expect(await sinceEndMs(id)).toBe(HOUR_MS);
    }
  });

  it('past the most that are kept, a look counts as a planned one', async () => {
    const id = await expired();
    await test.sql('UPDATE submission SET callback_count = 100 WHERE generation_id = $1', [id]);
    expect(await receiveEnd(id, 'one too many')).toMatchObject({ outcome: 'capped' });
    await observe(test.db, id, 'running');
    expect(await sinceEndMs(id)).toBe(6 * HOUR_MS);
  });
});

describe('a terminal callback after the last look', () => {
  it('brings one more, which books cost and late success; a repeat of it brings none', async () => {
    const id = await expired();
    for (let looks = 0; looks < 3; looks += 1) await observe(test.db, id, 'running');
    expect((await submissionOf(test.db, id)).lateDueAt).toBeNull();
    const told = {
      submissionId: submissionId(id, 1),
      jobId: `job-${id}`,
      terminal: true,
      eventKey: 'the end',
    };
    expect(await receive(test.db, told)).toMatchObject({ outcome: 'recorded' });
    expect(await dueNow(id)).toHaveLength(1);
    await observe(test.db, id, 'running');
    expect(await receive(test.db, told)).toMatchObject({ outcome: 'duplicate' });
    expect(await dueNow(id)).toEqual([]);

    await receive(test.db, { ...told, eventKey: 'the end again' });
    expect(await dueNow(id)).toHaveLength(1);
    await observe(test.db, id, 'succeeded', { cost: { amount: '0.25', unit: 'USD', final: true } });
    expect(await submissionOf(test.db, id)).toMatchObject({ costAmount: '0.25', lateDueAt: null });
    expect(await test.db.prisma.lateSuccess.count({ where: { generationId: id } })).toBe(1);
    await receive(test.db, { ...told, eventKey: 'and again' });
    expect(await dueNow(id)).toEqual([]);
  });
});

describe('one that was declared not accepted and sent again', () => {
  /** Its second job has ended; the first was searched for once while it ran. */
  async function resubmitted(): Promise<string> {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await declareNotAccepted(test.db, { ...by(id), resubmit: true, submission: null });
    await send(test.db, id, { ordinal: 2 });
    await accept(test.db, id, `job-2-${id}`, 2);
    expect(await postponeLateSearch(test.db, submissionId(id, 1))).toBe(false);
    return id;
  }
  async function end(id: string): Promise<void> {
    await observe(test.db, id, 'failed', { submissionId: submissionId(id, 2) });
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
  }

  it('is searched for at each time after the end', async () => {
    const id = await resubmitted();
    await end(id);
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'abandoned', lateCount: 0 });
    for (const hours of [1, 6, 24]) {
      expect(await sinceEndMs(id)).toBe(hours * HOUR_MS);
      await postponeLateSearch(test.db, submissionId(id, 1));
    }
    expect((await submissionOf(test.db, id)).lateDueAt).toBeNull();
    expect(await submissionOf(test.db, id, 2)).toMatchObject({ endedAs: 'failed', lateDueAt: null });
  });

  it('the end puts off no search for a job that was named', async () => {
    const id = await resubmitted();
    const named = { ...by(id), jobId: `job-1-${id}`, submission: submissionId(id, 1) };
    expect(await attachJobByOperator(test.db, named)).toMatchObject({ effect: 'attaching_late' });
    await end(id);
    expect(await dueNow(id)).toMatchObject([{ named: [`job-1-${id}`] }]);
  });
});
