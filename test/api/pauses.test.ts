import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { accept, send as sendToProvider } from '../db/fixtures.ts';
import { codeOf, pathsOf, useApi } from './suite.ts';
import { BODY, create, get, newTenant, readBalance, rowsOf, sendJson, type TestTenant } from './tenants.ts';

const suite = useApi();
const MODEL = BODY.model;
const operate = (path: string, body: unknown, key = suite.operator.key) =>
  sendJson(suite.api.url, key, { path: `/admin/v1/pauses${path}`, body });
const pause = (kind: string, target: string, more = {}) =>
  operate('', { kind, target, reason: 'ticket 4711', ...more });
const resume = (kind: string, target: string, more = {}) =>
  operate('/resume', { kind, target, reason: 'paid', ...more });
const list = async () =>
  (await get(suite.api.url, { ...suite.operator, id: '', keyId: '' }, '/admin/v1/pauses')).json()['data'];
const quote = (tenant: TestTenant) => sendJson(suite.api.url, tenant.key, { path: '/v1/quotes', body: BODY });

async function modelOf(tenant: TestTenant, id: string): Promise<Record<string, unknown> | undefined> {
  const { data } = (await get(suite.api.url, tenant, '/v1/models')).json() as {
    data: Record<string, unknown>[];
  };
  return data.find((model) => model['id'] === id);
}

// Providers and models are shared by the tests of this file.
afterEach(() => suite.db.prisma.pause.deleteMany());

describe('POST /admin/v1/pauses', () => {
  it('tells what stands; the second one keeps the first', async () => {
    const first = await pause('provider', 'kling');
    expect([first.status, first.json()]).toEqual([
      200,
      {
        outcome: 'paused',
        dry_run: false,
        pause: {
          object: 'pause',
          kind: 'provider',
          target: 'kling',
          reason: 'ticket 4711',
          actor: suite.operator.actor,
          created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        },
      },
    ]);
    const second = await pause('provider', 'kling', { reason: 'another' });
    expect(second.json()).toEqual({ ...first.json(), outcome: 'already_paused' });
    expect(await list()).toEqual([first.json()['pause']]);
    const resumed = await resume('provider', 'kling');
    expect([resumed.status, resumed.json()]).toEqual([
      200,
      { outcome: 'resumed', dry_run: false, pause: first.json()['pause'], generations_due: 0 },
    ]);
    expect((await resume('provider', 'kling')).json()).toMatchObject({ outcome: 'not_paused', pause: null });
    expect(await list()).toEqual([]);
  });

  it('a dry run tells the same and changes nothing', async () => {
    const tenant = await newTenant(suite.db);
    await create(suite.api.url, tenant);
    const before = await suite.db.prisma.operatorAction.count();
    expect((await pause('tenant', tenant.id, { dry_run: true })).json()).toMatchObject({
      outcome: 'paused',
      dry_run: true,
      pause: { target: tenant.id },
    });
    expect(await list()).toEqual([]);
    await pause('tenant', tenant.id);
    expect((await resume('tenant', tenant.id, { dry_run: true })).json()).toMatchObject({
      outcome: 'resumed',
      dry_run: true,
      generations_due: 1,
    });
    expect(await list()).toHaveLength(1);
    expect(await suite.db.prisma.operatorAction.count()).toBe(before + 1);
  });

  it.each([
    ['provider', 'klng', 'kling'],
    ['model', 'infro-vidoe', 'infro-video'],
  ])('an unknown %s is refused, with what there is', async (kind, target, named) => {
    for (const answer of [await pause(kind, target), await resume(kind, target)]) {
      expect([codeOf(answer), pathsOf(answer)]).toEqual([[400, 'invalid_request'], ['/target']]);
      expect(answer.text).toContain(named);
    }
    expect(await list()).toEqual([]);
  });

  it('an unknown tenant is 404', async () => {
    for (const answer of [await pause('tenant', 'ten_none'), await resume('tenant', 'ten_none')]) {
      expect(codeOf(answer)).toEqual([404, 'tenant_not_found']);
      expect(answer.text).toContain('darkroom tenant list');
    }
    expect(await list()).toEqual([]);
  });

  it('a model that left the catalogue can be paused while a generation of it has not ended', async () => {
    const tenant = await newTenant(suite.db);
    const id = (await create(suite.api.url, tenant)).json()['id'] as string;
    await suite.db.prisma.generation.update({ where: { id }, data: { model: 'old-model' } });
    expect((await pause('model', 'old-model')).json()).toMatchObject({ outcome: 'paused' });
  });

  it('names every wrong field, and is for operators only', async () => {
    const wrong = await operate('', { kind: 'region', target: '', reason: ' ', until: 'tomorrow' });
    expect(codeOf(wrong)).toEqual([400, 'invalid_request']);
    expect(pathsOf(wrong).toSorted()).toEqual(['/kind', '/reason', '/target', '/until']);
    const tenant = await newTenant(suite.db);
    const body = { kind: 'model', target: MODEL, reason: 'x' };
    expect(codeOf(await operate('', body, tenant.key))).toEqual([403, 'scope_missing']);
    expect(codeOf(await operate('/resume', body, tenant.key))).toEqual([403, 'scope_missing']);
    expect(await list()).toEqual([]);
  });
});

describe('a paused model', () => {
  it('answers 503 with Retry-After, holds nothing and leaves the key free; models and quotes say so', async () => {
    const tenant = await newTenant(suite.db);
    const [earlier, key] = [randomUUID(), randomUUID()];
    const taken = await create(suite.api.url, tenant, { key: earlier });
    await pause('model', MODEL);

    const refused = await create(suite.api.url, tenant, { key });
    expect([codeOf(refused), refused.headers['retry-after']]).toEqual([[503, 'model_paused'], '60']);
    expect(refused.text).not.toContain('ticket');
    expect(await rowsOf(suite.db, tenant.id)).toMatchObject({ generations: 1, holds: 1 });
    const replay = await create(suite.api.url, tenant, { key: earlier });
    expect([replay.status, replay.text]).toEqual([202, taken.text]);
    expect(await modelOf(tenant, MODEL)).toMatchObject({ paused: true });
    expect((await quote(tenant)).json()).toMatchObject({ paused: true, affordable: true });
    const other = DEFAULT_CATALOGUE.models.find(({ id }) => id !== MODEL)!;
    expect(await modelOf(tenant, other.id)).toMatchObject({ paused: false });

    await resume('model', MODEL);
    expect((await create(suite.api.url, tenant, { key })).status).toBe(202);
    expect(await modelOf(tenant, MODEL)).toMatchObject({ paused: false });
    expect((await quote(tenant)).json()).toMatchObject({ paused: false });
  });

  it('fetches no file for what it refuses', async () => {
    const tenant = await newTenant(suite.db);
    const model = DEFAULT_CATALOGUE.models.find(({ method }) => method === 'image-to-video')!;
    await pause('model', model.id);
    // Fetching this address would be refused as unusable.
    const input = { image_url: 'https://files.invalid/a.png', prompt: 'x' };
    const refused = await create(suite.api.url, tenant, { body: { model: model.id, input } });
    expect(codeOf(refused)).toEqual([503, 'model_paused']);
  });
});

describe('a paused tenant', () => {
  it('creates nothing; it reads, cancels and follows what it has, and callbacks and files go on', async () => {
    const [tenant, other] = [await newTenant(suite.db), await newTenant(suite.db)];
    const [waits, runs] = [await create(suite.api.url, tenant), await create(suite.api.url, tenant)];
    const running = runs.json()['id'] as string;
    await sendToProvider(suite.db, running);
    await pause('tenant', tenant.id);

    const refused = await create(suite.api.url, tenant);
    expect(codeOf(refused)).toEqual([403, 'tenant_paused']);
    expect(refused.text).not.toContain('ticket');
    expect((await create(suite.api.url, other)).status).toBe(202);
    expect((await quote(tenant)).json()).toMatchObject({ paused: true });
    expect((await quote(other)).json()).toMatchObject({ paused: false });
    expect(await modelOf(tenant, MODEL)).toMatchObject({ paused: false });

    await accept(suite.db, running);
    expect((await get(suite.api.url, tenant, `/v1/generations/${running}`)).json()).toMatchObject({
      state: 'running',
      stage: 'waiting',
    });
    const events = `/v1/generations/${waits.json()['id'] as string}/cancel`;
    const cancelled = await sendJson(suite.api.url, tenant.key, { path: events, body: '' });
    expect([cancelled.status, cancelled.json()['state']]).toEqual([200, 'cancelled']);
    expect(await readBalance(suite.api.url, tenant)).toMatchObject({ held: 100 });
    expect((await get(suite.api.url, tenant, '/v1/generations')).status).toBe(200);

    await resume('tenant', tenant.id);
    expect((await create(suite.api.url, tenant)).status).toBe(202);
  });
});

it('readiness does not fail for a pause', async () => {
  await pause('provider', 'infro');
  await pause('model', MODEL);
  expect((await get(suite.api.url, { ...suite.operator, id: '', keyId: '' }, '/readyz')).status).toBe(200);
});
