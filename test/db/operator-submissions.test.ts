import { describe, expect, it } from 'vitest';
import {
  claimLateObservations,
  loadGeneration,
  readCredits,
  requestCancel,
  settle,
} from '../../src/db/index.ts';
import { attachJobByOperator, declareNotAccepted } from '../../src/db/operator-actions.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { balance, facts, submissionOf } from './facts.ts';
import { accept, answer, create, newTenant, receive, send } from './fixtures.ts';
import { makeRow } from './rows.ts';
import type { Row } from './rows.ts';

const test = useDatabase();
const UNKNOWN = `gen_${'0'.repeat(26)}`;
const by = (generationId: string) => ({ generationId, actor: 'cli:ann', reason: 'seen in the console' });
const attach = (id: string, jobId = `job-${id}`, ordinal: number | null = null) =>
  attachJobByOperator(test.db, {
    ...by(id),
    jobId,
    submission: ordinal === null ? null : submissionId(id, ordinal),
  });
const declare = (id: string, resubmit = false, ordinal: number | null = null) =>
  declareNotAccepted(test.db, {
    ...by(id),
    resubmit,
    submission: ordinal === null ? null : submissionId(id, ordinal),
  });
const load = (id: string) => loadGeneration(test.db, { generationId: id, dueInMs: 60_000 });
const made = async (row: Row, options: { flagged?: boolean; overdue?: boolean } = {}) =>
  (await makeRow(test.db, row, { flagged: false, overdue: false, ...options })).id;
const unknown = (options = {}) => made('unknown', options);
const actionsOf = (generationId: string) =>
  test.db.prisma.operatorAction.findMany({ where: { generationId }, orderBy: { id: 'asc' } });
const COST = { amount: '0.25', unit: 'USD' };

/** What is due now for the loop of late observations, of one generation. */
const lateOf = async (id: string) =>
  (await claimLateObservations(test.db, { limit: 100, leaseMs: 60_000, providers: ['infro'] })).filter(
    ({ submissionId: of }) => of.startsWith(`sub_${id.slice(4)}_`),
  );

describe('attach a job', () => {
  it('of an unknown submission: its run is woken and finds the job named; nothing is attached yet', async () => {
    const id = await unknown();
    for (let times = 0; times < 2; times += 1) {
      expect(await attach(id, 'job-x')).toMatchObject({
        outcome: 'done',
        effect: 'attaching',
        submission: submissionId(id, 1),
        jobId: 'job-x',
        stage: 'submission_unknown',
        wake: true,
      });
      expect((await load(id))?.hints).toEqual([{ jobId: 'job-x', terminal: true }]);
    }
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', providerJobId: null });
    expect(await actionsOf(id)).toMatchObject([
      { kind: 'attach_job', actor: 'cli:ann', detail: { jobId: 'job-x' } },
      { kind: 'attach_job' },
    ]);
    await accept(test.db, id, 'job-x');
    expect(await attach(id, 'job-x')).toMatchObject({ effect: 'attached', wake: false });
    expect(await actionsOf(id)).toHaveLength(2);
    expect(await attach(id, 'job-y')).toMatchObject({ outcome: 'refused', why: 'has_job', jobId: 'job-x' });
  });

  it('a second id takes the place of one that was wrong', async () => {
    const id = await unknown();
    for (const job of ['job-a', 'job-b', 'job-z']) await attach(id, job);
    expect((await load(id))?.hints).toEqual([{ jobId: 'job-z', terminal: true }]);
    expect((await load(id))?.hints).toEqual([{ jobId: 'job-z', terminal: true }]);
  });

  it('a send that nobody finished: only when its lease is over', async () => {
    const id = await made('sending');
    expect(await attach(id)).toMatchObject({ outcome: 'refused', why: 'sending' });
    await test.sql('UPDATE submission SET lease_until = clock_timestamp() WHERE generation_id = $1', [id]);
    expect(await attach(id)).toMatchObject({ effect: 'attaching' });
  });

  it('after the end it is attached late: the tenant sees nothing of it', async () => {
    const id = await unknown({ overdue: true });
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    const before = await facts(test.db, id);
    expect(await attach(id, 'job-l')).toMatchObject({
      effect: 'attaching_late',
      state: 'expired',
      wake: true,
    });
    expect((await load(id))?.hints).toEqual([{ jobId: 'job-l', terminal: true }]);
    expect(await lateOf(id)).toMatchObject([
      { handle: null, named: ['job-l'], request: { path: '/v1/jobs' } },
    ]);
    expect(await facts(test.db, id)).toEqual(before);
  });

  it.each<[Row, string]>([
    ['none', 'no_submission'],
    ['prepared', 'not_unknown'],
    ['sending', 'sending'],
    ['accepted', 'has_job'],
    ['stored', 'has_job'],
  ])('%s: refused, %s', async (row, why) => {
    const id = await made(row);
    expect(await attach(id, 'job-other')).toMatchObject({ outcome: 'refused', why });
    expect(await actionsOf(id)).toEqual([]);
  });

  it('a refused submission has no job', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'refused');
    expect(await attach(id, 'job-other')).toMatchObject({ outcome: 'refused', why: 'not_unknown' });
  });

  it.each(['', '.', '..', 'a b', 'ü', 'x'.repeat(256), 'a\nb'])('the id %j is refused', async (jobId) => {
    const id = await unknown();
    expect(await attach(id, jobId)).toMatchObject({ outcome: 'refused', why: 'job_malformed' });
  });

  it('a job that another submission has, also as an orphan, is refused with whose it is', async () => {
    const owner = await made('accepted');
    await accept(test.db, owner, 'job-orphan');
    const id = await unknown();
    for (const job of [`job-${owner}`, 'job-orphan']) {
      expect(await attach(id, job)).toMatchObject({ why: 'job_taken', jobId: job, generationId: owner });
    }
    expect(await attach(UNKNOWN)).toEqual({ outcome: 'not_found' });
    expect(await attach(id, 'job-x', 2)).toMatchObject({ why: 'no_submission' });
  });
});

describe('declare not accepted', () => {
  it('ends it as failed, released; the submission is dead and its estimate taken back', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    await answer(test.db, id, await send(test.db, id, { estimatedCost: COST }), 'unknown');
    expect((await submissionOf(test.db, id)).costAmount).toBe('0.25');
    expect(await declare(id)).toMatchObject({
      outcome: 'done',
      effect: 'ended',
      state: 'failed',
      wake: true,
    });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'failed',
      error: 'provider_unavailable',
      hold: 'released',
      terminalEvents: 1,
    });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_000, 0, 0));
    const row = await submissionOf(test.db, id);
    expect(row).toMatchObject({ state: 'abandoned', problem: 'declared_not_accepted', costAmount: null });
    expect(row.lateDueAt!.getTime()).toBeGreaterThan(Date.now());
    expect(await actionsOf(id)).toMatchObject([{ kind: 'not_accepted', detail: { effect: 'ended' } }]);
    expect(await declare(id)).toMatchObject({ outcome: 'refused', why: 'already_terminal' });
  });

  it('with a cancel asked it ends as cancelled', async () => {
    const id = await unknown({ flagged: true });
    expect(await declare(id, true)).toMatchObject({ outcome: 'refused', why: 'cancel_requested' });
    expect(await declare(id)).toMatchObject({ effect: 'ended', state: 'cancelled' });
    expect(await facts(test.db, id)).toMatchObject({ cancel: 'confirmed', error: null, hold: 'released' });
  });

  it('resubmit: queued again with its hold, and a new submission goes out once', async () => {
    const id = await unknown();
    for (let times = 0; times < 2; times += 1) {
      expect(await declare(id, true)).toMatchObject({
        effect: 'resubmitting',
        state: 'running',
        stage: 'queued',
        wake: true,
      });
    }
    expect(await actionsOf(id)).toHaveLength(1);
    expect(await load(id)).toMatchObject({
      submission: { state: 'abandoned', everUnknown: true, ordinal: 1 },
    });
    await send(test.db, id, { ordinal: 2 });
    const [first, second] = [await submissionOf(test.db, id), await submissionOf(test.db, id, 2)];
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
    expect(await declare(id, true)).toMatchObject({ outcome: 'refused', why: 'sending' });
    await accept(test.db, id, `job-2-${id}`, 2);
    expect(await declare(id, true)).toMatchObject({
      outcome: 'refused',
      why: 'has_job',
      jobId: `job-2-${id}`,
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'running', hold: 'held', stage: 'waiting' });
  });

  it('resubmit, then a cancel before it is sent: settled there and then', async () => {
    const id = await unknown();
    await declare(id, true);
    expect(
      await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' }),
    ).toMatchObject({
      outcome: 'cancelled',
    });
  });

  it('resubmit needs time until the deadline', async () => {
    const id = await unknown({ overdue: true });
    expect(await declare(id, true)).toMatchObject({ outcome: 'refused', why: 'no_time' });
    expect(await declare(id)).toMatchObject({ effect: 'ended', state: 'failed' });
  });

  it('never while a send may still bring an answer, nor past a callback that has just named a job', async () => {
    const sending = await made('sending');
    for (const resubmit of [false, true]) {
      expect(await declare(sending, resubmit)).toMatchObject({ outcome: 'refused', why: 'sending' });
    }
    await test.sql('UPDATE submission SET lease_until = clock_timestamp() WHERE generation_id = $1', [
      sending,
    ]);
    expect(await declare(sending, true)).toMatchObject({ effect: 'resubmitting' });
    expect(await load(sending)).toMatchObject({ submission: { state: 'abandoned', everUnknown: true } });
    const named = await unknown();
    await receive(test.db, { submissionId: submissionId(named, 1), jobId: 'job-n' });
    for (const resubmit of [false, true]) {
      expect(await declare(named, resubmit)).toMatchObject({ why: 'job_named', jobId: 'job-n' });
    }
    // Its run has read that, and asks the provider at this moment.
    await load(named);
    expect(await declare(named, true)).toMatchObject({ why: 'job_named', jobId: 'job-n' });
    await test.sql(
      `UPDATE callback SET seen_at = clock_timestamp() - interval '61 seconds' WHERE submission_id = $1`,
      [submissionId(named, 1)],
    );
    expect(await declare(named)).toMatchObject({ effect: 'ended' });
  });

  it.each<[Row, string]>([
    ['none', 'no_submission'],
    ['prepared', 'not_unknown'],
    ['accepted', 'has_job'],
    ['storing', 'has_job'],
  ])('%s: refused, %s', async (row, why) => {
    const id = await made(row);
    expect(await declare(id, true)).toMatchObject({ outcome: 'refused', why });
    expect(await actionsOf(id)).toEqual([]);
  });
});
