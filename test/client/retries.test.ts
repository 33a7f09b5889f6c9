import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionError, createClient, DarkroomError } from '../../src/client/index.ts';
import { json, startServer } from './server.ts';

const GENERATION = { id: 'gen_x', state: 'queued', outputs: [] };
const REQUEST = { model: 'm', input: { prompt: 'p' } };
let running: Awaited<ReturnType<typeof startServer>>[] = [];
afterEach(async () => {
  await Promise.all(running.map((server) => server.close()));
  running = [];
});

async function serving(answer: Parameters<typeof startServer>[0]) {
  const server = await startServer(answer);
  running.push(server);
  const client = createClient({ baseUrl: `${server.url}/`, apiKey: 'dk_test', retryDelayMs: 5 });
  return { ...server, client };
}

describe('create', () => {
  it('T4 repeats a lost, refused or failed answer under one key, with the same bytes', async () => {
    const { client, seen } = await serving((response, n) => {
      if (n === 0) response.socket?.destroy();
      else if (n === 1) json(response, 500, { code: 'internal_error' });
      else if (n === 2) json(response, 409, { code: 'idempotency_key_in_progress' }, { 'Retry-After': '0' });
      else if (n === 3) json(response, 503, { code: 'database_unavailable' });
      else json(response, 202, GENERATION, { 'Watch-Token': 'wt1.x' });
    });
    const created = await client.create(REQUEST);
    expect(created).toEqual({
      generation: GENERATION,
      watchToken: 'wt1.x',
      idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(seen).toHaveLength(5);
    expect(new Set(seen.map(({ headers }) => headers['idempotency-key']))).toEqual(
      new Set([created.idempotencyKey]),
    );
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([JSON.stringify(REQUEST)]));
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/v1/generations' });
    expect(seen[0]!.headers.authorization).toBe('Bearer dk_test');
  });

  it('two calls have two keys; a key that is given is used', async () => {
    const { client, seen } = await serving((response) => json(response, 202, GENERATION));
    await client.create(REQUEST);
    await client.create(REQUEST);
    await client.create(REQUEST, { idempotencyKey: 'mine' });
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe('mine');
  });

  it('gives up with the key, so that the same request can be sent again', async () => {
    const { client, seen } = await serving((response) => response.socket?.destroy());
    const failure = await client.create(REQUEST, { idempotencyKey: 'kept' }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionError);
    expect((failure as ConnectionError).idempotencyKey).toBe('kept');
    expect(seen).toHaveLength(5);
  });

  it.each([400, 402, 404, 422])('does not repeat a %i, and tells what it says', async (status) => {
    const problem = {
      code: 'some_code',
      detail: 'Do this.',
      errors: [{ path: '/a', message: 'b' }],
      required: 7,
    };
    const { client, seen } = await serving((response) =>
      json(response, status, problem, { 'X-Request-Id': 'r1' }),
    );
    const failure = await client.create(REQUEST).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DarkroomError);
    expect(failure).toMatchObject({
      status,
      code: 'some_code',
      detail: 'Do this.',
      requestId: 'r1',
      errors: problem.errors,
      problem: { required: 7 },
    });
    expect(seen).toHaveLength(1);
  });

  it('a 409 of another kind stands; a page of a proxy is told as unknown', async () => {
    const price = await serving((response) => json(response, 409, { code: 'price_changed', detail: 'x' }));
    await expect(price.client.create(REQUEST)).rejects.toMatchObject({ code: 'price_changed' });
    const proxy = await serving((response) => {
      response.writeHead(413, { 'Content-Type': 'text/html' });
      response.end('<html>');
    });
    await expect(proxy.client.create(REQUEST)).rejects.toMatchObject({ status: 413, code: 'unknown' });
  });

  it('stops at once when it is aborted, in a pause as in a request', async () => {
    const stop = new AbortController();
    const reason = new Error('no more');
    const { client, seen } = await serving((response, n) => {
      if (n > 0) return;
      json(response, 503, {}, { 'Retry-After': '60' });
      setTimeout(() => stop.abort(reason), 100);
    });
    await expect(client.create(REQUEST, { signal: stop.signal })).rejects.toThrow();
    expect(seen).toHaveLength(1);
  });
});

describe('other calls', () => {
  it('a POST without a key is sent once; reads and cancels are repeated', async () => {
    const { client, seen } = await serving((response, n) => {
      if (n % 2 === 0) json(response, 503, { code: 'busy', detail: 'd' });
      else json(response, 200, GENERATION);
    });
    await expect(client.quote(REQUEST)).rejects.toMatchObject({ code: 'busy' });
    expect(seen).toHaveLength(1);
    seen.length = 0;
    expect(await client.get('gen_x')).toEqual(GENERATION);
    expect(await client.cancel('gen_x')).toEqual(GENERATION);
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'POST', 'POST']);
  });

  it('an upload has the time that the API gives it, not that of an answer', async () => {
    const { url, seen } = await serving((response) => {
      setTimeout(() => json(response, 201, { id: 'inp_x' }), 300);
    });
    const client = createClient({ baseUrl: url, apiKey: 'dk_test', timeoutMs: 100, maxRetries: 0 });
    expect(await client.upload(new Uint8Array(10))).toEqual({ id: 'inp_x' });
    expect(seen).toMatchObject([{ method: 'POST', url: '/v1/inputs' }]);
    await expect(client.get('gen_x')).rejects.toThrow(ConnectionError);
  });
});
