import { describe, expect, it } from 'vitest';
import { accept, observe, send as sendToProvider, store } from '../db/fixtures.ts';
import { finish } from '../db/finish.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, get, newTenant, readBalance, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();
const balance = (tenant: TestTenant) => readBalance(suite.api.url, tenant);

const PRICE = 100;
const UNKNOWN_GENERATION = `gen_${'0'.repeat(26)}`;

async function created(tenant: TestTenant): Promise<string> {
  return (await create(suite.api.url, tenant)).json()['id'] as string;
}

/** A generation that succeeded and was charged. */
async function charged(tenant: TestTenant): Promise<string> {
  const id = await created(tenant);
  await sendToProvider(suite.db, id);
  await accept(suite.db, id);
  await observe(suite.db, id, 'succeeded');
  await store(suite.db, id);
  expect(await finish(suite.db, id)).toMatchObject({ state: 'succeeded', captured: PRICE });
  return id;
}

const refund = (id: string, body: unknown, key = suite.operator.key) =>
  sendJson(suite.api.url, key, { path: `/admin/v1/generations/${id}/refunds`, body });

describe('POST /admin/v1/generations/{id}/refunds', () => {
  it('gives back a part, then the rest; the same reason again changes nothing', async () => {
    const tenant = await newTenant(suite.db, { credits: 500 });
    const id = await charged(tenant);
    expect(await balance(tenant)).toEqual({ available: 400, held: 0, spent: 100, granted: 500 });
    const part = { reason: 'bad-output', credits: 30, note: 'ticket 4711' };
    const first = await refund(id, part);
    const view = {
      object: 'refund',
      generation: id,
      credits: 30,
      refunded_credits: 30,
      reason: 'bad-output',
      dry_run: false,
      temporal_url: `http://ui.test/namespaces/default/workflows/${id}`,
    };
    expect([first.status, first.json()]).toEqual([201, view]);
    for (const again of [part, { reason: 'bad-output' }, { reason: 'bad-output', credits: 30 }]) {
      const answer = await refund(id, again);
      expect([answer.status, answer.text]).toEqual([200, first.text]);
    }
    expect((await refund(id, { reason: 'rest' })).json()).toMatchObject({
      credits: 70,
      refunded_credits: 100,
    });
    expect(await balance(tenant)).toEqual({ available: 500, held: 0, spent: 0, granted: 500 });
    expect((await get(suite.api.url, tenant, `/v1/generations/${id}`)).json()['credits']).toEqual({
      held: 0,
      captured: 100,
      released: 0,
      refunded: 100,
    });
    const { data } = (await get(suite.api.url, tenant, '/v1/credits/entries')).json() as { data: object[] };
    expect(data).toMatchObject([
      { type: 'refund', available: 70, held: 0, generation_id: id, reason: 'rest' },
      { type: 'refund', available: 30, held: 0, generation_id: id, reason: 'bad-output' },
      { type: 'capture', available: 0, held: -100, generation_id: id, reason: null },
      { type: 'hold', available: -100, held: 100 },
      { type: 'grant', available: 500 },
    ]);
    expect(JSON.stringify(data)).not.toContain('ticket 4711');
    expect(await suite.db.prisma.operatorAction.findMany({ where: { generationId: id } })).toMatchObject([
      {
        kind: 'refund',
        actor: suite.operator.actor,
        reason: 'bad-output',
        detail: { credits: 30, note: 'ticket 4711' },
      },
      { kind: 'refund', actor: suite.operator.actor, reason: 'rest', detail: { credits: 70, note: null } },
    ]);
  });

  it('twenty at once for one reason: one refund', async () => {
    const tenant = await newTenant(suite.db);
    const id = await charged(tenant);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => refund(id, { reason: 'r', credits: 40 })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array<number>(19).fill(200),
      201,
    ]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await balance(tenant)).toMatchObject({ spent: 60 });
  });

  it('refuses what was not charged, more than is left, and another amount for a reason', async () => {
    const tenant = await newTenant(suite.db);
    const id = await charged(tenant);
    await refund(id, { reason: 'first', credits: 30 });
    const large = await refund(id, { reason: 'second', credits: 71 });
    expect([...codeOf(large), large.json()['refundable']]).toEqual([409, 'refund_too_large', 70]);
    const used = await refund(id, { reason: 'first', credits: 31 });
    expect([...codeOf(used), used.json()['credits']]).toEqual([409, 'refund_reason_used', 30]);
    expect((await refund(id, { reason: 'second' })).status).toBe(201);
    const empty = await refund(id, { reason: 'third' });
    expect([...codeOf(empty), empty.json()['refundable']]).toEqual([409, 'refund_too_large', 0]);
    const running = await created(tenant);
    expect(codeOf(await refund(running, { reason: 'x' }))).toEqual([409, 'not_captured']);
    await finish(suite.db, running);
    expect(codeOf(await refund(running, { reason: 'x' }))).toEqual([409, 'not_captured']);
    for (const unknown of [UNKNOWN_GENERATION, 'gen_short', '%00']) {
      expect(codeOf(await refund(unknown, { reason: 'x' }))).toEqual([404, 'generation_not_found']);
    }
  });

  it.each<[string, unknown, string]>([
    ['no reason', { credits: 1 }, '/reason'],
    ['a reason with spaces', { reason: 'bad output' }, '/reason'],
    ['a reason in capitals', { reason: 'Bad' }, '/reason'],
    ['a reason of 65 characters', { reason: 'x'.repeat(65) }, '/reason'],
    ['no credits', { reason: 'x', credits: 0 }, '/credits'],
    ['T43 negative credits', { reason: 'x', credits: -1 }, '/credits'],
    ['T43 half a credit', { reason: 'x', credits: 0.5 }, '/credits'],
    ['T43 2^53 credits', { reason: 'x', credits: 2 ** 53 }, '/credits'],
    ['an empty note', { reason: 'x', note: ' ' }, '/note'],
    ['an unknown field', { reason: 'x', amount: 1 }, '/amount'],
  ])('%s is 400', async (_name, body, path) => {
    const answer = await refund(UNKNOWN_GENERATION, body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [path]]);
  });
});
