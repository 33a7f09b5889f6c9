import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import type { Provider } from '../../src/domain/provider.ts';
import { infroOnly, startApi, stubDb, testKeyring, WEBHOOK_SECRET, type TestApi } from './api.ts';
import { send } from './client.ts';
import { event, signature } from './infro.ts';

describe('WHI-1 forged callbacks: 401, one body for all reasons, the database is not even read', () => {
  const stub = stubDb();
  let closed: TestApi;
  beforeAll(async () => {
    closed = await startApi(stub.db);
  });
  afterAll(() => closed.close());

  const token = makeCallbackToken(testKeyring(), 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1').token;
  const body = event('job_1');
  const now = Math.floor(Date.now() / 1_000);
  const good = signature(body);
  const path = `/callbacks/infro/${token}`;
  const forged: [name: string, path: string, signature: string | string[] | undefined, body?: string][] = [
    ['forged token', `/callbacks/infro/${token.slice(0, -2)}AA`, good],
    ['token of another submission', `/callbacks/infro/${token.replace('_1.', '_2.')}`, good],
    ['token that is only a submission', '/callbacks/infro/sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1', good],
    ['no signature', path, undefined],
    ['empty signature', path, ''],
    ['wrong secret', path, signature(body, 'whsec_other')],
    ['B4 empty secret', path, signature(body, '')],
    ['body changed by one space', path, good, `${body} `],
    ['B2 301 s old', path, signature(body, WEBHOOK_SECRET, now - 310)],
    ['B2 10 min ahead', path, signature(body, WEBHOOK_SECRET, now + 600)],
    ['B2 milliseconds', path, signature(body, WEBHOOK_SECRET, now * 1_000)],
    ['WHI-3 no number', path, signature(body, WEBHOOK_SECRET, `${now}abc`)],
    ['WHI-4 another scheme', path, good.replace('v1=', 'v0=')],
    ['WHI-6 two lines', path, [good, good]],
    ['account route, no signature', '/callbacks/infro', undefined],
    ['account route, wrong secret', '/callbacks/infro', signature(body, 'whsec_other')],
  ];
  it.each(forged)('%s', async (_name, at, sent, other = body) => {
    const headers = { 'X-Request-Id': 'same', ...(sent === undefined ? {} : { 'INFRO-Signature': sent }) };
    const answer = await send(closed.url, { method: 'POST', path: at, headers, body: other });
    expect([answer.status, answer.text]).toEqual([
      401,
      JSON.stringify({
        type: '/docs#problem-callback_unverified',
        title: 'The callback could not be verified',
        status: 401,
        code: 'callback_unverified',
        detail: 'Sign the raw body with the current secret and send it to the URL that we gave.',
        instance: 'same',
      }),
    ]);
    expect([stub.reads, stub.calls]).toEqual([0, []]);
  });

  it('B5 other content types are no way round', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', '']) {
      const answer = await send(closed.url, {
        method: 'POST',
        path,
        headers: { 'Content-Type': type },
        body,
      });
      expect(answer.status).toBe(401);
    }
    expect(stub.calls).toEqual([]);
  });

  it('WHI-5 ten thousand signatures are refused fast', async () => {
    const many = `t=${now},${'v1=aa,'.repeat(1_500)}v1=bb`;
    const startedMs = performance.now();
    const answer = await send(closed.url, {
      method: 'POST',
      path,
      headers: { 'INFRO-Signature': many },
      body,
    });
    expect([answer.status, performance.now() - startedMs < 25_000]).toEqual([401, true]);
    const huge = await send(closed.url, {
      method: 'POST',
      path,
      headers: { 'INFRO-Signature': 'v1=aa,'.repeat(10_000) },
      body,
    });
    expect([huge.status, huge.json()['code']]).toEqual([431, 'malformed_http']);
  });

  it('B4 a signing provider without a secret takes nothing, not even with a right token', async () => {
    const open = await startApi(stub.db, { providers: infroOnly([]) });
    const answer = await send(open.url, {
      method: 'POST',
      path,
      headers: { 'INFRO-Signature': signature(body, '') },
      body,
    });
    expect([answer.status, answer.json()['code'], stub.calls]).toEqual([503, 'callbacks_not_configured', []]);
    await open.close();
  });

  it('503 with Retry-After, so that it is sent again, when the keys that prove it can not be had', async () => {
    const [name, infro] = [...infroOnly([WEBHOOK_SECRET])][0]!;
    const provider: Provider = {
      ...infro.provider,
      verifyCallback: async () => ({ ok: false, reason: 'unavailable' }),
    };
    const own = await startApi(stub.db, { providers: new Map([[name, { ...infro, provider }]]) });
    const answer = await send(own.url, { method: 'POST', path, headers: { 'INFRO-Signature': good }, body });
    expect([answer.status, answer.json()['code'], answer.headers['retry-after'], stub.calls]).toEqual([
      503,
      'callback_keys_unavailable',
      '10',
      [],
    ]);
    await own.close();
  });

  it('503 and never 200 when the row can not be written', async () => {
    const away = stubDb({ fail: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }) });
    const down = await startApi(away.db);
    const answer = await send(down.url, { method: 'POST', path, headers: { 'INFRO-Signature': good }, body });
    expect([answer.status, answer.json()['code'], away.calls]).toEqual([
      503,
      'database_unavailable',
      ['record_callback'],
    ]);
    expect([answer.headers['retry-after'], down.woken]).toEqual(['2', []]);
    await down.close();
  });
});
