import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDb, type Db } from '../../src/db/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/stack.ts';
import { startApi, type TestApi } from './api.ts';
import { BODY, create, newTenant, rowsOf } from './tenants.ts';

let database: TestDatabase;
let db: Db;
let api: TestApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDb(database.url, { poolSize: 20 });
  api = await startApi(db);
});
afterAll(async () => {
  await api.close();
  await db.close();
  await database.drop();
});

describe('every wrong field is named by a JSON pointer, and nothing is written', () => {
  const cases: [name: string, body: unknown, code: string, paths: string[]][] = [
    ['unknown model', { ...BODY, model: 'sora' }, 'unknown_model', ['/model']],
    ['no model', { input: { prompt: 'x' } }, 'invalid_request', ['/model']],
    ['model of a wrong type', { ...BODY, model: 7 }, 'invalid_request', ['/model']],
    ['missing prompt', { ...BODY, input: {} }, 'invalid_request', ['/input/prompt']],
    ['missing input', { model: 'infro-video' }, 'invalid_request', ['/input']],
    ['empty prompt', { ...BODY, input: { prompt: '' } }, 'invalid_request', ['/input/prompt']],
    ['white prompt', { ...BODY, input: { prompt: ' \n' } }, 'invalid_request', ['/input/prompt']],
    ['long prompt', { ...BODY, input: { prompt: 'x'.repeat(2_001) } }, 'invalid_request', ['/input/prompt']],
    ['prompt of a wrong type', { ...BODY, input: { prompt: ['x'] } }, 'invalid_request', ['/input/prompt']],
    ['unknown field', { ...BODY, credits: 1, tenant_id: 'x' }, 'invalid_request', ['/credits', '/tenant_id']],
    [
      'a callback_url that nobody may call',
      { ...BODY, callback_url: 'http://x.example' },
      'invalid_request',
      ['/callback_url'],
    ],
    ['unknown input field', { ...BODY, input: { prompt: 'x', seed: 1 } }, 'invalid_request', ['/input/seed']],
    [
      'half a second',
      { ...BODY, input: { prompt: 'x', duration_seconds: 1.5 } },
      'invalid_request',
      ['/input/duration_seconds'],
    ],
    [
      'too long a video',
      { ...BODY, input: { prompt: 'x', duration_seconds: 16 } },
      'invalid_request',
      ['/input/duration_seconds'],
    ],
    [
      'no duration',
      { ...BODY, input: { prompt: 'x', duration_seconds: 0 } },
      'invalid_request',
      ['/input/duration_seconds'],
    ],
    ['deadline too far', { ...BODY, deadline_seconds: 3_601 }, 'invalid_request', ['/deadline_seconds']],
    ['negative max_credits', { ...BODY, max_credits: -1 }, 'invalid_request', ['/max_credits']],
    ['account name', { ...BODY, account: 'a b' }, 'invalid_request', ['/account']],
    ['metadata value', { ...BODY, metadata: { a: 1 } }, 'invalid_request', ['/metadata/a']],
    ['metadata is a list', { ...BODY, metadata: [] }, 'invalid_request', ['/metadata']],
    [
      'several at once',
      { model: 'infro-video', input: { prompt: 1 }, x: 1 },
      'invalid_request',
      ['/input/prompt', '/x'],
    ],
  ];
  it.each(cases)('%s', async (_name, body, code, paths) => {
    const tenant = await newTenant(db);
    const answer = await create(api.url, tenant, { body });
    const problem = answer.json() as { code: string; errors: { path: string; message: string }[] };
    expect([answer.status, problem.code]).toEqual([400, code]);
    expect(problem.errors.map(({ path }) => path).sort((a, b) => (a < b ? -1 : 1))).toEqual(paths);
    expect(problem.errors.every(({ message }) => message.length > 5)).toBe(true);
    expect(await rowsOf(db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
  });

  it('metadata of more than 50 keys', async () => {
    const tenant = await newTenant(db);
    const metadata = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v']));
    expect((await create(api.url, tenant, { body: { ...BODY, metadata } })).json()['code']).toBe(
      'invalid_request',
    );
  });

  it('a prompt counts characters, not UTF-16 units', async () => {
    const tenant = await newTenant(db);
    expect(
      (await create(api.url, tenant, { body: { ...BODY, input: { prompt: '😊'.repeat(2_000) } } })).status,
    ).toBe(202);
  });

  it('keys: none, revoked, of another tenant’s id', async () => {
    const tenant = await newTenant(db);
    await db.prisma.apiKey.update({ where: { id: tenant.keyId }, data: { revokedAt: new Date() } });
    const answer = await create(api.url, tenant);
    expect([answer.status, answer.json()['code']]).toEqual([401, 'api_key_invalid']);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="darkroom", error="invalid_token"');
    expect(await rowsOf(db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
  });
});
