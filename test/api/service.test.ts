import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import { createReadiness, type ReadinessCheck } from '../../src/services/check-readiness.ts';
import { startApi, stubDb, testKeyring, WEBHOOK_SECRET, type TestApi } from './api.ts';
import { send } from './client.ts';

const stub = stubDb();
let api: TestApi;
beforeAll(async () => {
  api = await startApi(stub.db);
});
afterAll(() => api.close());

function check(name: string, run: ReadinessCheck['check'], required = true): ReadinessCheck {
  return { name, check: run, advice: `Start the ${name}.`, required };
}

describe('GET /readyz', () => {
  it('names what is missing and what to do, never the error itself', async () => {
    const failures: string[] = [];
    let rounds = 0;
    const readiness = createReadiness(
      [
        check('database', async () => {
          rounds += 1;
        }),
        check('temporal', async () => {
          throw new Error('connect ECONNREFUSED 10.1.2.3:7233');
        }),
        check('storage', () => new Promise(() => {})),
      ],
      (name) => failures.push(name),
    );
    const bad = await startApi(stub.db, { readiness });
    const answers = await Promise.all([1, 2, 3].map(() => send(bad.url, { path: '/readyz' })));
    expect(rounds).toBe(1);
    for (const answer of answers) {
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
      expect(answer.json()).toMatchObject({
        code: 'not_ready',
        detail: 'Missing: temporal, storage.',
        errors: [
          { path: '/temporal', message: 'Start the temporal.' },
          { path: '/storage', message: 'Start the storage.' },
        ],
      });
      expect(answer.text).not.toContain('10.1.2.3');
    }
    expect(failures.sort((a, b) => (a < b ? -1 : 1))).toEqual(['storage', 'temporal']);
    await bad.close();
  });

  it('is ready when everything is there', async () => {
    const readiness = createReadiness([check('database', async () => 1)], () => {});
    const good = await startApi(stub.db, { readiness });
    expect((await send(good.url, { path: '/readyz' })).json()).toEqual({
      status: 'ready',
      checks: { database: 'ok' },
      advice: [],
    });
    await good.close();
  });

  it('goes on serving, degraded, without what it can do without', async () => {
    const away = check('temporal', () => Promise.reject(new Error('away')), false);
    const readiness = createReadiness([check('database', async () => 1), away], () => {});
    const api = await startApi(stub.db, { readiness });
    const answer = await send(api.url, { path: '/readyz' });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      status: 'degraded',
      checks: { database: 'ok', temporal: 'missing' },
      advice: ['Start the temporal.'],
    });
    await api.close();
  });
});

describe('LOG-1 one line a request', () => {
  it('says who asked for what and how it ended, and nothing secret', async () => {
    const own = await startApi(stub.db);
    const token = makeCallbackToken(testKeyring(), 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1').token;
    const secrets = [
      stub.apiKey,
      'CANARY-KEY',
      'CANARY-PROMPT',
      'CANARY-QUERY',
      'CANARY-COOKIE',
      token,
      WEBHOOK_SECRET,
    ];
    await send(own.url, {
      method: 'POST',
      path: '/v1/generations?x=CANARY-QUERY',
      headers: {
        Authorization: `Bearer ${stub.apiKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'CANARY-KEY',
        Cookie: 'CANARY-COOKIE',
        'X-Request-Id': 'log-1',
      },
      body: '{"model":"infro-video","input":{"prompt":"CANARY-PROMPT"}}',
    });
    await send(own.url, { method: 'POST', path: `/callbacks/infro/${token}`, body: 'CANARY-PROMPT' });
    await send(own.url, { path: `/unknown/CANARY-QUERY` });
    await send(own.url, { path: '/healthz' });
    await own.close();
    const lines = own.logs
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'request');
    expect(
      lines.map(({ method, route, status, tenant, problem }) => [method, route, status, tenant, problem]),
    ).toEqual([
      ['POST', '/v1/generations', 500, 'ten_stub', 'internal_error'],
      ['POST', '/callbacks/{provider}/{token}', 401, null, 'callback_unverified'],
      ['GET', null, 404, null, 'not_found'],
      ['GET', '/healthz', 200, null, null],
    ]);
    expect(lines[0]).toMatchObject({ request_id: 'log-1', ms: expect.any(Number) as number });
    for (const secret of secrets) expect(own.logs.join('')).not.toContain(secret);
  });
});

/** Sends these bytes and nothing more; all that comes until the server closes the connection, or at most 1 s after the first answer. */
function rawAnswer(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString();
      setTimeout(() => socket.destroy(), 1_000).unref();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

describe('the server', () => {
  it('LIM-1 has limits on slow senders and on connections', async () => {
    const { createApiServer } = await import('../../src/api/server.ts');
    const server = createApiServer(() => {});
    expect(server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 300_000,
      keepAliveTimeout: 75_000,
      maxConnections: 2_000,
      maxHeadersCount: 0,
    });
  });

  it('LIM-1 four hundred slow senders are cut off with 408; others are served meanwhile', async () => {
    const own = await startApi(stub.db, {}, { bodyTimeoutMs: 6_000 });
    own.server.headersTimeout = 6_000;
    const slowBody =
      `POST /v1/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stub.apiKey}\r\nIdempotency-Key: k\r\n` +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    const slow = Array.from({ length: 400 }, (_, i) =>
      rawAnswer(own.url, i % 2 === 0 ? 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:' : slowBody),
    );
    const normal = await Promise.all(
      Array.from({ length: 20 }, () => send(own.url, { path: '/healthz' }).then(({ status }) => status)),
    );
    expect(normal).toEqual(Array<number>(20).fill(200));
    for (const answer of await Promise.all(slow)) {
      expect(answer).toMatch(
        /^HTTP\/1\.1 408 Request Timeout\r\nContent-Type: application\/problem\+json\r\n/,
      );
      expect(answer).toContain('"code":"malformed_http"');
    }
    await own.close();
  }, 90_000);

  it.each([
    ['two lengths', 'Host: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc'],
    ['length and chunked', 'Host: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', 'Host: x\r\nX-A: a\r\n b\r\n\r\n'],
    ['a bare line feed', 'Host: x\nX-A: a\r\n\r\n'],
    ['no Host', '\r\n'],
  ])('LIM-1 WHI-10 %s is 400', async (_name, rest) => {
    expect(await rawAnswer(api.url, `POST /v1/generations HTTP/1.1\r\n${rest}`)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('keeps a connection usable after a refused body', async () => {
    const huge = await send(api.url, {
      method: 'POST',
      path: '/v1/generations',
      headers: { 'Content-Type': 'application/json' },
      body: 'x'.repeat(2 * 1024 * 1024),
    });
    expect(huge.status).toBe(401);
    expect((await send(api.url, { path: '/healthz' })).status).toBe(200);
  });
});
