import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createWebhookEndpoint, rotateWebhookSecret } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { BODY, create, get, newTenant, rowsOf, type TestTenant } from './tenants.ts';

const suite = useApi();
const URL_OF_MINE = 'https://hooks.example.com/darkroom?order=A-1';
const SEALED = Buffer.alloc(60, 1);

const ask = (tenant: TestTenant, callback_url: unknown, key: string = randomUUID()) =>
  create(suite.api.url, tenant, { body: { ...BODY, callback_url }, key });

function newSecret({ id: tenantId }: TestTenant): Promise<unknown> {
  return rotateWebhookSecret(
    suite.db,
    { tenantId, endpointId: null, keyId: 'k1', overlapMs: 86_400_000 },
    SEALED,
  );
}

describe('callback_url', () => {
  it('is kept with the generation and never shown', async () => {
    const tenant = await newTenant(suite.db);
    await newSecret(tenant);
    const answer = await ask(tenant, URL_OF_MINE);
    expect(answer.status).toBe(202);
    const { id } = answer.json() as { id: string };
    expect(await suite.db.prisma.generation.findUniqueOrThrow({ where: { id } })).toMatchObject({
      callbackUrl: URL_OF_MINE,
    });
    const read = await get(suite.api.url, tenant, `/v1/generations/${id}`);
    expect(answer.text + read.text + suite.api.logs.join('')).not.toContain('hooks.example.com');
  });

  it('without a default secret nothing could sign it: 409, nothing is held, and the key stays free', async () => {
    const [tenant, other] = [await newTenant(suite.db), await newTenant(suite.db)];
    await newSecret(other);
    // The secret of an endpoint signs for that endpoint only.
    await createWebhookEndpoint(
      suite.db,
      {
        endpointId: newId('whe'),
        tenantId: tenant.id,
        url: 'https://hooks.example.com/',
        types: ['generation.succeeded'],
        description: '',
        endOn4xx: false,
        idempotencyKey: 'endpoint',
        requestSha256: '00'.repeat(32),
        keyId: 'k1',
        maxEndpoints: 5,
      },
      SEALED,
    );
    const answer = await ask(tenant, URL_OF_MINE, 'key');
    expect([...codeOf(answer), pathsOf(answer)]).toEqual([409, 'webhook_secret_missing', ['/callback_url']]);
    expect(answer.json()['detail']).toContain('POST /v1/webhook-secret/rotate');
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
    await newSecret(tenant);
    await newSecret(tenant);
    expect((await ask(tenant, URL_OF_MINE, 'key')).status).toBe(202);
  });

  it('belongs to the request: another one under the same key is refused, the same is replayed', async () => {
    const tenant = await newTenant(suite.db);
    await newSecret(tenant);
    const first = await ask(tenant, URL_OF_MINE, 'key');
    expect(codeOf(await ask(tenant, `${URL_OF_MINE}2`, 'key'))).toEqual([422, 'idempotency_key_reuse']);
    expect(codeOf(await create(suite.api.url, tenant, { body: BODY, key: 'key' }))).toEqual([
      422,
      'idempotency_key_reuse',
    ]);
    await suite.db.prisma.webhookSecret.deleteMany({ where: { tenantId: tenant.id } });
    const again = await ask(tenant, URL_OF_MINE, 'key');
    expect([again.status, again.text, again.headers['idempotent-replayed']]).toEqual([
      202,
      first.text,
      'true',
    ]);
  });

  it.each([
    'http://hooks.example.com/',
    'https://hooks.example.com:8443/',
    'https://user:secret@hooks.example.com/',
    'https://hooks.example.com/#part',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://localhost/',
    'https://hooks.example.com\\@localhost/',
    'ftp://hooks.example.com/',
    'hooks.example.com',
    '',
    `https://hooks.example.com/${'a'.repeat(2_023)}`,
    5,
    null,
  ])('SSRF-1 SSRF-2 SSRF-5 %j is refused by its text', async (callback_url) => {
    const tenant = await newTenant(suite.db);
    await newSecret(tenant);
    const answer = await ask(tenant, callback_url);
    expect([...codeOf(answer), pathsOf(answer)]).toEqual([400, 'invalid_request', ['/callback_url']]);
    expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
  });
});
