import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimSubmission, requestCancel, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import {
  accept,
  accepted,
  answer,
  claimOf,
  create,
  newTenant,
  NO_RUNWAY,
  observe,
  send,
} from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const KINDS = ['refused', 'capacity', 'not_sent', 'unknown'] as const;

async function sending(leaseMs = 40_000): Promise<{ id: string; fence: number }> {
  const id = await create(test.db, await newTenant(test.db));
  return { id, fence: await send(test.db, id, { leaseMs }) };
}

describe('record_submission: what an answer proves', () => {
  it.each([
    ['refused', 'refused', 'queued', 'queued', 'provider_rejected'],
    ['capacity', 'prepared', 'queued', 'queued', null],
    ['not_sent', 'prepared', 'queued', 'queued', null],
    ['unknown', 'unknown', 'running', 'submission_unknown', null],
  ] as const)('%s leaves %s', async (kind, submissionState, state, stage, refusalCode) => {
    const { id, fence } = await sending();
    expect(await answer(test.db, id, fence, kind)).toEqual({
      outcome: 'recorded',
      terminal: false,
      cancelRequested: false,
      state: submissionState,
      terminalHint: false,
      circuitOpened: false,
    });
    expect(await facts(test.db, id)).toMatchObject({ state, stage, hold: 'held' });
    const row = await submissionOf(test.db, id);
    expect(row).toMatchObject({ leaseUntil: null, refusalCode, problem: `was_${kind}` });
    expect(row.firstSentAt === null).toBe(kind === 'not_sent');
  });

  it('accepted attaches the job, moves to waiting and running', async () => {
    const { id } = await sending();
    expect(await accept(test.db, id, 'job-a1')).toEqual({
      outcome: 'attached',
      terminal: false,
      cancelRequested: false,
      state: 'accepted',
      terminalHint: false,
      circuitOpened: false,
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'running', stage: 'waiting' });
    expect(await submissionOf(test.db, id)).toMatchObject({
      providerJobId: 'job-a1',
      handle: { jobId: 'job-a1' },
    });
    expect((await generationOf(test.db, id)).startedAt).not.toBeNull();
  });

  it('a record made twice is recorded once, the second is stale', async () => {
    const { id, fence } = await sending();
    const answers = await Promise.all(Array.from({ length: 8 }, () => answer(test.db, id, fence, 'unknown')));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ recorded: 1, stale: 7 });
  });

  it('an acceptance recorded by many at once is attached once, with one stage event', async () => {
    const { id } = await sending();
    const answers = await Promise.all(Array.from({ length: 10 }, () => accept(test.db, id)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ attached: 10 });
    expect((await facts(test.db, id)).events).toEqual(['created', 'stage', 'stage']);
  });

  it('says stale and ended for a submission that the database does not have', async () => {
    const nowhere = `gen_${'0'.repeat(26)}`;
    expect(await accept(test.db, nowhere)).toEqual({
      outcome: 'stale',
      terminal: true,
      cancelRequested: false,
      state: 'abandoned',
      terminalHint: false,
      circuitOpened: false,
    });
  });
});

describe('record_submission: the fence', () => {
  it.each(KINDS)('an old attempt that says %s is stale', async (kind) => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'capacity');
    const next = await send(test.db, id);
    expect(next).toBe(fence + 1);
    expect(await answer(test.db, id, fence, kind)).toMatchObject({ outcome: 'stale', state: 'sending' });
    expect(await answer(test.db, id, next, 'capacity')).toMatchObject({ outcome: 'recorded' });
  });

  it('a new attempt of a key that was sent before keeps the start of its window', async () => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'capacity');
    const { firstSentAt } = await submissionOf(test.db, id);
    await answer(test.db, id, await send(test.db, id), 'not_sent');
    expect((await submissionOf(test.db, id)).firstSentAt).toEqual(firstSentAt);
  });
});

describe('record_submission: unknown is sticky', () => {
  it.each(KINDS)('after unknown, a replay that says %s leaves unknown', async (kind) => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'unknown');
    const { unknownAt, firstSentAt } = await submissionOf(test.db, id);
    const again = await send(test.db, id, { replay: true });
    expect(await answer(test.db, id, again, kind)).toMatchObject({ outcome: 'recorded', state: 'unknown' });
    expect(await submissionOf(test.db, id)).toMatchObject({ unknownAt, firstSentAt, refusalCode: null });
    expect(await claimSubmission(test.db, claimOf(id, { ordinal: 2 }))).toEqual({ outcome: 'unknown' });
    expect(await facts(test.db, id)).toMatchObject({ stage: 'submission_unknown' });
  });

  it('is ended by an acceptance', async () => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'unknown');
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached', state: 'accepted' });
    expect(await facts(test.db, id)).toMatchObject({ stage: 'waiting' });
  });
});

describe('record_submission: a late acceptance attaches in any state', () => {
  it('sending, after its lease is over', async () => {
    const { id } = await sending(1);
    await sleep(10);
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached', state: 'accepted' });
  });

  it.each(['capacity', 'not_sent'] as const)('prepared after %s', async (kind) => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, kind);
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached', state: 'accepted' });
    expect(await claimSubmission(test.db, claimOf(id))).toEqual({ outcome: 'accepted' });
  });

  it('refused: the cost is known, the generation goes on with its next submission', async () => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'refused');
    await send(test.db, id, { ordinal: 2 });
    expect(await accept(test.db, id, 'job-late')).toMatchObject({
      outcome: 'attached_late',
      terminal: false,
      state: 'abandoned',
    });
    expect(await submissionOf(test.db, id)).toMatchObject({ providerJobId: 'job-late', refusalCode: null });
    expect(await facts(test.db, id)).toMatchObject({ state: 'queued', stage: 'submitting' });
    expect(await accept(test.db, id, 'job-two', 2)).toMatchObject({ outcome: 'attached', state: 'accepted' });
  });

  it('what an abandoned job does decides nothing for the generation', async () => {
    const { id, fence } = await sending();
    await answer(test.db, id, fence, 'refused');
    await send(test.db, id, { ordinal: 2 });
    await accept(test.db, id, 'job-old');
    const seen = await observe(test.db, id, 'succeeded', { outputCount: 1 });
    expect(seen).toMatchObject({ succeeded: false, attempts: [] });
    expect(await submissionOf(test.db, id)).toMatchObject({ endedAs: 'succeeded' });
    expect(await facts(test.db, id)).toMatchObject({ state: 'queued', stage: 'submitting' });
  });

  it.each(['cancelled', 'expired'] as const)('%s: nothing changes for the tenant', async (end) => {
    const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 0 });
    const fence = await send(test.db, id, { minimumRunwayMs: NO_RUNWAY });
    if (end === 'expired') {
      await answer(test.db, id, fence, 'unknown');
      await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    } else {
      await answer(test.db, id, fence, 'not_sent');
      await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    }
    const [before, row] = [await facts(test.db, id), await generationOf(test.db, id)];
    expect(before).toMatchObject({ state: end, hold: 'released', terminalEvents: 1 });
    expect(await accept(test.db, id)).toEqual({
      outcome: 'attached_late',
      terminal: true,
      cancelRequested: end === 'cancelled',
      state: 'abandoned',
      terminalHint: false,
      circuitOpened: false,
    });
    expect(await facts(test.db, id)).toEqual(before);
    expect(await generationOf(test.db, id)).toEqual(row);
    expect(await submissionOf(test.db, id)).toMatchObject({ providerJobId: `job-${id}` });
  });
});

describe('record_submission: jobs and submissions are one to one', () => {
  it('a second job of one submission is an orphan, once, and never replaces the first', async () => {
    const { id } = await sending();
    await accept(test.db, id, 'job-first');
    const seconds = await Promise.all(Array.from({ length: 5 }, () => accept(test.db, id, `orphan-${id}`)));
    expect(tally(seconds.map(({ outcome }) => outcome))).toEqual({ orphan: 5 });
    expect(await submissionOf(test.db, id)).toMatchObject({ providerJobId: 'job-first', state: 'accepted' });
    expect(
      await test.db.prisma.orphanJob.findMany({ where: { submissionId: submissionId(id, 1) } }),
    ).toMatchObject([{ provider: 'infro', credential: 'main', providerJobId: `orphan-${id}` }]);
  });

  it('two jobs that arrive at once: one is attached, the other an orphan', async () => {
    const { id } = await sending();
    const answers = await Promise.all([accept(test.db, id, `${id}-x`), accept(test.db, id, `${id}-y`)]);
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ attached: 1, orphan: 1 });
  });

  it('one job for two submissions: the second is told job_taken and keeps its state', async () => {
    const first = await accepted(test.db, await newTenant(test.db));
    const { id, fence } = await sending();
    expect(await accept(test.db, id, `job-${first}`)).toEqual({
      outcome: 'job_taken',
      terminal: false,
      cancelRequested: false,
      state: 'sending',
      terminalHint: false,
      circuitOpened: false,
    });
    expect(await answer(test.db, id, fence, 'unknown')).toMatchObject({ outcome: 'recorded' });
  });

  it('one job for two submissions at once: exactly one has it', async () => {
    const both = [await sending(), await sending()];
    const job = `shared-${both[0]!.id}`;
    const answers = await Promise.all(both.map(({ id }) => accept(test.db, id, job)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ attached: 1, job_taken: 1 });
  });

  it('the same job id at two credentials is two jobs', async () => {
    const first = await accepted(test.db, await newTenant(test.db));
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { credential: 'second' });
    expect(await accept(test.db, id, `job-${first}`)).toMatchObject({ outcome: 'attached' });
  });
});
