import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/api/routes/index.ts';
import { accept, send as sendToProvider } from '../db/fixtures.ts';
import { send } from './client.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, grant, newTenant, sendJson } from './tenants.ts';
import { awayFromTheTurn } from '../db/turns.ts';

const suite = useApi();

const UNKNOWN_TENANT = `ten_${'0'.repeat(26)}`;

const put = (path: string, body: unknown, key = suite.operator.key) =>
  sendJson(suite.api.url, key, { method: 'PUT', path: `/admin/v1/${path}`, body });
const read = (path: string, key = suite.operator.key) =>
  send(suite.api.url, { path: `/admin/v1/${path}`, headers: { Authorization: `Bearer ${key}` } });

describe('every operator route', () => {
  const routes = ROUTES.filter(({ auth }) => auth === 'operator').map(
    ({ method, path }) => [method.toUpperCase(), path] as const,
  );

  it('begins with /admin/v1/, and nothing else does', () => {
    expect(ROUTES.filter(({ path }) => path.startsWith('/admin/')).map(({ auth }) => auth)).toEqual(
      routes.map(() => 'operator'),
    );
    expect(routes.filter(([, path]) => !path.startsWith('/admin/v1/'))).toEqual([]);
  });

  it('is for operators only: who may not ask is told nothing of what there is, and leaves no record', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'credits:grant', 'webhooks'] });
    const made = (await create(suite.api.url, tenant)).json()['id'] as string;
    const before = await suite.db.prisma.operatorAction.count();
    const call = (method: string, path: string, headers: Record<string, string>) =>
      send(suite.api.url, {
        method,
        path,
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'x', ...headers },
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{"reason":"x"}' }),
      });
    const paths = routes.flatMap(([method, path]) =>
      (path.includes('{') ? [UNKNOWN_TENANT, tenant.id, made, 'x'] : ['']).map(
        (id) => [method, path.replaceAll(/\{\w+\}/g, id)] as const,
      ),
    );
    expect(paths.length).toBeGreaterThan(2 * routes.length);
    const last = suite.operator.key.at(-1);
    for (const [method, path] of paths) {
      const name = `${method} ${path}`;
      const refused = await call(method, path, { Authorization: `Bearer ${tenant.key}` });
      expect(codeOf(refused), name).toEqual([403, 'scope_missing']);
      expect(refused.headers['www-authenticate']).toContain('error="insufficient_scope", scope="admin"');
      expect(codeOf(await call(method, path, {})), name).toEqual([401, 'api_key_missing']);
      const wrong = { Authorization: `Bearer ${suite.operator.key.slice(0, -1)}${last === 'x' ? 'y' : 'x'}` };
      expect(codeOf(await call(method, path, wrong)), name).toEqual([401, 'api_key_invalid']);
    }
    expect(await suite.db.prisma.operatorAction.count()).toBe(before);
  });

  it('an operator’s key is no tenant’s key', async () => {
    const answer = await send(suite.api.url, {
      path: '/v1/models',
      headers: { Authorization: `Bearer ${suite.operator.key}` },
    });
    expect(codeOf(answer)).toEqual([403, 'scope_missing']);
  });
});

const LIMITS = {
  generations_in_flight: 10,
  credits_per_day: 5_000,
  requests_per_minute: 600,
  cancels_per_day: 0,
};
const NONE = {
  generations_in_flight: null,
  credits_per_day: null,
  requests_per_minute: null,
  cancels_per_day: null,
};

describe('/admin/v1/tenants/{id}/limits', () => {
  it('puts one scope at a time, as it is listed; null lifts', async () => {
    const tenant = await newTenant(suite.db);
    await grant(suite.db, tenant.id, 'user-1', 1);
    const path = `tenants/${tenant.id}/limits`;
    expect((await read(path)).json()).toEqual({ data: [] });
    const account = { scope: 'account', account: 'user-1', ...LIMITS };
    const changes = [
      account,
      { scope: 'each_account', ...NONE, credits_per_day: Number.MAX_SAFE_INTEGER },
      { scope: 'tenant', ...LIMITS },
    ];
    for (const change of changes) {
      const answer = await put(path, { ...change, reason: 'r' });
      expect([answer.status, answer.json()]).toEqual([200, { object: 'limit', account: null, ...change }]);
    }
    const shown = [...changes].reverse().map((change) => ({ object: 'limit', account: null, ...change }));
    expect((await read(path)).json()).toEqual({ data: shown });
    await put(path, { scope: 'tenant', ...NONE, reason: 'lifted' });
    expect(((await read(path)).json() as { data: object[] }).data[0]).toEqual({
      object: 'limit',
      scope: 'tenant',
      account: null,
      ...NONE,
    });
    const actions = await suite.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id } });
    expect(actions.map(({ kind, actor, reason }) => [kind, actor, reason])).toEqual([
      ['usage_limit', suite.operator.actor, 'r'],
      ['usage_limit', suite.operator.actor, 'r'],
      ['usage_limit', suite.operator.actor, 'r'],
      ['usage_limit', suite.operator.actor, 'lifted'],
    ]);
  });

  it('unknown tenants are 404, an account that does not exist yet is 409', async () => {
    const tenant = await newTenant(suite.db);
    for (const id of [UNKNOWN_TENANT, 'x', '%00']) {
      expect(codeOf(await read(`tenants/${id}/limits`))).toEqual([404, 'tenant_not_found']);
      const answer = await put(`tenants/${id}/limits`, { scope: 'tenant', ...NONE, reason: 'x' });
      expect(codeOf(answer)).toEqual([404, 'tenant_not_found']);
    }
    const body = { scope: 'account', account: 'nobody', ...NONE, reason: 'x' };
    expect(codeOf(await put(`tenants/${tenant.id}/limits`, body))).toEqual([409, 'unknown_account']);
  });

  it.each<[string, object, string]>([
    ['another scope', { scope: 'all' }, '/scope'],
    ['an account for a tenant', { account: 'user-1' }, '/account'],
    ['no account for an account', { scope: 'account' }, '/account'],
    ['a limit left out', { cancels_per_day: undefined }, '/cancels_per_day'],
    ['below zero', { generations_in_flight: -1 }, '/generations_in_flight'],
    ['a fraction', { credits_per_day: 0.5 }, '/credits_per_day'],
    ['2^53', { credits_per_day: 2 ** 53 }, '/credits_per_day'],
    ['no request at all', { requests_per_minute: 0 }, '/requests_per_minute'],
    ['more than a column holds', { requests_per_minute: 3_000_000_000 }, '/requests_per_minute'],
    ['no reason', { reason: undefined }, '/reason'],
    ['an unknown field', { tenant: 'x' }, '/tenant'],
  ])('%s is 400', async (_name, change, path) => {
    const body = { scope: 'tenant', ...NONE, reason: 'x', ...change };
    const answer = await put(`tenants/${UNKNOWN_TENANT}/limits`, body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [path]]);
  });
});

describe('/admin/v1/providers/{provider}/budget', () => {
  it('sets, shows what is spent today, and lifts', async () => {
    await awayFromTheTurn('day');
    expect((await read('provider-budgets')).json()).toEqual({ data: [] });
    const made = await create(suite.api.url, await newTenant(suite.db));
    const id = made.json()['id'] as string;
    await sendToProvider(suite.db, id, { estimatedCost: { amount: '3.250', unit: 'USD' } });
    await accept(suite.db, id);
    const set = await put('providers/infro/budget', { amount_per_day: '25.50', unit: 'USD', reason: 'r' });
    const view = {
      object: 'provider_budget',
      provider: 'infro',
      amount_per_day: '25.5',
      unit: 'USD',
      spent_today: '3.25',
      reached_at: null,
    };
    expect([set.status, set.json()]).toEqual([200, view]);
    await put('providers/kling/budget', { amount_per_day: '0', unit: 'units', reason: 'r' });
    expect((await read('provider-budgets')).json()).toEqual({
      data: [view, { ...view, provider: 'kling', amount_per_day: '0', unit: 'units', spent_today: '0' }],
    });
    const lifted = await put('providers/infro/budget', { amount_per_day: null, reason: 'r' });
    expect([lifted.status, lifted.json()]).toEqual([
      200,
      { ...view, amount_per_day: null, unit: null, spent_today: null },
    ]);
    expect((await read('provider-budgets')).json()['data']).toHaveLength(1);
    const actions = await suite.db.prisma.operatorAction.findMany({ where: { kind: 'provider_budget' } });
    expect(actions.map(({ actor }) => actor)).toEqual([
      suite.operator.actor,
      suite.operator.actor,
      suite.operator.actor,
    ]);
  });

  it('an unknown provider is 404', async () => {
    for (const name of ['nobody', '%00', 'x'.repeat(300)]) {
      const answer = await put(`providers/${name}/budget`, { amount_per_day: null, reason: 'x' });
      expect(codeOf(answer)).toEqual([404, 'provider_not_found']);
    }
  });

  it.each<[string, object, string]>([
    ['a number', { amount_per_day: 25.5 }, '/amount_per_day'],
    ['a negative amount', { amount_per_day: '-1' }, '/amount_per_day'],
    ['no decimal number', { amount_per_day: '1e3' }, '/amount_per_day'],
    ['NaN', { amount_per_day: 'NaN' }, '/amount_per_day'],
    ['an amount without its unit', { unit: undefined }, '/unit'],
    ['a bad unit', { unit: '$' }, '/unit'],
    ['no amount', { amount_per_day: undefined }, '/amount_per_day'],
    ['no reason', { reason: undefined }, '/reason'],
  ])('%s is 400', async (_name, change, path) => {
    const body = { amount_per_day: '1', unit: 'USD', reason: 'x', ...change };
    const answer = await put('providers/infro/budget', body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [path]]);
  });
});
