import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { send } from './client.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { create, newOperator, newTenant, sendJson } from './tenants.ts';

const suite = useApi();

const read = (path: string, key = suite.operator.key) =>
  send(suite.api.url, { path: `/admin/v1/${path}`, headers: { Authorization: `Bearer ${key}` } });
const post = (path: string, body: object, idempotencyKey = randomUUID()) =>
  sendJson(suite.api.url, suite.operator.key, {
    path: `/admin/v1/${path}`,
    headers: { 'Idempotency-Key': idempotencyKey },
    body,
  });
const revoke = (id: string, query = '', key = suite.operator.key) =>
  send(suite.api.url, {
    method: 'DELETE',
    path: `/admin/v1/keys/${id}${query}`,
    headers: { Authorization: `Bearer ${key}` },
  });
const models = (key: string) =>
  send(suite.api.url, { path: '/v1/models', headers: { Authorization: `Bearer ${key}` } });

describe('/admin/v1/tenants', () => {
  it('makes one once per key, with its default account and a record, and lists it', async () => {
    const key = randomUUID();
    const body = { name: 'Acme', reason: 'ticket 1' };
    const [one, two] = await Promise.all([post('tenants', body, key), post('tenants', body, key)]);
    expect([one.status, two.status, one.json()['id']]).toEqual([201, 201, two.json()['id']]);
    expect([one, two].filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(1);
    const id = one.json()['id'] as string;
    expect(codeOf(await post('tenants', { ...body, name: 'Other' }, key))).toEqual([
      422,
      'idempotency_key_reuse',
    ]);
    expect(await suite.db.prisma.ledgerAccount.count({ where: { tenantId: id, name: 'default' } })).toBe(1);
    const actions = await suite.db.prisma.operatorAction.findMany({ where: { tenantId: id } });
    expect(actions).toMatchObject([
      { kind: 'create_tenant', actor: suite.operator.actor, reason: 'ticket 1' },
    ]);
    const page = (await read('tenants?limit=1')).json() as unknown as {
      data: { id: string }[];
      next_cursor: string;
    };
    expect(page.data.map((row) => row.id)).toEqual([id]);
    const next = (await read(`tenants?limit=1&after=${page.next_cursor ?? ''}`)).json();
    expect(JSON.stringify(next)).not.toContain(id);
    expect(pathsOf(await post('tenants', { name: ' ', reason: 'x' }))).toEqual(['/name']);
    expect(pathsOf(await post('tenants', { name: 'x' }))).toEqual(['/reason']);
  });
});

describe('/admin/v1/keys', () => {
  it('shows a new key once, which works until it is revoked', async () => {
    const tenant = await newTenant(suite.db);
    const idempotency = randomUUID();
    const body = { tenant: tenant.id, scopes: ['generations'], label: 'l', reason: 'r' };
    const made = await post('keys', body, idempotency);
    const { key, id } = made.json() as { key: string; id: string };
    expect([made.status, made.headers['cache-control'], (await models(key)).status]).toEqual([
      201,
      'no-store',
      200,
    ]);
    const replayed = await post('keys', body, idempotency);
    expect([replayed.status, replayed.json()['id'], replayed.json()['key']]).toEqual([201, id, undefined]);
    expect(codeOf(await post('keys', { ...body, label: 'other' }, idempotency))).toEqual([
      422,
      'idempotency_key_reuse',
    ]);
    const listed = await read(`keys?tenant=${tenant.id}`);
    expect((listed.json()['data'] as { id: string }[]).map((row) => row.id)).toEqual([id, tenant.keyId]);
    expect(listed.text).not.toContain(key);
    const secretHash = createHash('sha256').update(key).digest();
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(listed.text).not.toContain(secretHash.toString(encoding));
    expect((await revoke(id, '?reason=leaked')).json()).toMatchObject({
      id,
      revoked_at: expect.any(String) as string,
    });
    expect(codeOf(await models(key))).toEqual([401, 'api_key_invalid']);
    expect((await revoke(id)).status).toBe(200);
    const actions = await suite.db.prisma.operatorAction.findMany({
      where: { tenantId: tenant.id },
      orderBy: { id: 'asc' },
    });
    expect(actions.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['create_key', 'r'],
      ['revoke_key', 'leaked'],
    ]);
    expect(JSON.stringify(actions.map(({ detail }) => detail))).not.toContain(key);
  });

  it('revokes the key of the call itself only when told so; the scopes fit the owner', async () => {
    const { key, actor } = await newOperator(suite.db);
    const id = actor.slice('key:'.length);
    expect(codeOf(await revoke(id, '', key))).toEqual([409, 'own_api_key']);
    expect((await read('tenants', key)).status).toBe(200);
    expect((await revoke(id, '?own=true', key)).status).toBe(200);
    expect(codeOf(await read('tenants', key))).toEqual([401, 'api_key_invalid']);
    const tenant = await newTenant(suite.db);
    for (const [owner, scopes] of [
      [tenant.id, ['admin']],
      [null, ['generations']],
      [null, ['admin', 'generations']],
    ] as const) {
      expect(pathsOf(await post('keys', { tenant: owner, scopes, reason: 'x' }))).toEqual(['/scopes']);
    }
    const nobody = { tenant: `ten_${'0'.repeat(26)}`, scopes: ['generations'], reason: 'x' };
    expect(codeOf(await post('keys', nobody))).toEqual([404, 'tenant_not_found']);
    expect(codeOf(await revoke('0'.repeat(16)))).toEqual([404, 'api_key_not_found']);
  });
});

describe('/admin/v1/webhook-deliveries', () => {
  it('lists origins only, and sends one again with a record; a dry run changes nothing', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'webhooks'] });
    const endpoint = await sendJson(suite.api.url, tenant.key, {
      path: '/v1/webhook-endpoints',
      headers: { 'Idempotency-Key': 'hook' },
      body: { url: 'https://example.com/hooks?token=canary' },
    });
    const id = (await create(suite.api.url, tenant)).json()['id'] as string;
    await sendJson(suite.api.url, tenant.key, { path: `/v1/generations/${id}/cancel`, body: {} });
    const listed = await read(`webhook-deliveries?tenant=${tenant.id}`);
    expect(listed.text).not.toContain('canary');
    const [row] = listed.json()['data'] as { id: string }[];
    expect(row).toMatchObject({
      tenant: tenant.id,
      generation_id: id,
      receiver: 'https://example.com',
      state: 'pending',
      temporal_url: `http://ui.test/namespaces/default/workflows/${id}`,
    });
    await suite.db.prisma
      .$executeRaw`UPDATE webhook_delivery SET state = 'failed', next_attempt_at = NULL WHERE tenant_id = ${tenant.id}`;
    const state = async () => (await read(`webhook-deliveries/${row!.id}`)).json()['state'];
    const again = (body: object) => post(`webhook-deliveries/${row!.id}/redeliver`, body);
    const trial = await again({ reason: 'r', dry_run: true });
    expect([trial.status, trial.json()['state'], await state()]).toEqual([200, 'pending', 'failed']);
    expect(await suite.db.prisma.operatorAction.count({ where: { tenantId: tenant.id } })).toBe(0);
    expect([(await again({ reason: 'r' })).status, await state()]).toEqual([202, 'pending']);
    expect(await suite.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id } })).toMatchObject([
      { kind: 'redeliver', generationId: id, actor: suite.operator.actor, reason: 'r' },
    ]);
    await suite.db.prisma.webhookEndpoint.update({
      where: { id: endpoint.json()['id'] as string },
      data: { disabledAt: new Date(), disabledReason: 'failing' },
    });
    expect(codeOf(await again({ reason: 'r' }))).toEqual([409, 'webhook_endpoint_disabled']);
    expect(codeOf(await post('webhook-deliveries/whd_999999999/redeliver', { reason: 'r' }))).toEqual([
      404,
      'webhook_delivery_not_found',
    ]);
  });
});
