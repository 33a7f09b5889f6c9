import { describe, expect, it } from 'vitest';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { send, type Answer } from './client.ts';
import { codeOf, useApi } from './suite.ts';
import { create, get, grant, newTenant, readBalance, sendJson, type TestTenant } from './tenants.ts';

/** One output for 226 credits, as in case G2. */
const { models: dear } = catalogueSchema.parse({
  models: [
    {
      id: 'for-226',
      title: '226 credits',
      method: 'text-to-image',
      routes: [{ provider: 'infro', providerModel: 'm' }],
      input: { prompt: {} },
      price: { per: 'output', rates: [{ millicredits: 226_000 }] },
      outputs: { mediaTypes: ['image/png'] },
      expectedDurationSeconds: 10,
      deadlineSeconds: { default: 300, max: 300 },
    },
  ],
});

const suite = useApi({ catalogue: { models: [...DEFAULT_CATALOGUE.models, ...dear] } });
const balance = (tenant: TestTenant) => readBalance(suite.api.url, tenant);

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly available: number;
  readonly held: number;
}

async function entries(tenant: TestTenant, query = '', account = 'default') {
  const answer = await get(suite.api.url, tenant, `/v1/accounts/${account}/entries${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as unknown as { data: Entry[]; has_more: boolean; next_cursor: string | null };
}

function fail(id: string): Promise<Answer> {
  return sendJson(suite.api.url, suite.operator.key, {
    path: `/admin/v1/generations/${id}/resolution`,
    body: { state: 'failed', reason: 'test' },
  });
}

describe('GET /v1/credits/entries', () => {
  it('G2 grant 1000, hold 226, fail: all is there again, and the history shows both', async () => {
    const tenant = await newTenant(suite.db, { credits: 0 });
    await grant(suite.db, tenant.id, 'default', 1_000);
    const body = { model: 'for-226', input: { prompt: 'x' } };
    const made = (await create(suite.api.url, tenant, { body })).json();
    expect(await balance(tenant)).toEqual({ available: 774, held: 226, spent: 0, granted: 1_000 });
    expect((await fail(made['id'] as string)).status).toBe(200);
    expect(await balance(tenant)).toEqual({ available: 1_000, held: 0, spent: 0, granted: 1_000 });
    const shared = { object: 'entry', generation_id: made['id'], created_at: expect.any(String) as string };
    const of = (id: unknown) => String(id).slice(4);
    expect((await entries(tenant)).data).toEqual([
      {
        id: `release_${of(made['id'])}`,
        type: 'release',
        available: 226,
        held: -226,
        reason: 'failed',
        ...shared,
      },
      { id: `hold_${of(made['id'])}`, type: 'hold', available: -226, held: 226, reason: null, ...shared },
      expect.objectContaining({ type: 'grant', available: 1_000, held: 0 }),
    ]);
    for (let i = 0; i < 30; i += 1) {
      const { id } = (await create(suite.api.url, tenant, { body })).json();
      await fail(id as string);
    }
    expect(await balance(tenant)).toEqual({ available: 1_000, held: 0, spent: 0, granted: 1_000 });
    expect((await entries(tenant, '?limit=100')).data).toHaveLength(63);
  }, 60_000);

  it.each([1, 2, 7, 100])('pages of %d give every entry once, and sum up to the balance', async (limit) => {
    const tenant = await newTenant(suite.db, { credits: 0 });
    await grant(suite.db, tenant.id, 'default', 900);
    for (let i = 0; i < 4; i += 1) {
      const { id } = (await create(suite.api.url, tenant)).json();
      if (i % 2 === 0) await fail(id as string);
    }
    const seen: Entry[] = [];
    let query = `?limit=${limit}`;
    for (;;) {
      const page = await entries(tenant, query);
      seen.push(...page.data);
      expect(page.has_more).toBe(page.next_cursor !== null);
      if (page.next_cursor === null) break;
      expect(page.data).toHaveLength(limit);
      // What comes in meanwhile is not on the pages that follow.
      await grant(suite.db, tenant.id, 'other', 1);
      query = `?limit=${limit}&after=${page.next_cursor}`;
    }
    expect(seen.map(({ type }) => type).sort()).toEqual(
      ['grant', 'hold', 'hold', 'hold', 'hold', 'release', 'release'].sort(),
    );
    expect(new Set(seen.map(({ id }) => id)).size).toBe(7);
    const sum = (of: 'available' | 'held') => seen.reduce((total, entry) => total + entry[of], 0);
    expect(await balance(tenant)).toMatchObject({ available: sum('available'), held: sum('held') });
  });

  it('a page stays what it was while newer entries come in', async () => {
    const tenant = await newTenant(suite.db, { credits: 0 });
    for (let i = 0; i < 6; i += 1) await grant(suite.db, tenant.id, 'default', 1 + i);
    const first = await entries(tenant, '?limit=2');
    const next = await entries(tenant, `?limit=2&after=${first.next_cursor}`);
    await grant(suite.db, tenant.id, 'default', 100);
    await create(suite.api.url, tenant);
    expect(await entries(tenant, `?limit=2&after=${first.next_cursor}`)).toEqual(next);
    expect(next.data.map(({ available }) => available)).toEqual([4, 3]);
  });

  it('refuses a cursor that is not its own', async () => {
    const tenant = await newTenant(suite.db);
    await create(suite.api.url, tenant);
    await create(suite.api.url, tenant);
    const foreign = (await get(suite.api.url, tenant, '/v1/generations?limit=1')).json()[
      'next_cursor'
    ] as string;
    const own = (await entries(tenant, '?limit=1')).next_cursor!;
    const forge = (text: string) => Buffer.from(text).toString('base64url');
    const cursors = [
      foreign,
      `${own}=`,
      own.slice(0, -1),
      forge('2026-11-29T12:00:00.000Z,grant_0'),
      forge("2026-11-29T12:00:00.000Z,grant_1' OR 1=1"),
      forge('infinity,grant_1'),
      '',
      'abc',
    ];
    for (const cursor of cursors) {
      const answer = await get(
        suite.api.url,
        tenant,
        `/v1/credits/entries?after=${encodeURIComponent(cursor)}`,
      );
      expect(codeOf(answer)).toEqual([400, 'invalid_cursor']);
    }
    for (const query of ['?limit=0', '?limit=101', '?type=hold', `?after=${'x'.repeat(201)}`]) {
      const answer = await get(suite.api.url, tenant, `/v1/credits/entries${query}`);
      expect(codeOf(answer)).toEqual([400, 'invalid_query']);
    }
  });

  it('API1 another tenant’s account is like an unknown one, for credits and entries', async () => {
    const [owner, other] = await Promise.all([
      newTenant(suite.db, { credits: 0 }),
      newTenant(suite.db, { credits: 0 }),
    ]);
    await grant(suite.db, owner.id, 'user-1', 5);
    const texts: string[] = [];
    for (const account of ['user-1', 'nobody', '%00', 'a%2Fb', 'x'.repeat(200)]) {
      for (const leaf of ['credits', 'entries']) {
        const answer = await send(suite.api.url, {
          path: `/v1/accounts/${account}/${leaf}`,
          headers: { Authorization: `Bearer ${other.key}`, 'X-Request-Id': 'same' },
        });
        texts.push(`${answer.status} ${answer.text}`);
      }
    }
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toMatch(/^404 .*"account_not_found"/);
    expect((await entries(owner, '', 'user-1')).data).toHaveLength(1);
  });
});
