import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startApi, stubDb, type StubDb, type TestApi } from './api.ts';
import { send, type Answer, type Sent } from './client.ts';

const problemSchema = z.object({
  type: z.string().regex(/^\/docs#problem-[a-z0-9_]+$/),
  title: z.string().min(1),
  status: z.int().min(400).max(599),
  code: z.string(),
  detail: z.string().min(1),
  instance: z.string().min(1),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

const open: TestApi[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((api) => api.close()));
});

async function apiOn(stub: StubDb): Promise<TestApi> {
  const api = await startApi(stub.db);
  open.push(api);
  return api;
}

/** Status and code of an answer that is a whole problem document; throws when it is none. */
function problemOf(answer: Answer): { status: number; code: string } {
  const problem = problemSchema.parse(answer.json());
  const facts = {
    mediaType: answer.headers['content-type'],
    status: problem.status,
    type: problem.type,
    instance: problem.instance,
  };
  expect(facts).toEqual({
    mediaType: 'application/problem+json',
    status: answer.status,
    type: `/docs#problem-${problem.code}`,
    instance: answer.headers['x-request-id'],
  });
  return { status: answer.status, code: problem.code };
}

const VALID_TEXT = JSON.stringify({ model: 'infro-video', input: { prompt: 'a lighthouse' } });

function models(key: string): Sent {
  return { path: '/v1/models', headers: { Authorization: `Bearer ${key}` } };
}

function post(apiKey: string, body: string | Uint8Array, headers: Sent['headers'] = {}): Sent {
  return {
    method: 'POST',
    path: '/v1/generations',
    headers: {
      Authorization: `Bearer ${apiKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'key-1',
      ...headers,
    },
    body,
  };
}

describe('HTTP-1 every refusal is its own problem document and calls no SQL function', () => {
  const nested = `{"model":"infro-video","input":${'['.repeat(49_000)}`;
  const cases: [
    name: string,
    status: number,
    code: string,
    body: string | Uint8Array,
    headers?: Sent['headers'],
  ][] = [
    ['wrong media type', 415, 'unsupported_media_type', VALID_TEXT, { 'Content-Type': 'text/plain' }],
    [
      'form body',
      415,
      'unsupported_media_type',
      'a=b',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
    ],
    [
      'other charset',
      415,
      'unsupported_media_type',
      VALID_TEXT,
      { 'Content-Type': 'application/json; charset=utf-16' },
    ],
    ['gzip', 415, 'unsupported_content_encoding', VALID_TEXT, { 'Content-Encoding': 'gzip' }],
    ['body too large', 413, 'body_too_large', `{"a":"${'x'.repeat(1024 * 1024)}"}`],
    [
      'body too large, chunked',
      413,
      'body_too_large',
      `{"a":"${'x'.repeat(3 * 1024 * 1024)}"}`,
      { 'Transfer-Encoding': 'chunked' },
    ],
    ['empty body', 400, 'empty_body', ''],
    ['malformed JSON', 400, 'malformed_json', '{"model":'],
    ['trailing data', 400, 'trailing_data', `${VALID_TEXT}{}`],
    ['deep nesting', 400, 'too_deep', nested],
    [
      'duplicate keys',
      400,
      'duplicate_key',
      '{"model":"infro-video","model":"infro-video-polled","input":{"prompt":"x"}}',
    ],
    [
      '__proto__',
      400,
      'forbidden_key',
      '{"model":"infro-video","input":{"prompt":"x"},"metadata":{"__proto__":{"a":"b"}}}',
    ],
    ['raw NUL', 400, 'forbidden_character', '{"model":"infro-video","input":{"prompt":"x\0y"}}'],
    ['escaped NUL', 400, 'forbidden_character', '{"model":"infro-video","input":{"prompt":"x\\u0000y"}}'],
    ['lone surrogate', 400, 'lone_surrogate', '{"model":"infro-video","input":{"prompt":"x\\ud83d y"}}'],
    ['raw lone surrogate', 400, 'invalid_utf8', Buffer.from([0x22, 0xed, 0xa0, 0xbd, 0x22])],
    ['byte order mark', 400, 'byte_order_mark', `\ufeff${VALID_TEXT}`],
    [
      '1e400',
      400,
      'unsafe_number',
      '{"model":"infro-video","input":{"prompt":"x","duration_seconds":1e400}}',
    ],
    [
      '2^53+1',
      400,
      'unsafe_number',
      '{"model":"infro-video","input":{"prompt":"x"},"max_credits":9007199254740993}',
    ],
    ['not an object', 400, 'invalid_request', '[]'],
    ['IDEM-1 no key header', 400, 'idempotency_key_missing', VALID_TEXT, { 'Idempotency-Key': [] }],
    ['IDEM-1 empty key', 400, 'idempotency_key_invalid', VALID_TEXT, { 'Idempotency-Key': '""' }],
    ['IDEM-1 long key', 400, 'idempotency_key_invalid', VALID_TEXT, { 'Idempotency-Key': 'x'.repeat(256) }],
    ['IDEM-1 two keys', 400, 'idempotency_key_invalid', VALID_TEXT, { 'Idempotency-Key': ['a', 'b'] }],
    ['no API key', 401, 'api_key_missing', VALID_TEXT, { Authorization: [] }],
    ['no real API key', 401, 'api_key_invalid', VALID_TEXT, { Authorization: 'Bearer dk_short' }],
    ['wrong scheme', 401, 'api_key_invalid', VALID_TEXT, { Authorization: 'Basic YTpi' }],
    ['10 kB key', 401, 'api_key_invalid', VALID_TEXT, { Authorization: `Bearer dk_${'a'.repeat(10_000)}` }],
  ];
  it.each(cases)('%s', async (_name, status, code, body, headers) => {
    const stub = stubDb();
    const api = await apiOn(stub);
    const answer = await send(api.url, post(stub.apiKey, body, headers));
    expect(problemOf(answer)).toEqual({ status, code });
    expect(stub.calls).toEqual([]);
    expect(api.woken).toEqual([]);
  });

  it('two Authorization lines are refused, although Node would take the first', async () => {
    const stub = stubDb();
    const api = await apiOn(stub);
    const bearer = `Bearer ${stub.apiKey}`;
    const answer = await send(api.url, { path: '/v1/models', headers: { Authorization: [bearer, bearer] } });
    expect(problemOf(answer)).toEqual({ status: 401, code: 'api_key_invalid' });
    expect(answer.headers['www-authenticate']).toContain('Bearer');
    expect(stub.reads).toBe(0);
  });

  it('a key of another secret, of no tenant or without the scope is refused', async () => {
    const [stub, other, scopeless, operator] = [
      stubDb(),
      stubDb(),
      stubDb({ scopes: ['credits:grant'] }),
      stubDb({ tenantId: null, scopes: ['admin', 'generations'] }),
    ];
    expect(problemOf(await send((await apiOn(stub)).url, models(other.apiKey)))).toEqual({
      status: 401,
      code: 'api_key_invalid',
    });
    expect(problemOf(await send((await apiOn(scopeless)).url, models(scopeless.apiKey)))).toEqual({
      status: 403,
      code: 'scope_missing',
    });
    expect(problemOf(await send((await apiOn(operator)).url, models(operator.apiKey)))).toEqual({
      status: 403,
      code: 'scope_missing',
    });
  });
});

describe('HTTP-1 routes and methods', () => {
  it('an unknown route is 404, also with another case or a slash at the end', async () => {
    const api = await apiOn(stubDb());
    for (const path of [
      '/',
      '/v1',
      '/V1/models',
      '/v1/models/',
      '/v1/generations/x/y',
      '/callbacks',
      '//docs',
    ]) {
      expect(problemOf(await send(api.url, { path }))).toEqual({ status: 404, code: 'not_found' });
    }
  });

  it('another method is 405 with Allow, for whoever asks', async () => {
    const api = await apiOn(stubDb());
    const cases: [string, string, string][] = [
      ['PUT', '/v1/generations', 'POST, GET, HEAD'],
      ['PATCH', '/v1/generations/gen_x', 'GET, HEAD, DELETE'],
      ['GET', '/v1/generations/gen_x/cancel', 'POST'],
      ['OPTIONS', '/v1/models', 'GET, HEAD'],
      ['POST', '/docs', 'GET, HEAD'],
    ];
    for (const [method, path, allow] of cases) {
      const answer = await send(api.url, { method, path });
      expect(problemOf(answer)).toEqual({ status: 405, code: 'method_not_allowed' });
      expect(answer.headers.allow).toBe(allow);
    }
  });

  it('broken percent-encoding is a 400', async () => {
    const api = await apiOn(stubDb());
    expect(problemOf(await send(api.url, { path: '/v1/generations/%ff%zz' }))).toEqual({
      status: 400,
      code: 'malformed_url',
    });
  });

  it('bytes that are no HTTP get a problem document and the connection ends', async () => {
    const api = await apiOn(stubDb());
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () =>
        socket.write('NONSENSE\r\n\r\n'),
      );
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      socket.on('error', reject);
      socket.on('close', () => resolve(received));
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({
      status: 400,
      code: 'malformed_http',
    });
  });
});

describe('I3 a thrown error is an answer within a second, without its text', () => {
  const SECRET = 'postgresql://user:hunter2@db.internal/x';
  const paths: Sent[] = [
    { path: '/v1/generations' },
    { path: '/v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4' },
    { method: 'DELETE', path: '/v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4' },
    { method: 'POST', path: '/v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4/cancel' },
  ];

  it.each(paths)('500 on $method $path', async (sent) => {
    const stub = stubDb({ fail: new Error(`syntax error near ${SECRET}`) });
    const api = await apiOn(stub);
    const answer = await send(api.url, { ...sent, headers: { Authorization: `Bearer ${stub.apiKey}` } });
    expect(problemOf(answer)).toEqual({ status: 500, code: 'internal_error' });
    expect(answer.text).not.toContain('hunter2');
    expect(api.logs.join('')).not.toContain('hunter2');
    expect(api.logs.join('')).toContain('"problem":"internal_error"');
  });

  it('503 with Retry-After when the database is away', async () => {
    const stub = stubDb({
      fail: Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' }),
    });
    const api = await apiOn(stub);
    const answer = await send(api.url, post(stub.apiKey, VALID_TEXT));
    expect(problemOf(answer)).toEqual({ status: 503, code: 'database_unavailable' });
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(answer.text).not.toContain('10.0.0.1');
  });
});

describe('every answer', () => {
  it('carries the security headers and a request id, and never names the framework', async () => {
    const api = await apiOn(stubDb());
    const answer = await send(api.url, { path: '/healthz', headers: { 'X-Request-Id': 'my-id.1' } });
    expect(answer.json()).toEqual({ status: 'ok' });
    expect(answer.headers).toMatchObject({ 'x-request-id': 'my-id.1', 'x-content-type-options': 'nosniff' });
    expect(answer.headers['x-powered-by']).toBeUndefined();
    for (const bad of ['a b', 'x'.repeat(65), 'a\u00e9', 'a<script>']) {
      const other = await send(api.url, { path: '/healthz', headers: { 'X-Request-Id': bad } });
      expect(other.headers['x-request-id']).toMatch(/^req_/);
    }
  });
});
