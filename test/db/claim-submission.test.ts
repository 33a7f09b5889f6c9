import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimSubmission, requestCancel } from '../../src/db/index.ts';
import { providerIdempotencyKey, submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { facts, generationOf, submissionOf } from './facts.ts';
import { accept, accepted, answer, claimOf, create, newTenant, send } from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const REPLAY = { replay: true } as const;

async function unknown(over: { readonly deadlineSeconds?: number } = {}): Promise<string> {
  const id = await create(test.db, await newTenant(test.db), over);
  await answer(test.db, id, await send(test.db, id), 'unknown');
  return id;
}

describe('claim_submission: one sender', () => {
  it('gives the frozen request, the key and the first fence', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const claim = claimOf(id);
    expect(await claimSubmission(test.db, claim)).toEqual({
      outcome: 'send',
      fence: 1,
      request: claim.request,
      idempotencyKey: providerIdempotencyKey(submissionId(id, 1)),
      callbackBase: claim.callbackBase,
      callbackKeyId: 'k1',
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'queued', stage: 'submitting' });
    const submission = await submissionOf(test.db, id);
    expect((await generationOf(test.db, id)).dueAt).toEqual(submission.leaseUntil);
    expect(submission.leaseUntil!.getTime() - submission.firstSentAt!.getTime()).toBe(40_000);
  });

  it('of 12 concurrent claims one sends and the others wait for the lease', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const claims = await Promise.all(Array.from({ length: 12 }, () => claimSubmission(test.db, claimOf(id))));
    expect(tally(claims.map(({ outcome }) => outcome))).toEqual({ send: 1, leased: 11 });
    for (const claim of claims) {
      if (claim.outcome !== 'leased') continue;
      expect(claim.inMs).toBeGreaterThan(10_000);
      expect(claim.inMs).toBeLessThanOrEqual(40_000);
    }
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'sending', fence: 1 });
  });

  it('sends the bytes of the first claim again, whatever a later one brings', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'capacity');
    const other = { method: 'POST', path: '/v2', contentType: 'text/plain', body: 'other' } as const;
    const claimed = await claimSubmission(test.db, claimOf(id, { request: other, callbackBase: null }));
    expect(claimed).toMatchObject({
      outcome: 'send',
      fence: 2,
      request: claimOf(id).request,
      callbackBase: 'https://darkroom.example/callbacks',
    });
  });

  it('refuses an ordinal that is not the next one', async () => {
    const id = await create(test.db, await newTenant(test.db));
    expect(await claimSubmission(test.db, claimOf(id, { ordinal: 2 }))).toEqual({ outcome: 'stale' });
    const fence = await send(test.db, id);
    await answer(test.db, id, fence, 'capacity');
    expect(await claimSubmission(test.db, claimOf(id, { ordinal: 2 }))).toEqual({ outcome: 'stale' });
    await answer(test.db, id, await send(test.db, id), 'refused');
    expect(await claimSubmission(test.db, claimOf(id, { ordinal: 1 }))).toEqual({ outcome: 'stale' });
    expect(await send(test.db, id, { ordinal: 2, provider: 'other' })).toBe(1);
    expect((await generationOf(test.db, id)).provider).toBe('other');
  });

  it('does not send what is accepted, ended, cancelled or unknown to the database', async () => {
    const tenant = await newTenant(test.db);
    const done = await accepted(test.db, tenant);
    expect(await claimSubmission(test.db, claimOf(done))).toEqual({ outcome: 'accepted' });

    const cancelled = await create(test.db, tenant);
    await requestCancel(test.db, { generationId: cancelled, tenantId: null, actor: 'operator' });
    expect(await claimSubmission(test.db, claimOf(cancelled))).toEqual({ outcome: 'terminal' });
    expect(await claimSubmission(test.db, claimOf(`gen_${'0'.repeat(26)}`))).toEqual({ outcome: 'terminal' });

    const asked = await create(test.db, tenant);
    const fence = await send(test.db, asked);
    await requestCancel(test.db, { generationId: asked, tenantId: tenant.id, actor: 'tenant' });
    await answer(test.db, asked, fence, 'not_sent');
    expect(await claimSubmission(test.db, claimOf(asked))).toEqual({ outcome: 'cancel_requested' });
  });

  it('does not begin when less time is left than the job needs', async () => {
    const id = await create(test.db, await newTenant(test.db), { deadlineSeconds: 60 });
    expect(await claimSubmission(test.db, claimOf(id, { minimumRunwayMs: 60_001 }))).toEqual({
      outcome: 'no_time',
    });
    expect(await test.sql(`SELECT 1 FROM submission WHERE generation_id = $1`, [id])).toEqual([]);
    expect((await claimSubmission(test.db, claimOf(id, { minimumRunwayMs: 30_000 }))).outcome).toBe('send');
  });
});

describe('claim_submission: a lease that is over', () => {
  it('makes the submission unknown for ever where the provider offers no replay', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { leaseMs: 5 });
    await sleep(20);
    const { updatedAt } = await submissionOf(test.db, id);
    expect(await claimSubmission(test.db, claimOf(id))).toEqual({ outcome: 'unknown' });
    expect(await submissionOf(test.db, id)).toMatchObject({
      state: 'unknown',
      problem: 'lease_over',
      leaseUntil: null,
      // Still the time of the send, from which a lookup provider's *not found* counts.
      updatedAt,
    });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'running',
      stage: 'submission_unknown',
      hold: 'held',
    });
    expect(await claimSubmission(test.db, claimOf(id))).toEqual({ outcome: 'unknown' });
    expect(await claimSubmission(test.db, claimOf(id, { ordinal: 2 }))).toEqual({ outcome: 'unknown' });
  });

  it('gives the right to one of several when replay is offered, and voids the old fence', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const old = await send(test.db, id, { leaseMs: 5 });
    await sleep(20);
    const claims = await Promise.all(
      Array.from({ length: 6 }, () => claimSubmission(test.db, claimOf(id, REPLAY))),
    );
    expect(tally(claims.map(({ outcome }) => outcome))).toEqual({ send: 1, leased: 5 });
    expect(await answer(test.db, id, old, 'refused')).toMatchObject({ outcome: 'stale', state: 'sending' });
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'sending', fence: 2 });
  });
});

describe('claim_submission: unknown is sent again only as itself', () => {
  it('sends the same bytes with the same key while the window is open', async () => {
    const id = await unknown();
    const before = await submissionOf(test.db, id);
    const claimed = await claimSubmission(test.db, claimOf(id, REPLAY));
    expect(claimed).toMatchObject({ outcome: 'send', fence: 2, idempotencyKey: before.idempotencyKey });
    const after = await submissionOf(test.db, id);
    expect(after).toMatchObject({
      state: 'sending',
      firstSentAt: before.firstSentAt,
      unknownAt: before.unknownAt,
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'running', stage: 'submission_unknown' });
  });

  it.each([
    ['replay is not offered', {}],
    ['the provider is another one', { ...REPLAY, provider: 'other' }],
    ['the credential is another one', { ...REPLAY, credential: 'second' }],
    ['the window is over', { ...REPLAY, replayWindowMs: 0 }],
  ])('never when %s', async (_name, over) => {
    const id = await unknown();
    expect(await claimSubmission(test.db, claimOf(id, over))).toEqual({ outcome: 'unknown' });
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 1 });
  });

  it('never as a new submission', async () => {
    const id = await unknown();
    expect(await claimSubmission(test.db, claimOf(id, { ...REPLAY, ordinal: 2 }))).toEqual({
      outcome: 'stale',
    });
    expect(await test.sql(`SELECT id FROM submission WHERE generation_id = $1`, [id])).toHaveLength(1);
  });

  it('never past the deadline', async () => {
    const id = await unknown({ deadlineSeconds: 0 });
    expect(await claimSubmission(test.db, claimOf(id, REPLAY))).toEqual({ outcome: 'unknown' });
  });

  it('not when a cancel is asked: a find, a callback or the deadline tells, never a new send', async () => {
    const id = await unknown();
    await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    expect((await claimSubmission(test.db, claimOf(id, REPLAY))).outcome).toBe('unknown');
    await accept(test.db, id);
    expect(await facts(test.db, id)).toMatchObject({ stage: 'waiting', cancel: 'requested', hold: 'held' });
  });
});

describe('a second live submission', () => {
  it('is refused by the table itself', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    const insert = (state: string) =>
      test.sql(
        `INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, state, idempotency_key, request,
           unknown_at, created_at, updated_at)
         VALUES ($1, $2, 2, 0, 'infro', 'main', $3, $1, '{}', now(), now(), now())`,
        [submissionId(id, 2), id, state],
      );
    await expect(insert('prepared')).rejects.toThrow(/submission_one_live/);
    await expect(insert('unknown')).rejects.toThrow(/submission_one_live/);
    await expect(insert('abandoned')).resolves.toEqual([]);
  });
});

describe('claim_submission: sent again after it was asked for in vain', () => {
  it('by one of several who asked: what was asked before a later send proves nothing', async () => {
    const id = await unknown();
    const asked = claimOf(id, { ...REPLAY, afterFence: 1 });
    const claims = await Promise.all(Array.from({ length: 6 }, () => claimSubmission(test.db, asked)));
    expect(tally(claims.map(({ outcome }) => outcome))).toEqual({ send: 1, leased: 5 });
    await answer(test.db, id, 2, 'unknown');
    expect(await claimSubmission(test.db, asked)).toEqual({ outcome: 'unknown' });
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', fence: 2 });
    expect(await send(test.db, id, { ...REPLAY, afterFence: 2 })).toBe(3);
  });
});
