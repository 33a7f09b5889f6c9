import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboundHttp } from '../../src/net/index.ts';
import { createReplicateProvider } from '../../src/providers/replicate.ts';
import { httpTo, ScriptedServer } from './scripted-server.ts';

describe('replicate: its list', () => {
  let server: ScriptedServer;
  let http: OutboundHttp;
  const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
  const list = async (body: object, after: string | null = null) => {
    server.answer = { status: 200, body: JSON.stringify(body) };
    return createReplicateProvider({ http, baseUrl: server.url }).list!({ after, limit: 100 }, options);
  };

  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });

  test('our callback URL is what a job is known by', async () => {
    const results = [
      { id: 'a', status: 'starting', webhook: 'https://h.example/callbacks/replicate/token' },
      { id: 'b', status: 'succeeded' },
    ];
    expect(await list({ results, next: null })).toEqual({
      kind: 'page',
      jobs: [
        {
          handle: { jobId: 'a' },
          status: 'starting',
          callbackUrl: 'https://h.example/callbacks/replicate/token',
          externalId: null,
        },
        { handle: { jobId: 'b' }, status: 'succeeded', callbackUrl: null, externalId: null },
      ],
      nextCursor: null,
    });
  });

  test('of the next page only the cursor is taken, wherever its URL points', async () => {
    const next = 'https://evil.example/v1/predictions?cursor=cD0yMDI2%2B';
    expect(await list({ results: [], next })).toMatchObject({ nextCursor: 'cD0yMDI2+' });
    server.seen.length = 0;
    await list({ results: [], next: null }, 'cD0yMDI2+');
    expect(server.seen.map(({ url }) => url)).toEqual(['/v1/predictions?cursor=cD0yMDI2%2B']);
  });

  test('what is no page is unavailable', async () => {
    expect(await list({ results: [{ id: '../x', status: 'starting' }] })).toEqual({
      kind: 'unavailable',
      reason: 'unreadable_answer',
    });
  });
});
