import { describe, expect, it } from 'vitest';
import { resolveGeneration, settle } from '../../src/db/index.ts';
import {
  claimPass,
  markPass,
  matchListedJob,
  readPageOfRuns,
  wakeUnseenCallbacks,
} from '../../src/db/sweep.ts';
import { readSweepStates } from '../../src/db/states.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { accept, accepted, answer, create, newTenant, receive, send, storing } from './fixtures.ts';

const test = useDatabase();
const row = (id: string) => test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
const ALL = { after: null, limit: 1_000 };

/** What the guards refuse: planted as no code of ours could. */
async function unguarded(text: string, id: string): Promise<void> {
  const client = await test.connect();
  await client.query('SET session_replication_role = replica');
  await client.query(text, [id]);
}

/** A generation whose submit was never answered. */
async function unknown(): Promise<string> {
  const id = await create(test.db, await newTenant(test.db));
  await answer(test.db, id, await send(test.db, id), 'unknown');
  return id;
}

async function aged(id: string, seconds: number): Promise<void> {
  await test.sql(
    `UPDATE callback SET received_at = received_at - $2 * interval '1 second' WHERE submission_id = $1`,
    [submissionId(id, 1), seconds],
  );
  await test.sql(`UPDATE submission SET accepted_at = accepted_at - $2 * interval '1 second' WHERE id = $1`, [
    submissionId(id, 1),
    seconds,
  ]);
}

describe('the turn of a pass', () => {
  it('is given once within the interval, however many ask at a time', async () => {
    const turns = await Promise.all(Array.from({ length: 8 }, () => claimPass(test.db, 'one', 60_000)));
    expect(turns.filter((turn) => turn !== null)).toEqual([{ at: null, place: null }]);
    expect(await claimPass(test.db, 'one', 60_000)).toBeNull();
    expect(await claimPass(test.db, 'one', 0)).not.toBeNull();
  });

  it('is given in any case where no interval is asked for, also of a mark that lies ahead', async () => {
    await claimPass(test.db, 'ahead', 60_000);
    await test.sql(
      `UPDATE sweep_mark SET updated_at = clock_timestamp() + interval '1 hour' WHERE name = 'ahead'`,
    );
    expect(await claimPass(test.db, 'ahead', 0)).toEqual({ at: null, place: null });
  });

  it('brings what the last one kept; its time never goes back', async () => {
    await claimPass(test.db, 'two', 0);
    await markPass(test.db, 'two', { at: '2026-01-02T00:00:00.000Z', place: 'b' });
    await markPass(test.db, 'two', { at: '2026-01-01T00:00:00.000Z', place: null });
    expect(await claimPass(test.db, 'two', 0)).toEqual({ at: '2026-01-02T00:00:00.000Z', place: null });
  });
});

describe('callbacks that nobody has read', () => {
  const look = (over: object = {}) => wakeUnseenCallbacks(test.db, { ...ALL, olderThanMs: 10_000, ...over });
  const unseen = async (terminal: boolean, seconds = 60) => {
    const id = await accepted(test.db, await newTenant(test.db));
    await receive(test.db, { submissionId: submissionId(id, 1), terminal });
    await aged(id, seconds);
    await test.sql(`UPDATE generation SET wake_requested_at = NULL WHERE id = $1`, [id]);
    return id;
  };
  const woken = async (over: object = {}) => (await look(over)).runs.map(({ generationId }) => generationId);

  it('set the wake, once; not while one is outstanding, nor within the first seconds', async () => {
    const [old, young] = [await unseen(true), await unseen(true, 0)];
    expect(await woken()).toEqual([old]);
    expect((await row(old)).wakeRequestedAt).not.toBeNull();
    expect(await woken()).toEqual([]);
    expect((await row(young)).wakeRequestedAt).toBeNull();
  });

  it('not those that ask for nothing: progress, an earlier submission, an ended generation', async () => {
    const progress = await unseen(false);
    const ended = await unseen(true);
    const end = { generationId: ended, state: 'failed', errorCode: 'provider_failed' } as const;
    await resolveGeneration(test.db, { ...end, reason: 'test', actor: 'test' });
    const tenant = await newTenant(test.db);
    const earlier = await create(test.db, tenant);
    await answer(test.db, earlier, await send(test.db, earlier), 'refused');
    await receive(test.db, { submissionId: submissionId(earlier, 1), terminal: true });
    await send(test.db, earlier, { ordinal: 2, routeIndex: 1 });
    await accept(test.db, earlier, 'job-second', 2);
    await aged(earlier, 60);
    await test.sql(`UPDATE generation SET wake_requested_at = NULL WHERE id = $1`, [earlier]);
    const found = await woken();
    for (const id of [progress, ended, earlier]) expect(found).not.toContain(id);
  });

  it('the job of an unknown submission, which a callback named', async () => {
    const id = await unknown();
    await receive(test.db, { submissionId: submissionId(id, 1), jobId: 'named', terminal: false });
    await aged(id, 60);
    await test.sql(`UPDATE generation SET wake_requested_at = NULL WHERE id = $1`, [id]);
    expect(await woken()).toEqual([id]);
  });

  it('a row that somebody has locked is passed over, the others are woken', async () => {
    const [locked, free] = [await unseen(true), await unseen(true)];
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [locked]);
    try {
      expect(await woken()).toEqual([free]);
    } finally {
      await client.query('ROLLBACK');
    }
    expect(await woken()).toEqual([locked]);
  });

  it('a page of open rows at a time, then from the start again', async () => {
    const open = (
      await test.sql<{ id: string }>(`SELECT id FROM generation WHERE completed_at IS NULL ORDER BY id`)
    ).map(({ id }) => id);
    expect(open.length).toBeGreaterThanOrEqual(3);
    expect((await look({ limit: 2 })).place).toBe(open[1]);
    expect((await look({ after: open[1], limit: 2 })).place).toBe(open[3] ?? null);
    expect((await look({ after: open.at(-1), limit: 2 })).place).toBeNull();
  });
});

describe('the page of rows whose runs are asked for', () => {
  const page = async (over: object = {}) => {
    const found = await readPageOfRuns(test.db, { ...ALL, farMs: 60_000, unknown: false, ...over });
    return { place: found.place, ids: found.runs.map(({ generationId }) => generationId) };
  };
  const due = (id: string, seconds: number) =>
    test.sql(`UPDATE generation SET due_at = now() + $2 * interval '1 second' WHERE id = $1`, [id, seconds]);

  it('has open rows that are due late, in pages by id', async () => {
    await test.sql(`UPDATE generation SET due_at = now() WHERE completed_at IS NULL`);
    const tenant = await newTenant(test.db);
    const far = [
      await accepted(test.db, tenant),
      await accepted(test.db, tenant),
      await accepted(test.db, tenant),
    ];
    const near = await accepted(test.db, tenant);
    for (const id of far) await due(id, 600);
    await due(near, 30);
    const ids = far.toSorted();
    expect(await page()).toEqual({ place: null, ids });
    expect(await page({ limit: 2 })).toEqual({ place: ids[1], ids: ids.slice(0, 2) });
    expect(await page({ after: ids[1], limit: 2 })).toEqual({ place: null, ids: ids.slice(2) });
  });

  it('those with an unknown submission have one of their own; a plan that cannot be read is counted', async () => {
    const id = await unknown();
    await due(id, 600);
    expect(await page({ unknown: true })).toEqual({ place: null, ids: [id] });
    await unguarded(`UPDATE generation SET plan = plan - 'method' WHERE id = $1`, id);
    const { runs, unreadable } = await readPageOfRuns(test.db, { ...ALL, farMs: 0, unknown: true });
    expect({ runs, unreadable }).toEqual({ runs: [], unreadable: 1 });
  });
});

describe('a job of a provider’s list', () => {
  const listed = { provider: 'infro', credential: 'main', idempotencyKey: null, ours: true };
  const match = (jobId: string, id: string | null, over: object = {}) =>
    matchListedJob(test.db, {
      ...listed,
      jobId,
      submissionId: id === null ? null : submissionId(id, 1),
      ...over,
    });

  it('of a submission without a job is to be attached, by our token or our external id', async () => {
    const id = await unknown();
    const attach = { outcome: 'attach', submissionId: submissionId(id, 1) };
    expect(await match('listed-1', id)).toEqual(attach);
    const key = providerIdempotencyKey(submissionId(id, 1));
    expect(await match('listed-1', null, { idempotencyKey: key, ours: false })).toEqual(attach);
    expect(await match('listed-1', id, { provider: 'kling', ours: false })).toEqual({ outcome: 'foreign' });
  });

  it('of a submission that is being sent is left until its answer is there', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    expect(await match('listed-2', id)).toEqual({ outcome: 'sending' });
  });

  it('that we know is left; another job of the same submission is an orphan, told once', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await match(`job-${id}`, id)).toEqual({ outcome: 'known' });
    expect(await match('second', id)).toEqual({ outcome: 'orphan' });
    expect(await match('second', id)).toEqual({ outcome: 'known' });
    expect(await test.db.prisma.orphanJob.findMany({ where: { providerJobId: 'second' } })).toMatchObject([
      { submissionId: submissionId(id, 1), provider: 'infro', credential: 'main' },
    ]);
  });

  it('that is another submission’s job is no orphan of this one', async () => {
    const tenant = await newTenant(test.db);
    const [one, other] = [await accepted(test.db, tenant), await accepted(test.db, tenant)];
    expect(await match(`job-${other}`, one)).toEqual({ outcome: 'known' });
  });

  it('with our signature and without a row is a stray, told once; without a signature it is anybody’s', async () => {
    const gone = `gen_${'7'.repeat(26)}`;
    expect(await match('stray-1', gone)).toEqual({ outcome: 'stray' });
    expect(await match('stray-1', gone)).toEqual({ outcome: 'known' });
    expect(await match('stray-2', null, { idempotencyKey: 'theirs', ours: false })).toEqual({
      outcome: 'foreign',
    });
    expect(await test.db.prisma.strayJob.findMany()).toMatchObject([
      { providerJobId: 'stray-1', submissionId: submissionId(gone, 1), foundBy: 'list' },
    ]);
  });

  it('is no stray any more when its row is back', async () => {
    const id = await unknown();
    await test.sql(
      `INSERT INTO stray_job (provider, credential, provider_job_id, submission_id, found_by) VALUES ('infro', 'main', 'back', $1, 'list')`,
      [submissionId(id, 1)],
    );
    expect((await match('back', id)).outcome).toBe('attach');
    expect(await test.db.prisma.strayJob.count({ where: { providerJobId: 'back' } })).toBe(0);
  });
});

describe('how the open generations stand', () => {
  it('is told by stage, with the age of the oldest, and what is overdue', async () => {
    await test.sql(
      `UPDATE generation SET due_at = now() + interval '1 hour', sweep_count = 0, wake_requested_at = NULL WHERE completed_at IS NULL`,
    );
    const before = await readSweepStates(test.db, 5_000);
    const of = (states: typeof before, stage: string) =>
      states.stages.find((one) => one.stage === stage)?.count ?? 0;
    expect(before).toMatchObject({ backlog: 0, overdue: 0, stubborn: 0, overdueHolds: 0 });
    const tenant = await newTenant(test.db);
    const waiting = await accepted(test.db, tenant);
    const done = await accepted(test.db, tenant);
    await resolveGeneration(test.db, {
      generationId: done,
      state: 'failed',
      errorCode: 'no_output',
      reason: 'r',
      actor: 'a',
    });
    await unguarded(
      `UPDATE generation SET created_at = now() - interval '2 hours', due_at = now() - interval '2 minutes', sweep_count = 3 WHERE id = $1`,
      waiting,
    );
    await test.sql(`UPDATE generation SET due_at = now() - interval '30 seconds' WHERE id = $1`, [
      await storing(test.db, tenant),
    ]);
    const states = await readSweepStates(test.db, 5_000);
    expect(states).toMatchObject({ backlog: 2, overdue: 1, stubborn: 1, overdueHolds: 0 });
    expect(of(states, 'waiting')).toBe(of(before, 'waiting') + 1);
    expect(of(states, 'storing')).toBe(of(before, 'storing') + 1);
    expect(of(states, 'done')).toBe(0);
    const { oldestSeconds } = states.stages.find(({ stage }) => stage === 'waiting')!;
    expect(oldestSeconds).toBeGreaterThanOrEqual(7_200);
    expect(oldestSeconds).toBeLessThan(9_000);
  });

  it('a wake that nobody took is backlog; a hold past its time is told, unless an operator has it', async () => {
    const tenant = await newTenant(test.db);
    const before = await readSweepStates(test.db, 5_000);
    const id = await create(test.db, tenant, { deadlineSeconds: -400 });
    await test.sql(`UPDATE generation SET wake_requested_at = now() - interval '6 seconds' WHERE id = $1`, [
      id,
    ]);
    expect((await readSweepStates(test.db, 5_000)).backlog).toBe(before.backlog + 1);
    const { overdueHolds } = await readSweepStates(test.db, 5_000);
    expect(overdueHolds).toBe(before.overdueHolds + 1);
    await test.sql(`UPDATE generation SET stage = 'needs_operator', operator_reason = 'r' WHERE id = $1`, [
      id,
    ]);
    expect((await readSweepStates(test.db, 5_000)).overdueHolds).toBe(before.overdueHolds);
    // Its deadline is long past, so that the invariants are clean after the test.
    expect((await settle(test.db, id, { state: 'expired', errorCode: 'deadline_exceeded' })).outcome).toBe(
      'settled',
    );
  });
});
