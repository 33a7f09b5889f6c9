import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SubmitJob } from '../../src/domain/provider.ts';
import { createOutboundHttp, parseAllow } from '../../src/net/index.ts';
import { createBflProvider } from '../../src/providers/bfl.ts';
import { TASK } from './bfl-rows.ts';
import { ScriptedServer } from './scripted-server.ts';

const http = createOutboundHttp({ allow: [] });
const JOB: SubmitJob = {
  method: 'text-to-image',
  providerModel: 'flux-2-pro',
  input: { prompt: 'fog' },
  params: {},
  callbackUrl: null,
  idempotencyKey: 'k',
};

describe('bfl: where the key goes', () => {
  let server: ScriptedServer;
  let elsewhere: ScriptedServer;
  const options = { credential: { name: 'default', apiKey: 'the-key' }, timeoutMs: 10_000 };
  beforeAll(async () => {
    [server, elsewhere] = await Promise.all([ScriptedServer.start(), ScriptedServer.start()]);
  });
  afterAll(() => Promise.all([server.close(), elsewhere.close(), http.close()]));

  /** Submits, is told this polling URL, looks; gives the look as the server saw it. */
  async function look(pollingUrl: string, pollingHosts: readonly string[]) {
    const { port } = new URL(server.url);
    const allow = parseAllow(`127.0.0.1:${port},localhost:${port},${new URL(elsewhere.url).host}`);
    const open = createOutboundHttp({ allow });
    try {
      const provider = createBflProvider({ http: open, baseUrl: server.url, pollingHosts });
      server.seen.length = 0;
      elsewhere.seen.length = 0;
      server.answer = ({ method }) => ({
        status: 200,
        body: JSON.stringify({
          id: TASK,
          ...(method === 'POST' ? { polling_url: pollingUrl } : { status: 'Pending' }),
        }),
      });
      const answer = await provider.submit(provider.buildSubmit(JOB), 'k', options);
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      expect(await provider.observe(answer.handle, options)).toMatchObject({ kind: 'running' });
      expect(server.seen.map(({ headers }) => [headers['x-key'], headers['authorization']])).toEqual([
        ['the-key', undefined],
        ['the-key', undefined],
      ]);
      const looked = server.seen[1]!;
      return { host: looked.headers['host'], url: looked.url, handle: answer.handle, provider };
    } finally {
      await open.close();
    }
  }

  test('the returned host is looked at, with the key, where it is allowed', async () => {
    const { port } = new URL(server.url);
    const told = `http://localhost:${port}/eu1/v1/get_result`;
    expect(await look(told, ['localhost'])).toMatchObject({
      host: `localhost:${port}`,
      url: `/eu1/v1/get_result?id=${TASK}`,
      handle: { jobId: TASK, pollingUrl: `${told}?id=${TASK}` },
    });
    // The same answer where that host is not allowed.
    expect(await look(told, [])).toMatchObject({
      host: `127.0.0.1:${port}`,
      url: `/v1/get_result?id=${TASK}`,
      handle: { jobId: TASK },
    });
  });

  test('SSRF-7 another host is never called: the task is taken, and looked at below the base URL', async () => {
    const { host, url, handle } = await look(`${elsewhere.url}/v1/get_result?id=${TASK}`, ['localhost']);
    expect([host, url, handle]).toEqual([
      new URL(server.url).host,
      `/v1/get_result?id=${TASK}`,
      { jobId: TASK },
    ]);
    expect(elsewhere.seen).toEqual([]);
  });

  test('a stored URL is looked at only as long as it is allowed', async () => {
    const { provider } = await look('', []);
    const stored = { jobId: TASK, pollingUrl: `${elsewhere.url}/v1/get_result?id=${TASK}` };
    const reopened = createOutboundHttp({ allow: parseAllow(new URL(server.url).host) });
    const again = createBflProvider({ http: reopened, baseUrl: server.url });
    server.seen.length = 0;
    expect(await again.observe(stored, options)).toMatchObject({ kind: 'running' });
    expect(server.seen.map(({ url }) => url)).toEqual([`/v1/get_result?id=${TASK}`]);
    expect(elsewhere.seen).toEqual([]);
    expect(provider.handleFromJobId(TASK, { path: '/v1/flux-2-pro', body: '{}' })).toEqual({ jobId: TASK });
    await reopened.close();
  });

  test('"Task not found" counts only where we were sent', async () => {
    const open = createOutboundHttp({ allow: parseAllow(new URL(server.url).host) });
    try {
      const provider = createBflProvider({ http: open, baseUrl: server.url });
      server.answer = {
        status: 200,
        body: JSON.stringify({ id: null, status: 'Task not found', result: null }),
      };
      const look = (pollingUrl?: string) =>
        provider.observe({ jobId: TASK, ...(pollingUrl === undefined ? {} : { pollingUrl }) }, options);
      const unknown = { kind: 'unavailable', reason: 'task_not_found', denied: false, retryAfterMs: null };
      expect(await look()).toEqual(unknown);
      // No more allowed, so the base URL is asked in its place.
      expect(await look(`${elsewhere.url}/v1/get_result?id=${TASK}`)).toEqual(unknown);
      expect(await look(`${server.url}/v1/get_result?id=${TASK}`)).toEqual({ kind: 'not_found' });
    } finally {
      await open.close();
    }
  });

  test.each([
    ['https://api.us1.bfl.ai/v1/get_result', true],
    ['https://api.eu.bfl.ai/v1/get_result?id=' + TASK, true],
    ['http://api.us1.bfl.ai/v1/get_result', false],
    ['https://api.us1.bfl.ai:8443/v1/get_result', false],
    ['https://bfl.ai.evil.example/v1/get_result', false],
    ['https://evilbfl.ai/v1/get_result', false],
    ['https://api.us1.bfl.ai@evil.example/v1/get_result', false],
  ])('with the real address: %s', async (told, kept) => {
    const answers = { request: () => Promise.resolve(answerOf(told)) };
    const provider = createBflProvider({ http: { ...http, ...answers }, baseUrl: 'https://api.bfl.ai' });
    const answer = await provider.submit(provider.buildSubmit(JOB), 'k', options);
    if (answer.kind !== 'accepted') throw new Error(answer.kind);
    expect(answer.handle.jobId).toBe(TASK);
    expect(typeof answer.handle['pollingUrl']).toBe(kept ? 'string' : 'undefined');
  });
});

/** An answer to a submit, for hosts that no test can have. */
const answerOf = (pollingUrl: string) => ({
  kind: 'answer' as const,
  status: 200,
  headers: {},
  body: Buffer.from(JSON.stringify({ id: TASK, polling_url: pollingUrl })),
});
