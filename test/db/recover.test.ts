import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimSubmission, parkGeneration, readCredits, settle } from '../../src/db/index.ts';
import { newestGeneration, recordStrayJob, recoverGeneration } from '../../src/db/recover.ts';
import type { RecoveredSubmission } from '../../src/db/recover.ts';
import { newId } from '../../src/domain/ids.ts';
import { useDatabase } from './database.ts';
import { balance, facts, generationOf, submissionOf } from './facts.ts';
import {
  accept,
  accepted,
  answer,
  claimOf,
  create,
  newTenant,
  observe,
  planFor,
  PRICE,
  send,
  store,
  storing,
} from './fixtures.ts';

const test = useDatabase();
const RESTORED = new Date('2026-01-01T12:00:00.000Z');
const ESTIMATE = { amount: '0.25', unit: 'USD' };

/** As the run would have made it. */
function made(id: string, over: Partial<RecoveredSubmission> & { readonly ordinal?: number } = {}) {
  const claim = claimOf(id, { ordinal: over.ordinal ?? 1 });
  const { routeIndex, submissionId, provider, credential, idempotencyKey, request, callbackBase } = claim;
  return {
    ordinal: claim.ordinal,
    routeIndex,
    submissionId,
    provider,
    credential,
    idempotencyKey,
    request,
    callbackBase,
    callbackKeyId: claim.callbackKeyId,
    estimatedCost: ESTIMATE,
    ...over,
  };
}

const recover = (id: string, submission: RecoveredSubmission | null = null, restoredAt = RESTORED) =>
  recoverGeneration(test.db, {
    generationId: id,
    restoredAt,
    submission,
    actor: 'cli:ann',
    reason: 'restored from the dump of noon',
  });
const actionsOf = (id: string) => test.db.prisma.operatorAction.findMany({ where: { generationId: id } });
const started = async () => create(test.db, await newTenant(test.db));

describe('recover_generation: every state of the submission', () => {
  it('none: an unknown one with this id, key and bytes, sent at the restore point; its cost counts', async () => {
    const id = await started();
    const submission = made(id);
    expect(await recover(id, submission)).toEqual({
      outcome: 'unknown',
      submissionId: submission.submissionId,
      was: 'none',
    });
    expect(await submissionOf(test.db, id)).toMatchObject({
      id: submission.submissionId,
      state: 'unknown',
      idempotencyKey: submission.idempotencyKey,
      request: submission.request,
      callbackBase: submission.callbackBase,
      firstSentAt: RESTORED,
      problem: 'restored',
      fence: 1,
      costAmount: '0.25',
      costSource: 'catalogue',
    });
    expect(await facts(test.db, id)).toMatchObject({
      state: 'running',
      stage: 'submission_unknown',
      hold: 'held',
    });
    expect((await generationOf(test.db, id)).dueAt!.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await actionsOf(id)).toMatchObject([
      {
        kind: 'recover',
        actor: 'cli:ann',
        reason: 'restored from the dump of noon',
        detail: { restoredAt: RESTORED.toISOString(), submissionId: submission.submissionId, was: 'none' },
      },
    ]);
  });

  it.each(['capacity', 'not_sent'] as const)(
    'prepared after %s: it may have been sent since',
    async (kind) => {
      const id = await started();
      await answer(test.db, id, await send(test.db, id), kind);
      const before = await submissionOf(test.db, id);
      expect(await recover(id)).toMatchObject({ outcome: 'unknown', was: 'prepared' });
      expect(await submissionOf(test.db, id)).toMatchObject({
        state: 'unknown',
        idempotencyKey: before.idempotencyKey,
        request: before.request,
        // The key's window began with its first send, where one is known.
        firstSentAt: kind === 'capacity' ? before.firstSentAt : RESTORED,
        fence: 2,
      });
      expect(await facts(test.db, id)).toMatchObject({ stage: 'submission_unknown' });
    },
  );

  it('sending: unknown, and the late answer of that attempt counts no more, but an acceptance does', async () => {
    const id = await started();
    const fence = await send(test.db, id);
    expect(await recover(id)).toMatchObject({ outcome: 'unknown', was: 'sending' });
    expect(await answer(test.db, id, fence, 'refused')).toMatchObject({ outcome: 'stale', state: 'unknown' });
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached', state: 'accepted' });
    expect(await facts(test.db, id)).toMatchObject({ stage: 'waiting' });
  });

  it('unknown: it stands as it was', async () => {
    const id = await started();
    await answer(test.db, id, await send(test.db, id), 'unknown');
    const before = await submissionOf(test.db, id);
    expect(await recover(id)).toMatchObject({ outcome: 'stands', state: 'unknown' });
    expect(await submissionOf(test.db, id)).toEqual(before);
    expect(await actionsOf(id)).toEqual([]);
  });

  it('accepted, and storing: nothing is done', async () => {
    const tenant = await newTenant(test.db);
    for (const id of [await accepted(test.db, tenant), await storing(test.db, tenant)]) {
      const before = await facts(test.db, id);
      expect(await recover(id)).toMatchObject({ outcome: 'stands', state: 'accepted' });
      expect(await recover(id, made(id, { ordinal: 2 }))).toMatchObject({ outcome: 'stands' });
      expect(await facts(test.db, id)).toEqual(before);
    }
  });

  it('refused, with a further route: unknown at the next ordinal', async () => {
    const id = await started();
    await answer(test.db, id, await send(test.db, id), 'refused');
    const next = made(id, { ordinal: 2, routeIndex: 1, provider: 'aigenway' });
    expect(await recover(id, next)).toMatchObject({ outcome: 'unknown', was: 'none' });
    expect(await submissionOf(test.db, id, 1)).toMatchObject({ state: 'refused' });
    expect(await submissionOf(test.db, id, 2)).toMatchObject({ state: 'unknown', routeIndex: 1 });
    expect((await generationOf(test.db, id)).provider).toBe('aigenway');
  });

  it('open at a place that its run had left: abandoned, unknown where it was last', async () => {
    const id = await started();
    await answer(test.db, id, await send(test.db, id), 'unknown');
    const later = made(id, { ordinal: 3, routeIndex: 1, provider: 'aigenway' });
    expect(await recover(id, later)).toMatchObject({ outcome: 'unknown', was: 'moved' });
    expect(await submissionOf(test.db, id, 1)).toMatchObject({ state: 'abandoned', problem: 'restored' });
    expect(await submissionOf(test.db, id, 3)).toMatchObject({ state: 'unknown', provider: 'aigenway' });
  });

  it('nothing open and nothing made, ended, or no such row: nothing is written', async () => {
    const id = await started();
    expect(await recover(id)).toEqual({ outcome: 'nothing_open' });
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_unavailable' });
    const before = await facts(test.db, id);
    expect(await recover(id, made(id))).toEqual({ outcome: 'terminal' });
    expect(await facts(test.db, id)).toEqual(before);
    expect(await recover(`gen_${'0'.repeat(26)}`)).toEqual({ outcome: 'not_found' });
    expect(await actionsOf(id)).toEqual([]);
  });

  it('one that needs an operator keeps its reason', async () => {
    const id = await started();
    await parkGeneration(test.db, { generationId: id, reason: 'unknown_provider', dueInMs: 3_600_000 });
    expect(await recover(id, made(id))).toMatchObject({ outcome: 'unknown' });
    expect(await generationOf(test.db, id)).toMatchObject({
      stage: 'needs_operator',
      operatorReason: 'unknown_provider',
    });
  });
});

describe('recover_generation', () => {
  it('twice changes nothing more; nor when a person has decided since', async () => {
    const id = await started();
    await recover(id, made(id));
    const [row, actions] = [await submissionOf(test.db, id), await actionsOf(id)];
    expect(await recover(id, made(id))).toMatchObject({ outcome: 'stands', state: 'unknown' });
    expect(await submissionOf(test.db, id)).toEqual(row);
    expect(await actionsOf(id)).toEqual(actions);
    // Declared not accepted, and sent again: that is known, and must not become unknown.
    await test.sql("UPDATE submission SET state = 'abandoned' WHERE generation_id = $1", [id]);
    await answer(test.db, id, await send(test.db, id, { ordinal: 2 }), 'capacity', 2);
    expect(await recover(id)).toEqual({ outcome: 'recovered_before' });
    expect(await submissionOf(test.db, id, 2)).toMatchObject({ state: 'prepared' });
    // A later restore is another one.
    expect(await recover(id, null, new Date(Date.now() - 1_000))).toMatchObject({ outcome: 'unknown' });
  });

  it('two at once: one of them does it', async () => {
    const id = await started();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => recover(id, made(id))));
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual([
      ...Array.from({ length: 7 }, () => 'stands'),
      'unknown',
    ]);
    expect(await actionsOf(id)).toHaveLength(1);
  });

  it('a provider that replays is asked again under the same key within its window, no other one', async () => {
    const recent = new Date(Date.now() - 60_000);
    const [id, late, none] = [await started(), await started(), await started()];
    await recover(id, made(id), recent);
    await recover(late, made(late));
    await recover(none, made(none), recent);
    const again = await claimSubmission(test.db, claimOf(id, { replay: true }));
    expect(again).toMatchObject({ outcome: 'send', fence: 2, idempotencyKey: made(id).idempotencyKey });
    // Nothing left: the window still counts from the restore point.
    await answer(test.db, id, 2, 'not_sent');
    expect(await submissionOf(test.db, id)).toMatchObject({ state: 'unknown', firstSentAt: recent });
    expect(await claimSubmission(test.db, claimOf(late, { replay: true }))).toEqual({ outcome: 'unknown' });
    expect(await claimSubmission(test.db, claimOf(none))).toEqual({ outcome: 'unknown' });
  });

  it('found again, it is captured once; never found, it ends unresolved, released', async () => {
    const tenant = await newTenant(test.db);
    const found = await create(test.db, tenant);
    const lost = await create(test.db, tenant, { deadlineSeconds: 1 });
    await recover(found, made(found));
    await recover(lost, made(lost));
    await accept(test.db, found);
    await observe(test.db, found, 'succeeded');
    await store(test.db, found);
    const ends = await Promise.all(
      Array.from({ length: 4 }, () => settle(test.db, found, { state: 'succeeded', errorCode: null })),
    );
    expect(ends.filter(({ outcome }) => outcome === 'settled')).toHaveLength(1);
    const overdue = (await generationOf(test.db, lost)).deadlineAt.getTime() - Date.now() + 20;
    await sleep(Math.max(overdue, 0));
    const proposal = { state: 'expired', errorCode: 'submission_unresolved' } as const;
    expect(await settle(test.db, lost, proposal)).toMatchObject({ outcome: 'settled' });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(1_000 - PRICE, 0, PRICE));
  });
});

describe('record_stray_job', () => {
  const job = { provider: 'infro', credential: 'main', submissionId: null, foundBy: 'history' } as const;

  it('once; and none that a row names', async () => {
    const jobId = 'stray-1';
    expect(await recordStrayJob(test.db, { ...job, jobId })).toBe(true);
    expect(await recordStrayJob(test.db, { ...job, jobId })).toBe(false);
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await recordStrayJob(test.db, { ...job, jobId: `job-${id}` })).toBe(false);
    await accept(test.db, id, 'second');
    expect(await recordStrayJob(test.db, { ...job, jobId: 'second' })).toBe(false);
    expect(await test.db.prisma.strayJob.findMany()).toMatchObject([
      { provider: 'infro', providerJobId: jobId, foundBy: 'history' },
    ]);
  });
});

describe('newestGeneration', () => {
  it('is the one that was created last', async () => {
    const tenant = await newTenant(test.db);
    await create(test.db, tenant, { plan: planFor() });
    const id = await create(test.db, tenant, { generationId: newId('gen', Date.now() + 60_000) });
    expect(await newestGeneration(test.db)).toMatchObject({ id });
  });
});
