import { describe, expect, it } from 'vitest';
import { accept, drop, observe, send as sendToProvider, store } from '../db/fixtures.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, get, newTenant, readBalance, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();
const balance = (tenant: TestTenant) => readBalance(suite.api.url, tenant);

const PRICE = 100;
const UNKNOWN_GENERATION = `gen_${'0'.repeat(26)}`;

async function created(tenant: TestTenant): Promise<string> {
  return (await create(suite.api.url, tenant)).json()['id'] as string;
}

const resolve = (id: string, body: unknown, key = suite.operator.key) =>
  sendJson(suite.api.url, key, { path: `/admin/v1/generations/${id}/resolution`, body });

describe('POST /admin/v1/generations/{id}/resolution', () => {
  it('failed: released, told to the tenant, recorded, and the run is woken', async () => {
    const tenant = await newTenant(suite.db, { credits: 500 });
    const id = await created(tenant);
    await sendToProvider(suite.db, id);
    await accept(suite.db, id);
    const answer = await resolve(id, {
      state: 'failed',
      error_code: 'provider_unavailable',
      reason: 'ticket 9',
    });
    expect([answer.status, answer.json()]).toEqual([
      200,
      {
        object: 'resolution',
        generation: id,
        state: 'failed',
        error_code: 'provider_unavailable',
        captured_credits: 0,
        reason: 'ticket 9',
        dry_run: false,
        temporal_url: `http://ui.test/namespaces/default/workflows/${id}`,
      },
    ]);
    expect((await get(suite.api.url, tenant, `/v1/generations/${id}`)).json()).toMatchObject({
      state: 'failed',
      stage: 'done',
      error: { code: 'provider_unavailable', retryable: true },
      credits: { held: 0, captured: 0, released: PRICE, refunded: 0 },
    });
    expect(await balance(tenant)).toEqual({ available: 500, held: 0, spent: 0, granted: 500 });
    expect(suite.api.woken.filter(({ run }) => run.generationId === id).map(({ reason }) => reason)).toEqual([
      'created',
      'operator',
    ]);
    expect(await suite.db.prisma.operatorAction.findMany({ where: { generationId: id } })).toMatchObject([
      { kind: 'resolve', actor: suite.operator.actor, reason: 'ticket 9', tenantId: tenant.id },
    ]);
    const again = await resolve(id, { state: 'failed', reason: 'ticket 9' });
    expect([...codeOf(again), again.json()['state']]).toEqual([409, 'already_terminal', 'failed']);
    expect(suite.api.woken.filter(({ run }) => run.generationId === id)).toHaveLength(2);
  });

  it('failed without a code is provider_failed', async () => {
    const id = await created(await newTenant(suite.db));
    expect((await resolve(id, { state: 'failed', reason: 'x' })).json()['error_code']).toBe(
      'provider_failed',
    );
  });

  it('succeeded: charged for what is stored; the reason stays with the operators', async () => {
    const tenant = await newTenant(suite.db, { credits: 500 });
    const id = await created(tenant);
    await sendToProvider(suite.db, id);
    await accept(suite.db, id);
    await observe(suite.db, id, 'succeeded');
    await store(suite.db, id);
    const answer = await resolve(id, { state: 'succeeded', reason: 'SECRET' });
    expect([answer.status, answer.json()]).toEqual([
      200,
      expect.objectContaining({ state: 'succeeded', error_code: null, captured_credits: PRICE }),
    ]);
    expect(await balance(tenant)).toEqual({ available: 400, held: 0, spent: 100, granted: 500 });
    const shown = await Promise.all(
      [`/v1/generations/${id}`, '/v1/credits/entries'].map((path) => get(suite.api.url, tenant, path)),
    );
    for (const { text } of shown) expect(text).not.toContain('SECRET');
  });

  it('refuses what the rows do not allow, and says what to do for each', async () => {
    const tenant = await newTenant(suite.db);
    const refused = async (id: string, state: string) => {
      const answer = await resolve(id, { state, reason: 'x' });
      const { code, why, detail } = answer.json();
      expect([answer.status, code]).toEqual([409, 'resolution_not_possible']);
      return [why, detail];
    };
    const id = await created(tenant);
    expect(await refused(id, 'succeeded')).toEqual([
      'no_output_stored',
      expect.stringContaining('resolve it as failed'),
    ]);
    await sendToProvider(suite.db, id);
    expect(await refused(id, 'failed')).toEqual([
      'sending',
      expect.stringContaining('try again in a minute'),
    ]);
    await accept(suite.db, id);
    await observe(suite.db, id, 'succeeded');
    expect(await refused(id, 'failed')).toEqual(['downloading', expect.stringContaining('being downloaded')]);
    await store(suite.db, id);
    expect(await refused(id, 'failed')).toEqual([
      'outputs_stored',
      expect.stringContaining('then refund it'),
    ]);
    expect(await balance(tenant)).toMatchObject({ held: PRICE });
    expect(await suite.db.prisma.operatorAction.count({ where: { generationId: id } })).toBe(0);
    expect((await resolve(id, { state: 'succeeded', reason: 'x' })).status).toBe(200);
  });

  it('after an observed success the rows decide the code', async () => {
    const id = await created(await newTenant(suite.db));
    await sendToProvider(suite.db, id);
    await accept(suite.db, id);
    await observe(suite.db, id, 'succeeded');
    await drop(suite.db, id, 0, 'invalid');
    const answer = await resolve(id, { state: 'failed', error_code: 'provider_failed', reason: 'x' });
    expect(answer.json()).toMatchObject({
      state: 'failed',
      error_code: 'output_invalid',
      captured_credits: 0,
    });
  });

  it.each<[string, unknown, string]>([
    ['another state', { state: 'cancelled', reason: 'x' }, '/state'],
    ['no state', { reason: 'x' }, '/state'],
    ['no reason', { state: 'failed' }, '/reason'],
    ['an empty reason', { state: 'failed', reason: '' }, '/reason'],
    ['an unknown code', { state: 'failed', error_code: 'oops', reason: 'x' }, '/error_code'],
    ['a code of the rows', { state: 'failed', error_code: 'output_lost', reason: 'x' }, '/error_code'],
    ['a code of an expiry', { state: 'failed', error_code: 'deadline_exceeded', reason: 'x' }, '/error_code'],
    ['a code with succeeded', { state: 'succeeded', error_code: 'no_output', reason: 'x' }, '/error_code'],
    ['an unknown field', { state: 'failed', reason: 'x', credits: 1 }, '/credits'],
  ])('%s is 400', async (_name, body, path) => {
    const answer = await resolve(UNKNOWN_GENERATION, body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [path]]);
  });

  it('an unknown id is 404', async () => {
    for (const id of [UNKNOWN_GENERATION, 'x', '%00']) {
      expect(codeOf(await resolve(id, { state: 'failed', reason: 'x' }))).toEqual([
        404,
        'generation_not_found',
      ]);
    }
  });
});
