import { describe, expect, it } from 'vitest';
import { requestCancel, settle } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import { accept, accepted, answer, create, newTenant, observe, send } from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const outputsOf = (generationId: string) =>
  test.db.prisma.output.findMany({ where: { generationId }, orderBy: { index: 'asc' } });

describe('record_observation: the first success', () => {
  it('writes the rows of its outputs, leased to the caller, and the time to store', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await observe(test.db, id, 'succeeded', { outputCount: 3 })).toEqual({
      terminal: false,
      succeeded: true,
      attempts: [0, 1, 2].map((index) => ({ index, attempt: 1 })),
      cancelRequested: false,
    });
    const row = await generationOf(test.db, id);
    expect(row).toMatchObject({ state: 'running', stage: 'storing', progress: 1 });
    expect(row.storeUntil!.getTime() - row.successAt!.getTime()).toBe(86_400_000);
    for (const { state, leaseUntil } of await outputsOf(id)) {
      expect(state).toBe('storing');
      expect(leaseUntil!.getTime() - row.successAt!.getTime()).toBeGreaterThanOrEqual(15_000);
    }
    expect(await submissionOf(test.db, id)).toMatchObject({ endedAs: 'succeeded', finishedBy: 'poll' });
  });

  it.each([
    ['the link, when it dies earlier', 60_000, 60_000],
    ['storeFor, when the link lives longer', 90_000_000, 86_400_000],
    ['now, when the link is dead already', -5, 0],
  ])('stores until %s', async (_name, linkInMs, expectedMs) => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'succeeded', { linkInMs });
    const row = await generationOf(test.db, id);
    expect(row.storeUntil!.getTime() - row.successAt!.getTime()).toBe(expectedMs);
  });

  it('a second success changes nothing, not even with more outputs or a longer link', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'succeeded', { linkInMs: 60_000 });
    const [row, outputs] = [await generationOf(test.db, id), await outputsOf(id)];
    expect(await observe(test.db, id, 'succeeded', { outputCount: 4, linkInMs: 3_600_000 })).toMatchObject({
      succeeded: true,
      attempts: [],
    });
    const after = await generationOf(test.db, id);
    expect([after.successAt, after.storeUntil, after.eventSeq]).toEqual([
      row.successAt,
      row.storeUntil,
      row.eventSeq,
    ]);
    expect(await outputsOf(id)).toEqual(outputs);
  });

  it('of 10 concurrent successes one gets the leases', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    const seen = await Promise.all(
      Array.from({ length: 10 }, () => observe(test.db, id, 'succeeded', { outputCount: 2 })),
    );
    expect(tally(seen.map(({ attempts }) => String(attempts.length)))).toEqual({ '2': 1, '0': 9 });
    expect((await facts(test.db, id)).events).toEqual(['created', 'stage', 'stage', 'stage']);
  });

  it('ends the deadline: expired is stale from then on', async () => {
    const id = await accepted(test.db, await newTenant(test.db), { deadlineSeconds: 0 });
    await observe(test.db, id, 'succeeded');
    expect(await settle(test.db, id, { state: 'expired', errorCode: 'deadline_exceeded' })).toEqual({
      outcome: 'stale',
      state: 'running',
      errorCode: null,
      captured: 0,
    });
    expect(await facts(test.db, id)).toMatchObject({ stage: 'storing', hold: 'held' });
  });

  it('comes too late for a cancel that was asked before', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    expect(await observe(test.db, id, 'succeeded')).toMatchObject({ succeeded: true, cancelRequested: true });
    expect(await facts(test.db, id)).toMatchObject({ cancel: 'too_late', stage: 'storing' });
  });

  it('without an output that is still there has nothing to lease', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await observe(test.db, id, 'succeeded', { outputCount: 0 })).toMatchObject({
      succeeded: true,
      attempts: [],
    });
    expect(await settle(test.db, id, { state: 'failed', errorCode: 'output_lost' })).toMatchObject({
      outcome: 'settled',
    });
  });
});

describe('record_observation: before the end', () => {
  it('running moves progress forwards and the time of the next look', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'running', { progress: 0.4, dueInMs: 7_000 });
    await observe(test.db, id, 'running', { progress: 0.1 });
    const row = await generationOf(test.db, id);
    expect(row.progress).toBe(0.4);
    expect(await submissionOf(test.db, id)).toMatchObject({
      observeCount: 2,
      endedAt: null,
      providerStatus: 'running',
    });
  });

  it('unavailable says nothing about the job: no time of observation, only the problem', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'running');
    const before = await submissionOf(test.db, id);
    await observe(test.db, id, 'unavailable', { status: null, problem: 'http_503' });
    const after = await submissionOf(test.db, id);
    expect(after).toMatchObject({
      observedAt: before.observedAt,
      problem: 'http_503',
      endedAt: null,
      observeCount: 2,
    });
    await observe(test.db, id, 'running');
    expect(await submissionOf(test.db, id)).toMatchObject({ problem: null });
  });

  it('the first end of a job stays, with who found it; the cost may become final later', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'failed', {
      by: 'callback',
      cost: { amount: '0.10', unit: 'USD', final: false },
    });
    const first = await submissionOf(test.db, id);
    expect(first).toMatchObject({
      endedAs: 'failed',
      finishedBy: 'callback',
      costAmount: '0.1',
      costFinal: false,
    });
    await observe(test.db, id, 'cancelled', {
      by: 'poll',
      cost: { amount: '0.12', unit: 'USD', final: true },
    });
    expect(await submissionOf(test.db, id)).toMatchObject({
      endedAs: 'failed',
      endedAt: first.endedAt,
      finishedBy: 'callback',
      costAmount: '0.12',
      costUnit: 'USD',
      costFinal: true,
    });
  });

  it('not_found ends the job only where the caller knows that it has ended', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'not_found', { status: null });
    expect(await submissionOf(test.db, id)).toMatchObject({ endedAt: null });
    await observe(test.db, id, 'not_found', { status: null, ended: true });
    expect(await submissionOf(test.db, id)).toMatchObject({ endedAs: 'not_found' });
  });

  it('keeps the first time of the cancel call, and its outcome only where a cancel was asked', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'running', { cancelSent: true, cancelOutcome: 'confirmed' });
    const { cancelSentAt } = await submissionOf(test.db, id);
    expect(cancelSentAt).not.toBeNull();
    expect((await facts(test.db, id)).cancel).toBeNull();
    await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    await observe(test.db, id, 'running', { cancelSent: true, cancelOutcome: 'unsupported' });
    expect(await submissionOf(test.db, id)).toMatchObject({ cancelSentAt });
    expect((await facts(test.db, id)).cancel).toBe('unsupported');
  });
});

describe('record_observation: after the end', () => {
  it('a late success changes only the submission', async () => {
    const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 0 });
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    await accept(test.db, id);
    const [before, row] = [await facts(test.db, id), await generationOf(test.db, id)];
    const cost = { amount: '1.50', unit: 'USD', final: true };
    expect(await observe(test.db, id, 'succeeded', { cost })).toEqual({
      terminal: true,
      succeeded: false,
      attempts: [],
      cancelRequested: false,
    });
    expect([await facts(test.db, id), await generationOf(test.db, id)]).toEqual([before, row]);
    expect(await outputsOf(id)).toEqual([]);
    expect(await submissionOf(test.db, id)).toMatchObject({
      state: 'abandoned',
      endedAs: 'succeeded',
      costAmount: '1.5',
    });
  });
});
