import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createFalProvider } from '../../src/providers/fal.ts';
import { APP } from './fal-rows.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

describe('fal: which URLs are called', () => {
  let server: ScriptedServer;
  let other: ScriptedServer;
  let http: OutboundHttp;
  const options = { credential: { name: 'default', apiKey: 'the-key' }, timeoutMs: 10_000 };
  const paths = () => server.seen.map(({ method, url }) => `${method} ${url}`);

  beforeAll(async () => {
    server = await ScriptedServer.start();
    other = await ScriptedServer.start();
    http = httpTo(server.url, other.url);
  });
  afterAll(async () => {
    await http.close();
    await Promise.all([server.close(), other.close()]);
  });

  test('the returned ones on the configured host; a stored one elsewhere is replaced by its documented form', async () => {
    server.answer = { status: 202, body: JSON.stringify({ status: 'IN_QUEUE' }) };
    const provider = createFalProvider({ http, baseUrl: server.url });
    const returned = `${server.url}/renamed/app/requests/r1`;
    await provider.observe({ jobId: 'r1', app: APP, statusUrl: `${returned}/status` }, options);
    await provider.observe(
      { jobId: 'r1', app: APP, statusUrl: `${other.url}/a/b/requests/r1/status` },
      options,
    );
    await provider.observe({ jobId: 'r1', app: APP, statusUrl: `${returned}/cancel` }, options);
    await provider.cancel(
      { jobId: 'r1', app: APP, cancelUrl: `${other.url}/a/b/requests/r1/cancel` },
      options,
    );
    expect(paths()).toEqual([
      'GET /renamed/app/requests/r1/status',
      `GET /${APP}/requests/r1/status`,
      `GET /${APP}/requests/r1/status`,
      `PUT /${APP}/requests/r1/cancel`,
      `GET /${APP}/requests/r1/status`,
    ]);
    expect(new Set(server.seen.map(({ headers }) => headers['authorization']))).toEqual(
      new Set(['Key the-key']),
    );
    expect(other.seen).toEqual([]);
  });

  test('a base URL with a path keeps it', async () => {
    server.seen.length = 0;
    server.answer = { status: 404, body: JSON.stringify({ detail: 'x' }) };
    const provider = createFalProvider({ http, baseUrl: `${server.url}/proxy/` });
    const request = provider.buildSubmit({
      method: 'text-to-video',
      providerModel: APP,
      input: { prompt: 'x' },
      params: {},
      callbackUrl: null,
      idempotencyKey: 'k',
    });
    await provider.submit(request, 'k', options);
    await provider.observe(
      { jobId: 'r1', app: APP, statusUrl: `${server.url}/${APP}/requests/r1/status` },
      options,
    );
    expect(paths()).toEqual([`POST /proxy/${APP}`, `GET /proxy/${APP}/requests/r1/status`]);
  });

  test('an answer that is too large is unavailable', async () => {
    server.answer = ({ url }) => {
      const isStatus = url.endsWith('/status');
      return {
        status: 200,
        body: isStatus ? JSON.stringify({ status: 'COMPLETED' }) : 'x'.repeat(9_000_000),
      };
    };
    const provider = createFalProvider({ http, baseUrl: server.url });
    expect(await provider.observe({ jobId: 'r1', app: APP }, options)).toMatchObject({
      kind: 'unavailable',
      reason: 'answer_too_large',
    });
  });

  test('status and result share the time that one call was given', async () => {
    const given: number[] = [];
    const slow: OutboundHttp = {
      ...http,
      async request({ timeoutMs }) {
        given.push(timeoutMs);
        await sleep(60);
        return { kind: 'answer', status: 200, headers: {}, body: Buffer.from('{"status":"COMPLETED"}') };
      },
    };
    const provider = createFalProvider({ http: slow, baseUrl: server.url });
    await provider.observe({ jobId: 'r1', app: APP }, options);
    await provider.observe({ jobId: 'r1', app: APP }, { ...options, timeoutMs: 20 });
    const [first = 0, second = 0, , fourth] = given;
    expect(first).toBeLessThanOrEqual(10_000);
    expect(second).toBeLessThanOrEqual(first - 50);
    expect(second).toBeGreaterThan(1);
    expect(fourth).toBe(1);
  });
});
