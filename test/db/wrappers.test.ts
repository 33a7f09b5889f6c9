import { describe, expect, it } from 'vitest';
import {
  findRunFacts,
  grantCredits,
  listAccountEntries,
  readCredits,
  refundGeneration,
  requestCancel,
  resolveGeneration,
  settle,
} from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { useDatabase } from './database.ts';
import { accepted, create, newTenant, sold, store, storing } from './fixtures.ts';
import { captured, delivered, FAILED, SUCCEEDED } from './money.ts';
import { makeRow } from './rows.ts';

/** Every answer of the money functions, whole: `npm run stryker` holds the wrappers against this file. */
const test = useDatabase();
const UNKNOWN = `gen_${'0'.repeat(26)}`;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const by = { reason: 'contract', actor: 'ops' };
const runOf = async (generationId: string) => (await findRunFacts(test.db, generationId))!.run;

describe('grantCredits', () => {
  it('granted, duplicate, key_reuse, too_large, unknown_tenant', async () => {
    const tenant = await newTenant(test.db, 0);
    const grant = {
      tenantId: tenant.id,
      account: 'user-1',
      accountId: newId('acc'),
      credits: 5,
      businessKey: 'k',
      ...by,
    };
    const told = {
      accountId: grant.accountId,
      transactionId: expect.stringMatching(/^\d+$/) as string,
      createdAt: expect.stringMatching(ISO) as string,
    };
    expect(await grantCredits(test.db, grant)).toEqual({ outcome: 'granted', ...told });
    expect(await grantCredits(test.db, grant)).toEqual({ outcome: 'duplicate', ...told });
    expect(await grantCredits(test.db, { ...grant, credits: 6 })).toEqual({ outcome: 'key_reuse' });
    const huge = { ...grant, businessKey: 'k2', credits: Number.MAX_SAFE_INTEGER };
    expect(await grantCredits(test.db, huge)).toEqual({ outcome: 'too_large' });
    const nobody = { ...grant, tenantId: `ten_${'0'.repeat(26)}` };
    expect(await grantCredits(test.db, nobody)).toEqual({ outcome: 'unknown_tenant' });
  });
});

describe('refundGeneration', () => {
  it('refunded, duplicate, reason_used, too_much, not_captured, not_found', async () => {
    const tenant = await newTenant(test.db);
    const generationId = await captured(test.db, tenant);
    const refund = { generationId, credits: 30, note: null, ...by };
    expect(await refundGeneration(test.db, refund)).toEqual({
      outcome: 'refunded',
      credits: 30,
      refunded: 30,
    });
    expect(await refundGeneration(test.db, refund)).toEqual({
      outcome: 'duplicate',
      credits: 30,
      refunded: 30,
    });
    expect(await refundGeneration(test.db, { ...refund, credits: 31 })).toEqual({
      outcome: 'reason_used',
      credits: 30,
      refunded: 30,
    });
    const more = { ...refund, reason: 'other' };
    expect(await refundGeneration(test.db, { ...more, credits: 71 })).toEqual({
      outcome: 'too_much',
      refundable: 70,
    });
    expect(await refundGeneration(test.db, { ...more, credits: null })).toEqual({
      outcome: 'refunded',
      credits: 70,
      refunded: 100,
    });
    const open = { ...refund, generationId: await create(test.db, tenant) };
    expect(await refundGeneration(test.db, open)).toEqual({ outcome: 'not_captured' });
    expect(await refundGeneration(test.db, { ...refund, generationId: UNKNOWN })).toEqual({
      outcome: 'not_found',
    });
  });
});

describe('readCredits and listAccountEntries', () => {
  it('the balance, and every kind of entry, page by page', async () => {
    const tenant = await newTenant(test.db, 1_000);
    const generationId = await storing(test.db, tenant, 2, 60);
    await store(test.db, generationId, { index: 0 });
    await test.sql(
      `UPDATE output SET state = 'lost', lease_until = NULL WHERE generation_id = $1 AND index = 1`,
      [generationId],
    );
    await settle(test.db, generationId, SUCCEEDED);
    await refundGeneration(test.db, { generationId, credits: 10, note: null, ...by });
    await create(test.db, tenant, sold(1, 25));
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual({
      available: 925,
      held: 25,
      spent: 50,
      granted: 1_000,
    });
    expect(await readCredits(test.db, tenant.id, 'nobody')).toBeNull();
    const page = { tenantId: tenant.id, account: 'default', limit: 100, before: null };
    const all = (await listAccountEntries(test.db, page))!;
    expect(all.map(({ type, available, held }) => [type, available, held])).toEqual(
      expect.arrayContaining([
        ['capture', 0, -60],
        ['grant', 1_000, 0],
        ['hold', -120, 120],
        ['hold', -25, 25],
        ['refund', 10, 0],
        ['release', 60, -60],
      ]),
    );
    expect(all).toHaveLength(6);
    expect(all.find(({ type }) => type === 'refund')).toEqual({
      id: expect.stringMatching(/^refund_\d+$/) as string,
      type: 'refund',
      available: 10,
      held: 0,
      generationId,
      reason: 'contract',
      at: expect.stringMatching(ISO) as string,
    });
    expect(all.find(({ type }) => type === 'grant')).toMatchObject({ generationId: null, reason: 'test' });
    expect(await listAccountEntries(test.db, { ...page, limit: 2 })).toEqual(all.slice(0, 2));
    const { at, id } = all[1]!;
    expect(await listAccountEntries(test.db, { ...page, before: { at, id } })).toEqual(all.slice(2));
    expect(await listAccountEntries(test.db, { ...page, account: 'nobody' })).toBeNull();
  });
});

describe('settle', () => {
  it('settled, already, stale', async () => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant);
    expect(await settle(test.db, id, FAILED)).toEqual({
      outcome: 'stale',
      state: 'running',
      errorCode: null,
      captured: 0,
    });
    const succeeded = { state: 'succeeded', errorCode: null, captured: 100 };
    expect(await settle(test.db, id, SUCCEEDED)).toEqual({
      outcome: 'settled',
      ...succeeded,
      times: { provider: 'infro', sinceCallbackMs: null, sinceSuccessMs: expect.any(Number) as number },
    });
    expect(await settle(test.db, id, FAILED)).toEqual({ outcome: 'already', ...succeeded });
    expect(await settle(test.db, await create(test.db, tenant), FAILED)).toEqual({
      outcome: 'settled',
      state: 'failed',
      errorCode: 'provider_failed',
      captured: 0,
      times: null,
    });
  });
});

describe('requestCancel', () => {
  it('cancelled, already_terminal, requested, not_found', async () => {
    const tenant = await newTenant(test.db);
    const cancel = (generationId: string, tenantId: string | null = tenant.id) =>
      requestCancel(test.db, { generationId, tenantId, actor: tenantId === null ? 'operator' : 'tenant' });
    const unsent = await create(test.db, tenant);
    expect(await cancel(unsent)).toEqual({ outcome: 'cancelled', wake: true, run: await runOf(unsent) });
    expect(await cancel(unsent)).toEqual({ outcome: 'already_terminal', wake: false, run: null });
    const sent = await accepted(test.db, tenant);
    const requested = { outcome: 'requested', run: await runOf(sent) };
    expect(await cancel(sent, (await newTenant(test.db)).id)).toEqual({
      outcome: 'not_found',
      wake: false,
      run: null,
    });
    expect(await cancel(sent, null)).toEqual({ ...requested, wake: true });
    expect(await test.sql('SELECT cancel_requested_by AS by FROM generation WHERE id = $1', [sent])).toEqual([
      { by: 'operator' },
    ]);
    expect(await cancel(sent)).toEqual({ ...requested, wake: false });
  });
});

describe('resolveGeneration', () => {
  const end = (generationId: string, state: 'failed' | 'succeeded') =>
    resolveGeneration(test.db, {
      generationId,
      state,
      errorCode: state === 'failed' ? 'provider_rejected' : null,
      ...by,
    });
  const made = (row: Parameters<typeof makeRow>[1]) =>
    makeRow(test.db, row, { flagged: false, overdue: false });

  it('resolved, already_terminal, not_found', async () => {
    const lost = await made('accepted');
    const failed = { state: 'failed', errorCode: 'provider_rejected', captured: 0 };
    const run = await runOf(lost.id);
    expect(await end(lost.id, 'failed')).toEqual({ outcome: 'resolved', ...failed, run });
    expect(await end(lost.id, 'failed')).toEqual({ outcome: 'already_terminal', state: 'failed' });
    const stored = await made('stored');
    expect(await end(stored.id, 'succeeded')).toEqual({
      outcome: 'resolved',
      state: 'succeeded',
      errorCode: null,
      captured: 102,
      run: await runOf(stored.id),
    });
    expect(await end(UNKNOWN, 'failed')).toEqual({ outcome: 'not_found' });
  });

  it.each([
    ['sending', 'failed', 'sending'],
    ['storing', 'failed', 'downloading'],
    ['stored', 'failed', 'outputs_stored'],
    ['accepted', 'succeeded', 'no_output_stored'],
  ] as const)('%s cannot be called %s: %s', async (row, state, why) => {
    const { id } = await made(row);
    expect(await end(id, state)).toEqual({ outcome: 'not_possible', why });
  });
});
