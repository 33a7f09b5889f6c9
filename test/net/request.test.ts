import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { assert, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OutboundAnswer, OutboundHttp, OutboundRequest } from '../../src/net/types.ts';
import { createClient, startHttp, startHttps, startScripted, startTcp, type TestServer } from './servers.ts';

async function call(
  client: OutboundHttp,
  request: Partial<OutboundRequest> & { url: string },
): Promise<OutboundAnswer> {
  return client.request({ method: 'POST', headers: {}, body: '{"a":1}', timeoutMs: 20_000, ...request });
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** Answers the first request of a connection, then resets at the second one's first byte; counts request heads. */
async function startResetting(): Promise<TestServer & { heads: string[] }> {
  const heads: string[] = [];
  const server = await startTcp((socket) => {
    let seen = 0;
    socket.on('data', (bytes) => {
      heads.push(bytes.toString('latin1').split('\r\n')[0] ?? '');
      if (++seen === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      else socket.resetAndDestroy();
    });
  });
  return Object.assign(server, { heads });
}

describe('request', () => {
  it('sends method, headers and body as they stand and returns the answer', async () => {
    const server = await startHttp((request, response) => {
      const { method, url, headers } = request;
      const json = (body: string): string => JSON.stringify({ method, url, headers, body });
      response.writeHead(
        202,
        [
          ['X-Twice', 'a'],
          ['X-Twice', 'b'],
          ['Content-Type', 'application/json'],
        ].flat(),
      );
      void readBody(request).then((body) => response.end(json(body)));
    });
    const answer = await call(createClient([server.port]), {
      url: `http://127.0.0.1:${server.port}/v1/jobs?x=1`,
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"k"' },
      body: '{"prompt":"żółw"}',
    });
    assert(answer.kind === 'answer');
    expect(answer.status).toBe(202);
    expect(answer.headers).toMatchObject({ 'x-twice': 'a, b', 'content-type': 'application/json' });
    expect(JSON.parse(answer.body.toString())).toEqual({
      method: 'POST',
      url: '/v1/jobs?x=1',
      headers: {
        host: `127.0.0.1:${server.port}`,
        connection: 'close',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'idempotency-key': '"k"',
        'content-length': '20',
      },
      body: '{"prompt":"żółw"}',
    });
  });

  it('returns a redirect as an answer and does not follow it', async () => {
    const target = await startTcp(() => {});
    const server = await startHttp((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end();
    });
    const client = createClient([server.port, target.port]);
    expect(await call(client, { url: `http://127.0.0.1:${server.port}/` })).toMatchObject({
      kind: 'answer',
      status: 307,
    });
    expect(target.connections).toBe(0);
  });

  it('skips informational answers', async () => {
    const server = await startScripted(
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    );
    const answer = await call(createClient([server.port]), { url: `http://127.0.0.1:${server.port}/` });
    expect(answer).toMatchObject({ kind: 'answer', status: 200, body: Buffer.from('ok') });
  });

  it.each([['gzip', gzipSync('{"id":1}')]] as const)(
    'reads an answer that came as %s',
    async (encoding, body) => {
      const server = await startHttp((_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding }).end(body);
      });
      const answer = await call(createClient([server.port]), { url: `http://127.0.0.1:${server.port}/` });
      expect(answer).toMatchObject({ kind: 'answer', body: Buffer.from('{"id":1}') });
    },
  );

  it.each([
    ['gzip that is cut', 'gzip', gzipSync('x'.repeat(500)).subarray(0, -10)],
    ['a gzip bomb', 'gzip', gzipSync(Buffer.alloc(4 * 1024 * 1024))],
    ['an unknown encoding', 'zzz', Buffer.from('x')],
  ])('does not take %s for an answer', async (_name, encoding, body) => {
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(body);
    });
    const answer = await call(createClient([server.port]), { url: `http://127.0.0.1:${server.port}/` });
    expect(answer).toEqual({ kind: 'interrupted', reason: 'bad_answer' });
  });

  it.each(['declared', 'streamed'])('cuts an answer that is too large (%s)', async (how) => {
    const server = await startHttp((_request, response) => {
      if (how === 'declared') response.setHeader('content-length', '1001');
      response.write('x'.repeat(500));
      response.end('x'.repeat(501));
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const client = createClient([server.port]);
    expect(await call(client, { url, maxAnswerBytes: 1000 })).toEqual({
      kind: 'interrupted',
      reason: 'answer_too_large',
    });
    expect(await call(client, { url, maxAnswerBytes: 1001 })).toMatchObject({ kind: 'answer', status: 200 });
  });

  it.each([
    ['nothing at all', '', 'fin', 'reset'],
    ['nothing, then a reset', '', 'reset', 'reset'],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-', 'fin', 'reset'],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n', 'fin', 'bad_answer'],
    ['a body shorter than declared', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello', 'fin', 'reset'],
    [
      'a cut chunked body',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n',
      'fin',
      'bad_answer',
    ],
    ['a head that never ends', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`, 'fin', 'bad_answer'],
    ['silence', '', 'open', 'timeout'],
    ['silence in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello', 'open', 'timeout'],
  ] as const)('reports %s as interrupted', async (_name, bytes, end, reason) => {
    const server = await startScripted(bytes, end);
    const client = createClient([server.port]);
    const timeoutMs = end === 'open' ? 1_000 : 20_000;
    const answer = await call(client, { url: `http://127.0.0.1:${server.port}/`, timeoutMs });
    expect(answer).toEqual({ kind: 'interrupted', reason });
    await client.close();
    expect(server.requests).toBe(1);
  });
});

describe('request: proof that nothing was sent', () => {
  it('connect refused', async () => {
    const answer = await call(createClient([1]), { url: 'http://127.0.0.1:1/' });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'connect_refused' });
  });

  it('DNS', async () => {
    const client = createClient([], { lookup: async () => Promise.reject(new Error('ENOTFOUND')) });
    const answer = await call(client, { url: 'https://nowhere.example/' });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'dns_failed' });
  });

  it('a resolver that never answers', async () => {
    const client = createClient([], { lookup: async () => new Promise(() => {}) });
    const answer = await call(client, { url: 'https://slow.example/', timeoutMs: 30 });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
  });

  it('a name whose resolver answers after we gave up is not connected to for the request', async () => {
    const requests: Buffer[] = [];
    const server = await startTcp((socket) => socket.on('data', (bytes) => requests.push(bytes)));
    const client = createClient([server.port], {
      names: ['late.example'],
      lookup: async () => setTimeout(80, [{ address: '127.0.0.1', family: 4 }]),
    });
    const answer = await call(client, { url: `http://late.example:${server.port}/`, timeoutMs: 30 });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
    await client.close();
    expect(server.connections).toBe(1);
    expect(requests).toEqual([]);
  });

  it.each([
    ['garbage', (socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['a close', (socket: Socket) => socket.end()],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('TLS handshake answered with %s', async (_name, answerHello) => {
    const server = await startTcp((socket) => socket.once('data', () => answerHello(socket)));
    const answer = await call(createClient([server.port]), { url: `https://127.0.0.1:${server.port}/` });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'tls_failed' });
  });

  it('a certificate that nobody vouches for, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const listener = vi.fn<RequestListener>();
    const server = await startHttps(listener);
    const answer = await call(createClient([server.port]), { url: `https://127.0.0.1:${server.port}/` });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'tls_failed' });
    expect(listener).not.toHaveBeenCalled();
  });

  it('a TLS handshake that never ends', async () => {
    const server = await startTcp(() => {});
    const answer = await call(createClient([server.port]), {
      url: `https://127.0.0.1:${server.port}/`,
      timeoutMs: 60,
    });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
  });

  it.each([
    { Host: 'other.example' },
    { 'x y': 'a' },
    { 'x-key': 'a\r\nb: c' },
    { 'x-key': 'ż' },
    { connection: 'keep-alive' },
    { 'content-length': '3' },
  ])('a header that is not allowed: %j', async (headers) => {
    const server = await startTcp(() => {});
    const client = createClient([server.port]);
    const answer = await call(client, { url: `http://127.0.0.1:${server.port}/`, headers });
    expect(answer).toEqual({ kind: 'not_sent', reason: 'invalid_request' });
  });

  it('a closed client', async () => {
    const client = createClient([1]);
    await client.close();
    expect(await call(client, { url: 'http://127.0.0.1:1/' })).toEqual({
      kind: 'not_sent',
      reason: 'connect_refused',
    });
  });
});

describe('request: never sent twice', () => {
  it('a POST gets a connection of its own', async () => {
    const server = await startResetting();
    const client = createClient([server.port]);
    const url = `http://127.0.0.1:${server.port}/`;
    for (let i = 0; i < 3; i++)
      expect(await call(client, { url })).toMatchObject({ kind: 'answer', status: 200 });
    expect(await call(client, { url, method: 'PUT' })).toMatchObject({ kind: 'answer' });
    expect(server.connections).toBe(4);
    expect(server.heads).toHaveLength(4);
  });

  it('a GET on a reused connection that is reset is interrupted and not repeated', async () => {
    const server = await startResetting();
    const client = createClient([server.port]);
    const get = { url: `http://127.0.0.1:${server.port}/`, method: 'GET', timeoutMs: 20_000 } as const;
    const send = async (): Promise<OutboundAnswer> => {
      const answer = await client.request({ ...get, headers: {} });
      // undici frees a connection for the next request only after a turn of the event loop.
      await setTimeout(10);
      return answer;
    };
    expect(await send()).toMatchObject({ kind: 'answer' });
    expect(await send()).toEqual({ kind: 'interrupted', reason: 'reset' });
    expect(server.heads).toEqual(['GET / HTTP/1.1', 'GET / HTTP/1.1']);
    expect(server.connections).toBe(1);
    expect(await send()).toMatchObject({ kind: 'answer' });
  });

  it('a POST whose connection dies after the bytes left is interrupted, with one request at the server', async () => {
    const heads: string[] = [];
    const server = await startTcp((socket) => {
      socket.on('data', (bytes) => {
        heads.push(bytes.toString('latin1'));
        socket.resetAndDestroy();
      });
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const client = createClient([server.port]);
    const answers = await Promise.all(Array.from({ length: 20 }, async () => call(client, { url })));
    for (const answer of answers) expect(answer).toEqual({ kind: 'interrupted', reason: 'reset' });
    await client.close();
    expect(server.connections).toBe(20);
    expect(heads).toHaveLength(20);
  });
});
