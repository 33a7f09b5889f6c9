import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { grantCredits } from '../../src/services/grant-credits.ts';
import type { Answer } from './client.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { BODY, create, get, newTenant, readBalance, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();

const merchant = () => newTenant(suite.db, { credits: 0, scopes: ['generations', 'credits:grant'] });
const balance = (tenant: TestTenant, account?: string) => readBalance(suite.api.url, tenant, account);

interface GrantOptions {
  readonly key?: string;
  readonly account?: string;
  readonly headers?: Record<string, string>;
}

function topUp(
  tenant: TestTenant,
  body: unknown,
  { key = randomUUID(), account, headers = { 'Idempotency-Key': key } }: GrantOptions = {},
): Promise<Answer> {
  const path = account === undefined ? '/v1/credits/grants' : `/v1/accounts/${account}/grants`;
  return sendJson(suite.api.url, tenant.key, { path, body, headers });
}

describe('POST /v1/credits/grants', () => {
  it('T13 a top-up that is sent twice is granted once, and gets the same bytes', async () => {
    const tenant = await merchant();
    const first = await topUp(tenant, { credits: 500, reason: 'order 1' }, { key: 'order-1' });
    expect([first.status, first.json()]).toEqual([
      201,
      {
        id: expect.stringMatching(/^grant_\d+$/) as string,
        object: 'grant',
        account: 'default',
        credits: 500,
        reason: 'order 1',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      },
    ]);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const again = await Promise.all(
      ['order-1', '"order-1"', 'order-1'].map((key) =>
        topUp(tenant, '{"reason":"order 1",  "credits":500}', { key }),
      ),
    );
    for (const answer of again) {
      expect([answer.status, answer.text, answer.headers['idempotent-replayed']]).toEqual([
        201,
        first.text,
        'true',
      ]);
    }
    expect(await balance(tenant)).toEqual({ available: 500, held: 0, spent: 0, granted: 500 });
    const { data } = (await get(suite.api.url, tenant, '/v1/credits/entries')).json();
    expect(data).toEqual([
      {
        id: first.json()['id'],
        object: 'entry',
        type: 'grant',
        available: 500,
        held: 0,
        generation_id: null,
        reason: 'order 1',
        created_at: first.json()['created_at'],
      },
    ]);
  });

  it('T13 twenty at once with one key: one grant, one set of bytes', async () => {
    const tenant = await merchant();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => topUp(tenant, { credits: 7 }, { key: 'storm', account: 'new' })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await balance(tenant, 'new')).toEqual({ available: 7, held: 0, spent: 0, granted: 7 });
  });

  it('the same key with other credits, another reason or account is 422, and changes nothing', async () => {
    const tenant = await merchant();
    await topUp(tenant, { credits: 500, reason: 'a' }, { key: 'k' });
    const others = [
      await topUp(tenant, { credits: 501, reason: 'a' }, { key: 'k' }),
      await topUp(tenant, { credits: 500, reason: 'b' }, { key: 'k' }),
      await topUp(tenant, { credits: 500 }, { key: 'k' }),
      await topUp(tenant, { credits: 500, reason: 'a' }, { key: 'k', account: 'user-1' }),
    ];
    for (const answer of others) {
      expect(codeOf(answer)).toEqual([422, 'idempotency_key_reuse']);
    }
    expect(await balance(tenant)).toMatchObject({ granted: 500 });
    expect((await get(suite.api.url, tenant, '/v1/accounts/user-1/credits')).status).toBe(404);
  });

  it('a key is the tenant’s own, and not the reference of another way to grant', async () => {
    const [one, two] = await Promise.all([merchant(), merchant()]);
    const grant = { account: 'default', credits: 3, reason: 'granted by the API', actor: 'cli' };
    await grantCredits(suite, { tenantId: one.id, businessKey: 'ref', ...grant });
    for (const tenant of [one, two]) {
      const answer = await topUp(tenant, { credits: 3 }, { key: 'ref' });
      expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([201, undefined]);
    }
    expect(await balance(one)).toMatchObject({ granted: 6 });
    expect(await balance(two)).toMatchObject({ granted: 3 });
  });

  it.each<[string, string, string]>([
    ['zero', '0', '/credits'],
    ['negative', '-1', '/credits'],
    ['minus zero', '-0', '/credits'],
    ['a fraction', '1.5', '/credits'],
    ['2^53', '9007199254740992', '/credits'],
    ['2^53 + 1', '9007199254740993', '/credits'],
    ['1e400', '1e400', '/credits'],
    ['a text', '"5"', '/credits'],
    ['null', 'null', '/credits'],
    ['a list', '[5]', '/credits'],
    ['true', 'true', '/credits'],
  ])('T43 %s is 400 and names the field', async (_name, credits, path) => {
    const tenant = await merchant();
    const answer = await topUp(tenant, `{"credits":${credits}}`);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [path]]);
    expect(await balance(tenant)).toMatchObject({ granted: 0 });
  });

  it('T43 NaN, no credits, unknown fields, a bad reason, a bad account are 400', async () => {
    const tenant = await merchant();
    const cases: [unknown, string, string[] | undefined, string?][] = [
      ['{"credits":NaN}', 'malformed_json', undefined],
      [{}, 'invalid_request', ['/credits']],
      [{ credits: 1, account: 'x' }, 'invalid_request', ['/account']],
      [{ credits: 1, reason: ' ' }, 'invalid_request', ['/reason']],
      [{ credits: 1, reason: 'x'.repeat(501) }, 'invalid_request', ['/reason']],
      [{ credits: 1 }, 'invalid_request', ['/account'], 'a%20b'],
      [{ credits: 1 }, 'invalid_request', ['/account'], '%00'],
    ];
    for (const [body, code, paths, account] of cases) {
      const answer = await topUp(tenant, body, account === undefined ? {} : { account });
      expect(codeOf(answer)).toEqual([400, code]);
      if (paths !== undefined) expect(pathsOf(answer)).toEqual(paths);
    }
    expect((await topUp(tenant, { credits: 1 }, { headers: {} })).json()['code']).toBe(
      'idempotency_key_missing',
    );
    expect(await suite.db.prisma.ledgerAccount.count({ where: { tenantId: tenant.id } })).toBe(1);
  });

  it('never grants more than 2^53 − 1 in all, and a refused grant makes no account', async () => {
    const tenant = await merchant();
    const most = Number.MAX_SAFE_INTEGER;
    expect((await topUp(tenant, { credits: most })).status).toBe(201);
    const more = await topUp(tenant, { credits: 1 }, { key: 'more' });
    expect([more.status, more.json()]).toEqual([
      409,
      expect.objectContaining({ code: 'balance_too_large', max: most }),
    ]);
    expect(await balance(tenant)).toEqual({ available: most, held: 0, spent: 0, granted: most });
    expect((await topUp(tenant, { credits: 1 }, { key: 'more', account: 'user-1' })).status).toBe(201);
  });

  it('needs the scope: such a key may grant and nothing else, others may not grant', async () => {
    const granting = await newTenant(suite.db, { credits: 0, scopes: ['credits:grant'] });
    expect((await topUp(granting, { credits: 1_000 })).status).toBe(201);
    const denied = [
      await create(suite.api.url, granting),
      await sendJson(suite.api.url, granting.key, { path: '/v1/quotes', body: BODY }),
      await get(suite.api.url, granting, '/v1/credits'),
      await topUp(await newTenant(suite.db), { credits: 1 }),
      await sendJson(suite.api.url, suite.operator.key, {
        path: '/v1/credits/grants',
        body: { credits: 1 },
        headers: { 'Idempotency-Key': 'k' },
      }),
    ];
    for (const answer of denied) expect(codeOf(answer)).toEqual([403, 'scope_missing']);
    expect(await suite.db.prisma.generation.count({ where: { tenantId: granting.id } })).toBe(0);
  });

  it('stands in the ledger with the key that did it', async () => {
    const tenant = await merchant();
    await topUp(tenant, { credits: 5 }, { key: 'who' });
    const row = await suite.db.prisma.ledgerTransaction.findUniqueOrThrow({
      where: { businessKey: `grant:${tenant.id}:api:who` },
    });
    expect(row).toMatchObject({ actor: `key:${tenant.keyId}`, reason: 'granted by the API' });
  });
});
