import { describe, expect, it } from 'vitest';
import type { Db } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import { traceIdOf } from '../../src/domain/trace-id.ts';
import { accept, send as sendJob } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { startApi, stubDb, testKeyring, type TestApi } from './api.ts';
import { send } from './client.ts';
import { event, signature } from './infro.ts';
import { useApi } from './suite.ts';
import { create, get, newTenant } from './tenants.ts';

const suite = useApi();
const LEVELS = { info: 30, warn: 40, error: 50 };

/** The lines of one request, once there is one. */
async function linesOf(api: TestApi, requestId: string): Promise<Record<string, unknown>[]> {
  const own = () =>
    api.logs
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['request_id'] === requestId);
  await eventually(async () => (own().length > 0 ? true : undefined), 15_000);
  return own();
}

async function lineOf(api: TestApi, requestId: string): Promise<Record<string, unknown>> {
  const lines = await linesOf(api, requestId);
  expect(lines).toHaveLength(1);
  return lines[0]!;
}

let asked = 0;
function nextId(): string {
  asked += 1;
  return `wide-${asked}`;
}

describe('LOG-1 one wide line a request', () => {
  it('a create: who, which key, which generation and its trace, how long, how much', async () => {
    const tenant = await newTenant(suite.db);
    const requestId = nextId();
    const answer = await create(suite.api.url, tenant, { headers: { 'X-Request-Id': requestId } });
    const id = answer.json()['id'] as string;
    expect(answer.headers['x-request-id']).toBe(requestId);
    const line = await lineOf(suite.api, requestId);
    expect(line).toEqual({
      level: LEVELS.info,
      time: expect.any(String),
      service: 'api',
      msg: 'request',
      request_id: requestId,
      method: 'POST',
      route: '/v1/generations',
      status: 202,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      tenant: tenant.id,
      key: tenant.keyId,
      generation: id,
      trace_id: traceIdOf(id),
      problem: null,
    });
    // Its head and its body.
    expect(line['bytes']).toBeGreaterThan(answer.text.length + 200);
    expect(line['bytes']).toBeLessThan(answer.text.length + 2_000);
  });

  it('a read of it has the same trace, a replay as well, and another tenant’s look no answer', async () => {
    const [tenant, other] = await Promise.all([newTenant(suite.db), newTenant(suite.db)]);
    const key = nextId();
    const id = (await create(suite.api.url, tenant, { key })).json()['id'] as string;
    const [read, replayed, foreign] = [nextId(), nextId(), nextId()];
    await get(suite.api.url, tenant, `/v1/generations/${id}`, { 'X-Request-Id': read });
    await create(suite.api.url, tenant, { key, headers: { 'X-Request-Id': replayed } });
    await get(suite.api.url, other, `/v1/generations/${id}`, { 'X-Request-Id': foreign });
    for (const requestId of [read, replayed])
      expect(await lineOf(suite.api, requestId)).toMatchObject({ generation: id, trace_id: traceIdOf(id) });
    expect(await lineOf(suite.api, foreign)).toMatchObject({
      tenant: other.id,
      status: 404,
      problem: 'generation_not_found',
      level: LEVELS.info,
    });
  });

  it('a callback: the generation whose job it is about, never the token', async () => {
    const tenant = await newTenant(suite.db);
    const id = (await create(suite.api.url, tenant)).json()['id'] as string;
    const jobId = `job-${id}`;
    await sendJob(suite.db, id, { provider: 'infro', credential: 'default' });
    await accept(suite.db, id, jobId);
    const { token } = makeCallbackToken(testKeyring(), `sub_${id.slice(4)}_1`);
    const told = async (path: string, body: string) => {
      const requestId = nextId();
      const headers = { 'X-Request-Id': requestId, 'INFRO-Signature': signature(body) };
      expect((await send(suite.api.url, { method: 'POST', path, headers, body })).status).toBe(200);
      return lineOf(suite.api, requestId);
    };
    const byToken = await told(`/callbacks/infro/${token}`, event(jobId));
    expect(byToken).toMatchObject({ route: '/callbacks/{provider}/{token}', generation: id });
    expect(byToken['trace_id']).toBe(traceIdOf(id));
    expect(await told('/callbacks/infro', event(jobId))).toMatchObject({ generation: id });
    expect(await told('/callbacks/infro', event('job_of_nobody'))).toMatchObject({ generation: null });
    expect(suite.api.logs.join('')).not.toContain(token.split('.')[1]);
  });

  it.each(['with space', 'x'.repeat(65), '<script>', 'a=b', ''])(
    'an X-Request-Id that is not sane gets one of ours: %j',
    async (sent) => {
      const answer = await send(suite.api.url, { path: '/healthz', headers: { 'X-Request-Id': sent } });
      const requestId = answer.headers['x-request-id'] as string;
      expect(requestId).toMatch(/^req_[A-Za-z0-9_-]{16}$/);
      expect(await lineOf(suite.api, requestId)).toMatchObject({ route: '/healthz', status: 200 });
    },
  );

  it('of our own trouble: an error with where it was thrown and nothing that it says, in the same one line', async () => {
    const stub = stubDb({ fail: new Error('CANARY of a defect') });
    const api = await startApi(stub.db);
    const requestId = nextId();
    const answer = await send(api.url, {
      path: `/v1/generations/${newId('gen')}`,
      headers: { Authorization: `Bearer ${stub.apiKey}`, 'X-Request-Id': requestId },
    });
    expect([answer.status, answer.json()['instance']]).toEqual([500, requestId]);
    const line = await lineOf(api, requestId);
    expect(line).toMatchObject({ level: LEVELS.error, problem: 'internal_error', tenant: 'ten_stub' });
    expect(line['error']).toMatchObject({ name: 'Error', at: expect.any(Array) });
    expect(line).not.toHaveProperty('dropped');
    expect(api.logs.join('')).not.toContain('CANARY');
    await api.close();
  });

  it('503 of what is away or too much is a warning, all else of a caller is information', async () => {
    const api = await startApi(suite.db);
    api.drain();
    const [unready, lost] = [nextId(), nextId()];
    await send(api.url, { path: '/readyz', headers: { 'X-Request-Id': unready } });
    await send(api.url, { path: '/nowhere', headers: { 'X-Request-Id': lost } });
    expect(await lineOf(api, unready)).toMatchObject({ level: LEVELS.warn, status: 503 });
    expect(await lineOf(api, lost)).toMatchObject({ level: LEVELS.info, status: 404, route: null });
    await api.close();
  });

  it('a client that left before the answer: 499, and what broke after its end is still told', async () => {
    let fail: (error: Error) => void = () => {};
    const leaves = new AbortController();
    const readGeneration = () => {
      leaves.abort();
      return new Promise<never>((_resolve, reject) => {
        fail = reject;
      });
    };
    const stub = stubDb();
    const query = stub.db.query.bind(stub.db);
    const broken: Db['query'] = (text, values) =>
      text.includes('FROM generation') ? readGeneration() : query(text, values);
    Object.assign(stub.db, { query: broken });
    const api = await startApi(stub.db);
    const requestId = nextId();
    const left = fetch(`${api.url}/v1/generations/${newId('gen')}`, {
      headers: { Authorization: `Bearer ${stub.apiKey}`, 'X-Request-Id': requestId },
      signal: leaves.signal,
    });
    await expect(left).rejects.toThrow(/abort/i);
    expect(await lineOf(api, requestId)).toMatchObject({ status: 499, msg: 'request' });
    fail(new Error('CANARY'));
    const lines = await eventually(async () => {
      const all = await linesOf(api, requestId);
      return all.length > 1 ? all : undefined;
    }, 15_000);
    expect(lines.map(({ msg, level }) => [msg, level])).toEqual([
      ['request', LEVELS.info],
      ['request failed after its end', LEVELS.error],
    ]);
    expect(api.logs.join('')).not.toContain('CANARY');
    await api.close();
  });
});
