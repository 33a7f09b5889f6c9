import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createKlingProvider } from '../../src/providers/kling.ts';
import { startSimulator, type RunningSimulator } from '../../src/simulators/core.ts';
import { klingSimulator } from '../../src/simulators/kling.ts';
import { Control } from '../simulators/control.ts';
import { CREDENTIAL_NAME } from './fixture.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

describe('kling: find and list', () => {
  let server: ScriptedServer;
  let simulator: RunningSimulator;
  let control: Control;
  let http: OutboundHttp;
  const options = { credential: { name: CREDENTIAL_NAME, apiKey: 'key-of-kling' }, timeoutMs: 10_000 };
  const at = (baseUrl: string) => createKlingProvider({ http, baseUrl });

  beforeAll(async () => {
    server = await ScriptedServer.start();
    simulator = await startSimulator(klingSimulator, { apiKeys: ['key-of-kling'], renderMs: 20 });
    control = new Control(simulator.url);
    http = httpTo(server.url, simulator.url);
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([server.close(), simulator.close()]);
  });
  const submit = (prompt: string, idempotencyKey: string) => {
    const kling = at(simulator.url);
    const request = kling.buildSubmit({
      method: 'text-to-video',
      providerModel: 'kling-3.0',
      input: { prompt },
      params: {},
      callbackUrl: null,
      idempotencyKey,
    });
    return kling.submit(request, idempotencyKey, options);
  };
  const find = (key: string) => at(simulator.url).find?.(key, options);

  test('a lost answer: found by our id, and a second send is a duplicate that stays unknown', async () => {
    await control.fault('lost answer', { kind: 'reset_after_accept' });
    expect(await find('lost-1')).toEqual({ kind: 'not_found' });
    expect(await submit('lost answer', 'lost-1')).toEqual({ kind: 'unknown', reason: 'reset' });
    const [taken] = (await control.journal('lost answer')).jobs;
    expect(await find('lost-1')).toEqual({ kind: 'found', handle: { jobId: taken?.id } });
    expect(await submit('lost answer', 'lost-1')).toEqual({
      kind: 'unknown',
      reason: 'http_400:1201:duplicate',
    });
    expect((await control.journal('lost answer')).jobs).toHaveLength(1);
  });

  test('a submit that never came in is not found', async () => {
    await control.fault('never came', { kind: 'reset_before_accept' });
    expect(await submit('never came', 'never-1')).toMatchObject({ kind: 'unknown' });
    expect(await find('never-1')).toEqual({ kind: 'not_found' });
  });

  test('the list shows our external id', async () => {
    await submit('listed', 'listed-1');
    const page = await at(simulator.url).list?.({ after: null, limit: 1 }, options);
    expect(page).toMatchObject({ kind: 'page', jobs: [{ externalId: 'listed-1', callbackUrl: null }] });
  });

  test.each([
    ['no list', { data: {} }, { kind: 'unavailable', reason: 'unreadable_answer' }],
    [
      'another external id',
      { data: [{ id: '1', status: 'x', external_id: 'other' }] },
      { kind: 'unavailable' },
    ],
    ['no external id', { data: [{ id: '1', status: 'x' }] }, { kind: 'unavailable' }],
    ['an error under HTTP 200', { code: 5000 }, { kind: 'unavailable', reason: 'http_200:5000' }],
    ['code 1203', { code: 1203 }, { kind: 'not_found' }],
    ['none', { data: [] }, { kind: 'not_found' }],
  ])('find answered with %s', async (_name, members, expected) => {
    server.answer = {
      status: 200,
      body: JSON.stringify({ code: 0, message: '', request_id: 'r', ...members }),
    };
    server.seen.length = 0;
    expect(await at(server.url).find?.('key-1', options)).toMatchObject(expected);
    expect(server.seen[0]).toMatchObject({ method: 'GET', url: '/tasks?external_task_ids=key-1' });
  });

  test('a key that was never an external id is a defect', async () => {
    await expect(at(server.url).find?.('a,b', options)).rejects.toThrow(/external task id/);
  });

  test('an own code for duplicates', async () => {
    server.answer = { status: 400, body: '{"code":1299,"message":"no"}' };
    const kling = createKlingProvider({ http, baseUrl: server.url, duplicateCodes: ['1299'] });
    const request = { method: 'POST', path: '/x', contentType: 'application/json', body: '{}' } as const;
    expect(await kling.submit(request, 'k', options)).toEqual({
      kind: 'unknown',
      reason: 'http_400:1299:duplicate',
    });
  });
});
