import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCallbackToken } from '../../src/domain/keyring.ts';
import { CALLBACK_ANSWERS, CALLBACK_FAILURES } from '../../src/metrics/labels.ts';
import { infroOnly, startApi, stubDb, testKeyring, type TestApi } from '../api/api.ts';
import { send, type Sent } from '../api/client.ts';
import { event, signature } from '../api/infro.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { createMinimaxProvider } from '../../src/providers/minimax.ts';
import { useDatabase } from '../db/database.ts';
import { Scrape } from './samples.ts';

const database = useDatabase();
let api: TestApi;
beforeAll(async () => {
  api = await startApi(database.db);
});
afterAll(() => api.close());

const token = makeCallbackToken(testKeyring(), 'sub_06f1m4k2h8v7x9q3w5y1z0a2b4_1').token;

function call(url: string, path: string, body: string | Uint8Array, headers: Sent['headers'] = {}) {
  return send(url, {
    method: 'POST',
    path,
    headers: { 'INFRO-Signature': signature(body), ...headers },
    body,
  });
}

/** By how much each series of the callbacks grows while `act` runs; only those that do. */
async function growth(url: string, act: () => Promise<unknown>): Promise<Record<string, number>> {
  const names = new Set(['darkroom_callbacks_total', 'darkroom_callback_failures_total']);
  const before = await Scrape.of(url);
  await act();
  const after = await Scrape.of(url);
  const grown = after.samples
    .filter(({ name }) => names.has(name))
    .map(({ name, labels, value }) => ({
      key: [labels['provider'], labels['answer'] ?? labels['reason']].join(' '),
      by: value - (before.value(name, labels) ?? 0),
    }));
  return Object.fromEntries(grown.filter(({ by }) => by !== 0).map(({ key, by }) => [key, by]));
}

describe('GET /metrics of the API', () => {
  it('is the text format, without a key, and shows every series from 0 on', async () => {
    const answer = await send(api.url, { path: '/metrics' });
    expect([answer.status, answer.headers['content-type']]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    const scrape = new Scrape(answer.text);
    for (const provider of ['infro', 'other']) {
      for (const label of CALLBACK_ANSWERS)
        expect(scrape.value('darkroom_callbacks_total', { provider, answer: label })).toBeTypeOf('number');
      for (const reason of Object.keys(CALLBACK_FAILURES))
        expect(scrape.value('darkroom_callback_failures_total', { provider, reason })).toBeTypeOf('number');
    }
    expect(answer.text).toMatch(
      /# HELP darkroom_callbacks_total .+\n# TYPE darkroom_callbacks_total counter\n/,
    );
  });

  it('counts a verified callback by what became of it', async () => {
    const jobId = `job_${randomUUID()}`;
    const body = event(jobId, 'job.succeeded', 'evt_1');
    expect(
      await growth(api.url, async () => {
        await call(api.url, '/callbacks/infro', body);
        await call(api.url, `/callbacks/infro/${token}`, event(jobId));
        await call(api.url, '/callbacks/infro', '{"id":"evt_x","type":"account.updated","data":{}}');
      }),
    ).toEqual({ 'infro unmatched': 1, 'infro unknown_submission': 1, 'infro ignored': 1 });
  });

  it('counts a check of our URL as such: no callback has come with it', async () => {
    const minimax = createMinimaxProvider({
      http: createOutboundHttp({ allow: [] }),
      baseUrl: 'https://m.example',
    });
    const own = await startApi(stubDb().db, {
      providers: new Map([
        ['minimax', { provider: minimax, credentialName: 'default', webhookSecrets: null }],
      ]),
    });
    const grown = await growth(own.url, async () => {
      expect((await call(own.url, `/callbacks/minimax/${token}`, '{"challenge":"abc"}')).status).toBe(200);
    });
    expect(grown).toEqual({ 'minimax challenge': 1 });
    const good = 'darkroom_callback_last_good_timestamp_seconds';
    expect((await Scrape.of(own.url)).value(good, { provider: 'minimax' })).toBeUndefined();
    await own.close();
  });

  it('tells when the last good one came, by the clock of the service', async () => {
    const nowMs = () => Date.now() + 60_000;
    const own = await startApi(database.db, { nowMs });
    const before = nowMs() / 1_000;
    await call(own.url, '/callbacks/infro', event('job_1'));
    const after = nowMs() / 1_000;
    const at = (await Scrape.of(own.url)).value('darkroom_callback_last_good_timestamp_seconds', {
      provider: 'infro',
    });
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(after);
    await call(own.url, '/callbacks/infro', event('job_1'), { 'INFRO-Signature': 'v1=00' });
    const then = await Scrape.of(own.url);
    expect(then.value('darkroom_callback_last_good_timestamp_seconds', { provider: 'infro' })).toBe(at);
    await own.close();
  });

  it.each<
    [reason: string, answer: string, act: (url: string) => Promise<{ status: number }>, status: number]
  >([
    ['forged_token', 'unauthorized', (url) => call(url, '/callbacks/infro/sub_1.AAAA', event('j')), 401],
    [
      'wrong_signature',
      'unauthorized',
      (url) => call(url, '/callbacks/infro', event('j'), { 'INFRO-Signature': 't=1,v1=00' }),
      401,
    ],
    ['malformed', 'refused', (url) => call(url, '/callbacks/infro', 'no json'), 400],
    [
      'encoded_body',
      'refused',
      (url) => call(url, '/callbacks/infro', gzipSync('{}'), { 'Content-Encoding': 'gzip' }),
      415,
    ],
    ['body_too_large', 'refused', (url) => call(url, '/callbacks/infro', ' '.repeat(300_000)), 413],
  ])('counts %s as %s', async (reason, answer, act, status) => {
    const grown = await growth(api.url, async () => {
      expect((await act(api.url)).status).toBe(status);
    });
    expect(grown).toEqual({ [`infro ${reason}`]: 1, [`infro ${answer}`]: 1 });
  });

  it('counts a body that was cut off', async () => {
    const cutOff = { provider: 'infro', reason: 'incomplete_body' };
    const grown = await growth(api.url, async () => {
      const cut = send(api.url, {
        method: 'POST',
        path: '/callbacks/infro',
        headers: { 'Content-Length': '100' },
        body: '{',
        abortAfterMs: 1_000,
      });
      await expect(cut).rejects.toThrow('cut by the test');
      await expect
        .poll(async () => (await Scrape.of(api.url)).value('darkroom_callback_failures_total', cutOff))
        .toBe(1);
    });
    expect(grown).toEqual({ 'infro incomplete_body': 1, 'infro refused': 1 });
  });

  it('counts what it could not take: no secret, no database', async () => {
    const noSecret = await startApi(database.db, { providers: infroOnly([]) });
    const ask = () => call(noSecret.url, '/callbacks/infro', event('j'));
    expect(await growth(noSecret.url, ask)).toEqual({ 'infro not_configured': 1, 'infro unavailable': 1 });
    await noSecret.close();

    const down = await startApi(
      stubDb({ fail: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }) }).db,
    );
    const tell = () => call(down.url, '/callbacks/infro', event('j'));
    expect(await growth(down.url, tell)).toEqual({ 'infro database_unavailable': 1, 'infro unavailable': 1 });
    await down.close();

    const broken = await startApi(stubDb({ fail: new Error('a defect') }).db);
    const hit = () => call(broken.url, '/callbacks/infro', event('j'));
    expect(await growth(broken.url, hit)).toEqual({ 'infro defect': 1, 'infro failed': 1 });
    await broken.close();
  });

  it('has one label for all providers that nobody configured', async () => {
    const series = (await Scrape.of(api.url)).samples.length;
    const grown = await growth(api.url, () =>
      Promise.all(Array.from({ length: 30 }, (_, i) => call(api.url, `/callbacks/made-up-${i}`, '{}'))),
    );
    expect(grown).toEqual({ 'other unknown_provider': 30, 'other refused': 30 });
    expect((await Scrape.of(api.url)).samples.length).toBe(series);
  });
});
