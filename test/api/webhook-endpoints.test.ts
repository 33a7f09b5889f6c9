import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { claimDeliveries } from '../../src/db/index.ts';
import { openWebhookSecret } from '../../src/domain/webhook-secret.ts';
import { testKeyring } from './api.ts';
import { send, type Answer } from './client.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { get, newTenant, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();
const URL_OF = 'https://hooks.example.com/darkroom';
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
const ENDS = ['generation.succeeded', 'generation.failed', 'generation.cancelled', 'generation.expired'];

const newListener = () => newTenant(suite.db, { credits: 0, scopes: ['webhooks'] });
const call = (tenant: TestTenant, method: string, path: string, body: unknown = {}) =>
  method === 'DELETE'
    ? send(suite.api.url, { method, path, headers: { Authorization: `Bearer ${tenant.key}` } })
    : sendJson(suite.api.url, tenant.key, { method, path, body });

function createEndpoint(tenant: TestTenant, body: unknown, key: string = randomUUID()): Promise<Answer> {
  const headers = { 'Idempotency-Key': key };
  return sendJson(suite.api.url, tenant.key, { path: '/v1/webhook-endpoints', body, headers });
}

async function endpointOf(tenant: TestTenant, body: object = {}): Promise<string> {
  const answer = await createEndpoint(tenant, { url: URL_OF, ...body });
  expect(answer.status).toBe(201);
  return answer.json()['id'] as string;
}

/** The secrets that would sign a message now, newest first. */
async function signing(tenant: TestTenant, id: string): Promise<(string | null)[]> {
  await call(tenant, 'POST', `/v1/webhook-endpoints/${id}/test`);
  const claimed = await claimDeliveries(suite.db, { limit: 100, perTarget: 4, leaseMs: 60_000 });
  const { secrets } = claimed.find(({ endpointId }) => endpointId === id)!;
  return secrets.map((sealed) =>
    openWebhookSecret(testKeyring(), { tenantId: tenant.id, endpointId: id }, sealed),
  );
}

describe('POST /v1/webhook-endpoints', () => {
  it('WHO-11 shows the secret once and stores it sealed; a replay gives the endpoint without it', async () => {
    const tenant = await newListener();
    const first = await createEndpoint(tenant, { url: URL_OF, description: 'live' }, 'one');
    expect(first.json()).toEqual({
      id: expect.stringMatching(/^whe_[0-9a-hjkmnp-tv-z]{26}$/) as string,
      object: 'webhook_endpoint',
      url: URL_OF,
      types: ENDS,
      description: 'live',
      end_on_4xx: false,
      state: 'enabled',
      disabled_reason: null,
      failing_since: null,
      previous_secret_expires_at: null,
      created_at: expect.any(String) as string,
      updated_at: expect.any(String) as string,
      secret: expect.stringMatching(SECRET) as string,
    });
    const { id, secret, ...shown } = first.json() as { id: string; secret: string };
    expect([first.status, first.headers['location']]).toEqual([201, `/v1/webhook-endpoints/${id}`]);
    const again = await createEndpoint(tenant, `{"description":"live", "url":"${URL_OF}"}`, 'one');
    expect([again.status, again.headers['idempotent-replayed'], again.json()]).toEqual([
      201,
      'true',
      { id, ...shown },
    ]);
    expect((await get(suite.api.url, tenant, `/v1/webhook-endpoints/${id}`)).json()).toEqual({
      id,
      ...shown,
    });
    const rows = await suite.db.prisma.webhookSecret.findMany({ where: { endpointId: id } });
    expect(rows).toHaveLength(1);
    expect(Buffer.from(rows[0]!.sealed).includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false);
    expect(Buffer.from(rows[0]!.sealed).includes(secret)).toBe(false);
    expect(await signing(tenant, id)).toEqual([secret]);
    expect(suite.api.logs.join('')).not.toContain(secret.slice(6));
  });

  it('twenty equal calls at once make one endpoint; another body under the key is refused', async () => {
    const tenant = await newListener();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => createEndpoint(tenant, { url: URL_OF }, 'same')),
    );
    expect(answers.filter((answer) => 'secret' in answer.json())).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.json()['id'])).size).toBe(1);
    expect(codeOf(await createEndpoint(tenant, { url: `${URL_OF}/2` }, 'same'))).toEqual([
      422,
      'idempotency_key_reuse',
    ]);
    const other = await newListener();
    expect((await createEndpoint(other, { url: `${URL_OF}/2` }, 'same')).status).toBe(201);
  });

  it.each([
    'http://hooks.example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::ffff:169.254.169.254]/',
    'https://10.0.0.8/hook',
    'https://localhost./',
    'https://user:secret@hooks.example.com/',
    'https://hooks.example.com/#part',
    'https://hooks.example.com:8443/',
    'ftp://hooks.example.com/',
    'https://hooks.example.com\\@127.0.0.1/',
    ' https://hooks.example.com/\n',
    'hooks.example.com',
  ])('SSRF-1 SSRF-2 SSRF-5 refuses %j, and says what is taken', async (url) => {
    const tenant = await newListener();
    const answer = await createEndpoint(tenant, { url });
    expect(codeOf(answer)).toEqual([400, 'invalid_request']);
    expect(answer.json()['errors']).toEqual([
      {
        path: '/url',
        message: 'Use an https URL on port 443 with a public host, without user, password and fragment.',
      },
    ]);
    const id = await endpointOf(tenant);
    expect(codeOf(await call(tenant, 'PATCH', `/v1/webhook-endpoints/${id}`, { url }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  it('names every wrong field, and takes at most twenty live endpoints', async () => {
    const tenant = await newListener();
    const bad = { types: ['generation.started'], end_on_4xx: 'no', secret: 'mine' };
    expect(pathsOf(await createEndpoint(tenant, bad)).toSorted()).toEqual([
      '/end_on_4xx',
      '/secret',
      '/types/0',
      '/url',
    ]);
    const ids = [];
    for (let made = 0; made < 20; made += 1) ids.push(await endpointOf(tenant));
    expect(codeOf(await createEndpoint(tenant, { url: URL_OF }))).toEqual([
      409,
      'too_many_webhook_endpoints',
    ]);
    await call(tenant, 'DELETE', `/v1/webhook-endpoints/${ids[3]}`);
    await endpointOf(tenant);
    const { data } = (await get(suite.api.url, tenant, '/v1/webhook-endpoints')).json();
    expect(data).toHaveLength(20);
  });

  it('needs the scope webhooks', async () => {
    const tenant = await newTenant(suite.db, { credits: 0, scopes: ['generations'] });
    expect(codeOf(await createEndpoint(tenant, { url: URL_OF }))).toEqual([403, 'scope_missing']);
  });
});

describe('PATCH and DELETE', () => {
  it('changes only what is sent', async () => {
    const tenant = await newListener();
    const id = await endpointOf(tenant, { description: 'a' });
    const path = `/v1/webhook-endpoints/${id}`;
    const changed = await call(tenant, 'PATCH', path, {
      types: ['generation.updated', 'generation.updated'],
      end_on_4xx: true,
    });
    expect([changed.status, changed.json()]).toMatchObject([
      200,
      { id, url: URL_OF, description: 'a', types: ['generation.updated'], end_on_4xx: true },
    ]);
    expect(codeOf(await call(tenant, 'PATCH', path, {}))).toEqual([400, 'invalid_request']);
    expect((await call(tenant, 'PATCH', path, { enabled: false })).json()).toMatchObject({
      state: 'disabled',
      disabled_reason: 'tenant',
    });
    expect(codeOf(await call(tenant, 'POST', `${path}/test`))).toEqual([409, 'webhook_endpoint_disabled']);
    expect((await call(tenant, 'PATCH', path, { enabled: true })).json()).toMatchObject({
      state: 'enabled',
      disabled_reason: null,
    });
  });

  it('a deleted endpoint is as one that never was, and nothing waits for it', async () => {
    const tenant = await newListener();
    const id = await endpointOf(tenant);
    const path = `/v1/webhook-endpoints/${id}`;
    const delivery = (await call(tenant, 'POST', `${path}/test`)).json()['id'] as string;
    expect((await call(tenant, 'DELETE', path)).json()).toEqual({
      id,
      object: 'webhook_endpoint',
      deleted: true,
    });
    expect(codeOf(await call(tenant, 'DELETE', path))).toEqual([404, 'webhook_endpoint_not_found']);
    expect(codeOf(await get(suite.api.url, tenant, path))).toEqual([404, 'webhook_endpoint_not_found']);
    expect(codeOf(await call(tenant, 'POST', `${path}/test`))).toEqual([404, 'webhook_endpoint_not_found']);
    const kept = `/v1/webhook-deliveries/${delivery}`;
    expect((await get(suite.api.url, tenant, kept)).json()).toMatchObject({ state: 'cancelled' });
    expect(codeOf(await call(tenant, 'POST', `${kept}/redeliver`))).toEqual([
      409,
      'webhook_endpoint_deleted',
    ]);
  });
});

describe('rotating a secret', () => {
  it('WHO-4 those of before sign until their time, also after several rotations', async () => {
    const tenant = await newListener();
    const created = (await createEndpoint(tenant, { url: URL_OF })).json() as { id: string; secret: string };
    const path = `/v1/webhook-endpoints/${created.id}/rotate`;
    const second = (await call(tenant, 'POST', path)).json();
    expect(second['secret']).toMatch(SECRET);
    const inMs = Date.parse(second['previous_secret_expires_at'] as string) - Date.now();
    expect(Math.abs(inMs - 24 * 3_600_000)).toBeLessThan(60_000);
    expect(await signing(tenant, created.id)).toEqual([second['secret'], created.secret]);
    // The answer was lost, so it is rotated again: what the receiver has still verifies.
    const third = (await call(tenant, 'POST', path)).json();
    expect(await signing(tenant, created.id)).toEqual([third['secret'], second['secret'], created.secret]);
    const last = (await call(tenant, 'POST', path, { overlap_hours: 0 })).json();
    expect(await signing(tenant, created.id)).toEqual([last['secret'], second['secret'], created.secret]);
    expect(pathsOf(await call(tenant, 'POST', path, { overlap_hours: 169 }))).toEqual(['/overlap_hours']);
  });

  it('the default secret of a tenant is made by its first rotation', async () => {
    const tenant = await newListener();
    const path = '/v1/webhook-secret/rotate';
    const first = await call(tenant, 'POST', path);
    expect(first.json()).toEqual({
      object: 'webhook_secret',
      secret: expect.stringMatching(SECRET) as string,
    });
    await call(tenant, 'POST', path);
    expect(
      await suite.db.prisma.webhookSecret.count({ where: { tenantId: tenant.id, endpointId: null } }),
    ).toBe(2);
  });
});
