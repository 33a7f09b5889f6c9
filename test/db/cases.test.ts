import { describe, expect, it } from 'vitest';
import { claimSubmission, createGeneration, readCredits, requestCancel, settle } from '../../src/db/index.ts';
import { getGeneration } from '../../src/services/get-generation.ts';
import { useDatabase } from './database.ts';
import { balance, facts } from './facts.ts';
import { finish } from './finish.ts';
import {
  accepted,
  answer,
  claimOf,
  create,
  drop,
  newGeneration,
  newTenant,
  observe,
  planFor,
  PRICE,
  send,
  sold,
  store,
  storing,
} from './fixtures.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { parseKeyring } from '../../src/domain/keyring.ts';
import type { Tenant } from './fixtures.ts';
import { captured, EXPIRED, FAILED, failedAtProvider, ledgerOf, SUCCEEDED } from './money.ts';
import { makeRow, ROWS } from './rows.ts';

const test = useDatabase({ poolSize: 16 });
const links = createFileLinks(parseKeyring(`k1:${Buffer.alloc(32, 1).toString('base64')}`), null);
const credits = (tenant: Tenant) => readCredits(test.db, tenant.id, 'default');
const viewOf = async (tenant: Tenant, id: string) =>
  (await getGeneration({ db: test.db, links }, { tenantId: tenant.id, id }))!;

describe('A: submit', () => {
  it('A3 ids, key and bytes of a second attempt are those of the first: one hold, one submission', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const first = claimOf(id);
    await answer(test.db, id, await send(test.db, id), 'not_sent');
    expect(claimOf(id)).toEqual(first);
    const otherKey = { ...first, idempotencyKey: crypto.randomUUID() };
    expect(await claimSubmission(test.db, otherKey)).toMatchObject({
      outcome: 'send',
      idempotencyKey: first.idempotencyKey,
    });
    const rows = await test.db.prisma.submission.findMany({ where: { generationId: id } });
    expect(rows).toMatchObject([
      { id: first.submissionId, idempotencyKey: first.idempotencyKey, request: first.request, fence: 2 },
    ]);
    expect(await test.db.prisma.hold.count({ where: { generationId: id } })).toBe(1);
  });

  it.each([
    ['failed', FAILED],
    ['expired', EXPIRED],
  ] as const)(
    'T3 the key of a generation that %s gives that one back, never a second',
    async (_state, end) => {
      const tenant = await newTenant(test.db);
      const request = newGeneration(tenant, { deadlineSeconds: 0 });
      const created = await createGeneration(test.db, request);
      await settle(test.db, request.generationId, end);
      const again = await createGeneration(test.db, {
        ...request,
        generationId: newGeneration(tenant).generationId,
      });
      expect(again).toEqual({ ...created, outcome: 'replayed' });
      expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
    },
  );

  it('A2 a refusal for want of credits leaves the key free for a try after a top-up, five at once create one', async () => {
    const tenant = await newTenant(test.db, PRICE - 1);
    const request = newGeneration(tenant);
    expect(await createGeneration(test.db, request)).toMatchObject({ outcome: 'insufficient_credits' });
    const other = await newTenant(test.db, PRICE);
    const same = { ...request, tenantId: other.id };
    const answers = await Promise.all(Array.from({ length: 5 }, () => createGeneration(test.db, same)));
    expect(answers.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
    expect(await credits(other)).toEqual(balance(0, PRICE, 0));
    expect(await createGeneration(test.db, { ...same, requestSha256: 'cd'.repeat(32) })).toEqual({
      outcome: 'key_reuse',
    });
  });
});

describe('G: credits', () => {
  it('G3 T40 from every shape of the rows a run comes to an end that resolves the hold', async () => {
    for (const row of ROWS) {
      const { id, tenantId } = await makeRow(test.db, row, { flagged: false, overdue: false });
      await finish(test.db, id);
      const { hold, captured: spent } = await facts(test.db, id);
      expect(['captured', 'released'], row).toContain(hold);
      expect(await readCredits(test.db, tenantId, 'default'), row).toEqual(balance(1_000 - spent, 0, spent));
    }
    const stranded = await test.sql(
      `SELECT h.generation_id FROM hold h LEFT JOIN generation g ON g.id = h.generation_id
       WHERE h.state = 'held' AND (g.id IS NULL OR g.completed_at IS NOT NULL)`,
    );
    expect(stranded).toEqual([]);
  });

  it('T39 a failure releases, whoever finds it: callback, poll, submit, the deadline', async () => {
    const tenant = await newTenant(test.db);
    for (const by of ['callback', 'poll', 'submit'] as const) {
      const id = await accepted(test.db, tenant);
      await observe(test.db, id, 'failed', { by });
      expect(await settle(test.db, id, FAILED)).toMatchObject({ outcome: 'settled', captured: 0 });
    }
    const refused = await create(test.db, tenant);
    await answer(test.db, refused, await send(test.db, refused), 'refused');
    expect(await settle(test.db, refused, FAILED)).toMatchObject({ outcome: 'settled', captured: 0 });
    const silent = await accepted(test.db, tenant, { deadlineSeconds: 0 });
    expect(await settle(test.db, silent, EXPIRED)).toMatchObject({ outcome: 'settled', captured: 0 });
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it('T40 more outputs than were sold: the hold is the most that is charged', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant, sold(2, 40));
    await observe(test.db, id, 'succeeded', { outputCount: 5 });
    for (let index = 0; index < 5; index += 1) await store(test.db, id, { index });
    expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ captured: 80 });
    expect(await credits(tenant)).toEqual(balance(920, 0, 80));
  });

  it('G9 four outputs of 30 under a hold of 100: 100 at most, three are 90, and it is told what was released', async () => {
    const tenant = await newTenant(test.db);
    const plan = planFor(4, 30);
    const short = { plan, credits: 100 };
    for (const [stored, expected] of [
      [4, 100],
      [3, 90],
      [1, 30],
    ] as const) {
      const before = (await credits(tenant))!;
      const id = await accepted(test.db, tenant, short);
      await observe(test.db, id, 'succeeded', { outputCount: 4 });
      for (let index = 0; index < 4; index += 1)
        await (index < stored ? store(test.db, id, { index }) : drop(test.db, id, index, 'lost'));
      expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ captured: expected });
      expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ outcome: 'already', captured: expected });
      const { state, delivery, credits: shown } = await viewOf(tenant, id);
      expect({ state, delivery, shown }).toEqual({
        state: 'succeeded',
        delivery: stored === 4 ? 'stored' : 'partial',
        shown: { held: 0, captured: expected, released: 100 - expected, refunded: 0 },
      });
      expect((await credits(tenant))!.spent).toBe(before.spent + expected);
    }
  });

  it('G9 a plan of version 0.1 has the total only: a part is its share, rounded down', async () => {
    const tenant = await newTenant(test.db);
    const { creditsPerOutput: _each, ...plan } = planFor(2, 50);
    const id = await accepted(test.db, tenant, { plan: { ...plan, creditsTotal: 101 }, credits: 101 });
    await observe(test.db, id, 'succeeded', { outputCount: 2 });
    await store(test.db, id, { index: 0 });
    await drop(test.db, id, 1, 'lost');
    expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ captured: 50 });
    expect(await credits(tenant)).toEqual(balance(950, 0, 50));
  });

  it('T28 cancelled after 2 of 4 outputs: 2 captured, 2 released, and the answer says what the ledger has', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 4, 25);
    for (const index of [0, 1]) await store(test.db, id, { index });
    const asked = { generationId: id, tenantId: tenant.id, actor: 'tenant' } as const;
    expect(await requestCancel(test.db, asked)).toMatchObject({ outcome: 'requested' });
    for (const index of [2, 3]) await drop(test.db, id, index, 'lost');
    expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ outcome: 'settled', captured: 50 });
    const view = await viewOf(tenant, id);
    expect(view.credits).toEqual({ held: 0, captured: 50, released: 50, refunded: 0 });
    expect(view.cancellation?.outcome).toBe('too_late');
    expect(await ledgerOf(test.db, id)).toEqual([['capture', -50]]);
    expect(await credits(tenant)).toEqual(balance(950, 0, 50));
  });

  it('G2 hundred times 226 of 1,000, one after the other: totals exact', async () => {
    const tenant = await newTenant(test.db);
    for (let round = 0; round < 100; round += 1) {
      const id = await create(test.db, tenant, sold(1, 226));
      await settle(test.db, id, FAILED);
    }
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it.each([0, -1, -85_930, Number.MAX_SAFE_INTEGER + 1])('T43 no hold of %i credits', async (amount) => {
    const tenant = await newTenant(test.db);
    await expect(create(test.db, tenant, { credits: amount })).rejects.toThrow(/generation_credits_range/);
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
  });

  it('T17 the poll, the deadline sweep and a second instance find one failure: released once', async () => {
    const tenant = await newTenant(test.db);
    const id = await failedAtProvider(test.db, tenant);
    const ends = await Promise.all(Array.from({ length: 12 }, () => finish(test.db, id)));
    expect(ends.filter(({ outcome }) => outcome === 'settled')).toHaveLength(1);
    expect(await credits(tenant)).toEqual(balance(1_000, 0, 0));
    const paid = await captured(test.db, tenant);
    expect(await ledgerOf(test.db, paid)).toEqual([['capture', -100]]);
  });
});
