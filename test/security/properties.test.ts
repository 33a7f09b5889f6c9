/** API3: no field decides more than it is documented to, in either direction; API4: what one tenant can ask for is bounded. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generationSchema } from '../../src/domain/generation-view.ts';
import { send } from '../api/client.ts';
import { codeOf, pathsOf, useApi } from '../api/suite.ts';
import { BODY, create, get, newTenant, rowsOf, sendJson } from '../api/tenants.ts';

const suite = useApi();

/** What someone would try to decide who has no say in it. */
const SMUGGLED: Readonly<Record<string, unknown>> = {
  id: `gen_${'0'.repeat(26)}`,
  tenant_id: 'ten_other',
  tenantId: 'ten_other',
  state: 'succeeded',
  stage: 'done',
  delivery: 'stored',
  credits: { captured: 0 },
  price: 0,
  hold_id: 1,
  outputs: [{ url: 'https://evil.example' }],
  provider_job_id: 'x',
  plan: {},
  scopes: ['admin'],
  created_at: '2020-01-01T00:00:00Z',
  constructor: {},
  toString: 'x',
};

const post = (key: string, path: string, body: unknown, method = 'POST') =>
  sendJson(suite.api.url, key, { method, path, body, headers: { 'Idempotency-Key': randomUUID() } });

describe('API3 fields that nobody offered', () => {
  it('every body of a tenant refuses each of them by name, and nothing is written', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'credits:grant', 'webhooks'] });
    const endpoint = await post(tenant.key, '/v1/webhook-endpoints', { url: 'https://example.com/a' });
    expect(endpoint.status, endpoint.text).toBe(201);
    const id = endpoint.json()['id'] as string;
    const bodies: readonly [path: string, body: object, method?: string][] = [
      ['/v1/generations', BODY],
      ['/v1/quotes', BODY],
      ['/v1/credits/grants', { credits: 1, reason: 'x' }],
      ['/v1/webhook-endpoints', { url: 'https://example.com/b' }],
      [`/v1/webhook-endpoints/${id}`, { description: 'x' }, 'PATCH'],
      [`/v1/webhook-endpoints/${id}/rotate`, {}],
      ['/v1/webhook-secret/rotate', {}],
    ];
    const before = await get(suite.api.url, tenant, `/v1/webhook-endpoints/${id}`);
    for (const [path, body, method] of bodies) {
      for (const [field, value] of Object.entries(SMUGGLED)) {
        if (field in body) continue;
        const answer = await post(tenant.key, path, { ...body, [field]: value }, method);
        expect([path, field, ...codeOf(answer), pathsOf(answer)]).toEqual([
          path,
          field,
          400,
          'invalid_request',
          [`/${field}`],
        ]);
      }
      const prototyped = JSON.stringify({ ...body, metadata: 0 }).replace(
        '"metadata":0',
        '"__proto__":{"a":1}',
      );
      expect([path, ...codeOf(await post(tenant.key, path, prototyped, method))]).toEqual([
        path,
        400,
        'forbidden_key',
      ]);
    }
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
    expect((await get(suite.api.url, tenant, `/v1/webhook-endpoints/${id}`)).text).toBe(before.text);
    const credits = (await get(suite.api.url, tenant, '/v1/credits')).json();
    expect(credits['granted']).toBe(10_000);
    expect(await suite.db.prisma.webhookEndpoint.count({ where: { tenantId: tenant.id } })).toBe(1);
  });

  it('unknown parameters of a query are not taken for known ones: another tenant stays out of sight', async () => {
    const [mine, theirs] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    await create(suite.api.url, theirs);
    for (const query of [
      `tenant=${theirs.id}`,
      `tenant_id=${theirs.id}`,
      `account=${theirs.id}`,
      `account=default&account=${theirs.id}`,
      `state=queued&state[]=succeeded`,
      `limit=1&limit=100`,
    ]) {
      const answer = await get(suite.api.url, mine, `/v1/generations?${query}`);
      expect([query, answer.status < 500, answer.json()['data'] ?? []]).toEqual([query, true, []]);
    }
  });

  it('an answer has the documented fields only', async () => {
    const tenant = await newTenant(suite.db);
    const made = (await create(suite.api.url, tenant)).json();
    const shown = (await get(suite.api.url, tenant, `/v1/generations/${String(made['id'])}`)).json();
    for (const answer of [made, shown]) {
      expect(Object.keys(answer).toSorted()).toEqual(Object.keys(generationSchema.shape).toSorted());
      // Not chosen, so not told.
      expect(answer['provider']).toBeNull();
      const text = JSON.stringify(answer);
      expect(text).not.toMatch(/provider_|submission|hold_|cost|usd|(?:ten|acc|sub)_[0-9a-z]{20}|m-video/i);
    }
  });
});

describe('API4 what one tenant can ask for has an end', () => {
  it('pages, bodies, texts, endpoints: one more than allowed is refused, and the last allowed one is taken', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['generations', 'webhooks'] });
    for (const [limit, status] of [
      ['100', 200],
      ['101', 400],
      ['0', 400],
      ['-1', 400],
      ['1e9', 400],
      ['99999999999999999999', 400],
    ] as const) {
      const answer = await get(suite.api.url, tenant, `/v1/generations?limit=${limit}`);
      expect([limit, answer.status]).toEqual([limit, status]);
    }
    const long = (length: number) => ({ ...BODY, input: { prompt: 'x'.repeat(length) } });
    expect(codeOf(await create(suite.api.url, tenant, { body: long(2_001) }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect((await create(suite.api.url, tenant, { body: long(2_000) })).status).toBe(202);
    const big = await create(suite.api.url, tenant, { body: long(2_000_000) });
    expect(codeOf(big)).toEqual([413, 'body_too_large']);
    const endpoints = [];
    for (let i = 0; i < 21; i += 1)
      endpoints.push(
        (await post(tenant.key, '/v1/webhook-endpoints', { url: `https://example.com/${i}` })).status,
      );
    expect(endpoints).toEqual([...Array<number>(20).fill(201), 409]);
    const url = await send(suite.api.url, {
      path: `/v1/generations?after=${'x'.repeat(20_000)}`,
      headers: { Authorization: `Bearer ${tenant.key}` },
    });
    expect([url.status, url.json()['code']]).toEqual([431, 'malformed_http']);
  });
});
