/** Smuggling and header traps, byte for byte over sockets: what two servers on a way could read in two ways. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../api/suite.ts';
import { create, newTenant, rowsOf, type TestTenant } from '../api/tenants.ts';
import { exchange, type RawAnswer } from './raw-http.ts';

const suite = useApi();

const BODY = '{"model":"infro-video","input":{"prompt":"A lighthouse"}}';
const SIZE = `Content-Length: ${BODY.length}\r\n`;
const HEX = BODY.length.toString(16);
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;

/** `POST /v1/generations`, up to these last lines and the body, which would be taken if nothing else were wrong. */
function post(tenant: TestTenant, rest: string, { key = randomUUID(), start = startOf() } = {}): string {
  const always = `Authorization: Bearer ${tenant.key}\r\nContent-Type: application/json\r\n`;
  return `${start}${always}Idempotency-Key: ${key}\r\n${rest}`;
}

interface Start {
  readonly target?: string;
  readonly version?: string;
  readonly host?: string;
}

function startOf({
  target = '/v1/generations',
  version = 'HTTP/1.1',
  host = 'Host: x\r\n',
}: Start = {}): string {
  return `POST ${target} ${version}\r\n${host}`;
}

/** A chunked body with this first line instead of its size. */
const firstChunk = (line: string) => `${CHUNKED}\r\n${line}\r\n${BODY}\r\n0\r\n\r\n`;

const CLOSING = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const statusesOf = (answers: readonly RawAnswer[]) => answers.map(({ status }) => status);
const codeIn = (answer: RawAnswer | undefined) =>
  (JSON.parse(answer?.body ?? '{}') as { code?: unknown }).code;

const REFUSED: [name: string, status: number, rest: string, start?: Start][] = [
  ['length, then chunked', 400, `${SIZE}${CHUNKED}\r\n${CHUNKS}`],
  ['chunked, then length', 400, `${CHUNKED}${SIZE}\r\n${CHUNKS}`],
  ['two lengths', 400, `${SIZE}Content-Length: 4\r\n\r\n${BODY}`],
  ['the same length twice', 400, `${SIZE}${SIZE}\r\n${BODY}`],
  ['a list of lengths', 400, `Content-Length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}`],
  ['a length with a sign', 400, `Content-Length: +${BODY.length}\r\n\r\n${BODY}`],
  ['a length in hex', 400, `Content-Length: 0x${HEX}\r\n\r\n${BODY}`],
  ['a length above 2^64', 400, `Content-Length: ${'9'.repeat(23)}\r\n\r\n${BODY}`],
  ['chunked, then identity', 400, `${CHUNKED}Transfer-Encoding: identity\r\n\r\n${CHUNKS}`],
  ['chunked twice', 400, `${CHUNKED}${CHUNKED}\r\n${CHUNKS}`],
  ['an unknown coding', 400, `Transfer-Encoding: xchunked\r\n\r\n${CHUNKS}`],
  ['gzip before chunked', 400, `Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKS}`],
  ['gzip before chunked, in two lines', 400, `Transfer-Encoding: gzip\r\n${CHUNKED}\r\n${CHUNKS}`],
  ['a space before the colon', 400, `Transfer-Encoding : chunked\r\n\r\n${CHUNKS}`],
  ['chunked in HTTP/1.0', 400, `${CHUNKED}\r\n${CHUNKS}`, { version: 'HTTP/1.0' }],
  ['a folded header', 400, `X-A: a\r\n b\r\n${SIZE}\r\n${BODY}`],
  ['a folded length', 400, `Content-Length:\r\n ${BODY.length}\r\n\r\n${BODY}`],
  ['a bare line feed', 400, `X-A: a\n${SIZE}\r\n${BODY}`],
  ['a bare carriage return', 400, `X-A: a\r${SIZE}\r\n${BODY}`],
  ['a NUL in a header', 400, `X-A: a\0b\r\n${SIZE}\r\n${BODY}`],
  ['no Host', 400, `${SIZE}\r\n${BODY}`, { host: '' }],
  ['two Hosts', 400, `Host: y\r\n${SIZE}\r\n${BODY}`],
  ['two Hosts in HTTP/1.0', 400, `Host: y\r\n${SIZE}\r\n${BODY}`, { version: 'HTTP/1.0' }],
  ['an empty version', 400, `${SIZE}\r\n${BODY}`, { version: '' }],
  ['HTTP/1.2', 400, `${SIZE}\r\n${BODY}`, { version: 'HTTP/1.2' }],
  ['HTTP/2.0', 400, `${SIZE}\r\n${BODY}`, { version: 'HTTP/2.0' }],
  ['a chunk size that is no number', 400, firstChunk('zz')],
  ['a chunk size with 0x', 400, firstChunk(`0x${HEX}`)],
  ['a chunk size below zero', 400, firstChunk(`-${HEX}`)],
  ['a chunk size above 2^64', 400, firstChunk('f'.repeat(17))],
  ['a chunk size with a space behind', 400, firstChunk(`${HEX} `)],
  ['a chunk longer than its size', 400, firstChunk((BODY.length - 1).toString(16))],
  ['a line feed in a chunk extension', 400, firstChunk(`${HEX};a\nb`)],
  ['a line break in a quoted chunk extension', 400, firstChunk(`${HEX};a="b\r\nc"`)],
  ['20 kB of chunk extension', 413, firstChunk(`${HEX};${'a'.repeat(20_000)}`)],
  ['a header above 16 kB', 431, `X-A: ${'a'.repeat(16_500)}\r\n${SIZE}\r\n${BODY}`],
  ['many headers above 16 kB', 431, `${'X-A: 0123456789\r\n'.repeat(1_500)}${SIZE}\r\n${BODY}`],
  ['an URL above 16 kB', 431, `${SIZE}\r\n${BODY}`, { target: `/v1/generations?${'a'.repeat(16_500)}` }],
  ['trailers above 16 kB', 431, `${CHUNKED}\r\n${HEX}\r\n${BODY}\r\n0\r\nX-A: ${'a'.repeat(16_500)}\r\n\r\n`],
  ['an unknown expectation', 417, `Expect: nonsense\r\n${SIZE}\r\n${BODY}`],
];

describe('v5.0.0-4.2.1 smuggling', () => {
  it.each(REFUSED)(
    '%s: one refusal ends the connection, and nothing in or behind it is done',
    async (_name, status, rest, start) => {
      const tenant = await newTenant(suite.db);
      const id = randomUUID();
      const behind = post(tenant, `X-Request-Id: ${id}\r\n${SIZE}\r\n${BODY}`);
      const bytes = post(tenant, rest, { start: startOf(start) }) + behind + CLOSING;
      const answers = await exchange(suite.api.url, bytes);
      expect(statusesOf(answers)).toEqual([status]);
      expect(codeIn(answers[0])).toBe('malformed_http');
      expect(answers[0]?.head).toContain('\r\nContent-Type: application/problem+json\r\n');
      expect(answers[0]?.head).toContain('\r\nConnection: close');
      expect(await rowsOf(suite.db, tenant.id)).toEqual({ generations: 0, holds: 0, held: 0 });
      expect((await create(suite.api.url, tenant)).status).toBe(202);
      expect((await rowsOf(suite.db, tenant.id)).generations).toBe(1);
      // Had the app seen it, its line would be there, although nobody was left to be answered.
      expect(suite.api.logs.join('')).not.toContain(id);
    },
  );

  it('a request without a version is refused', async () => {
    expect(statusesOf(await exchange(suite.api.url, 'GET /healthz\r\n\r\n'))).toEqual([400]);
  });

  it('a request inside the body of another is a body, also of a GET', async () => {
    const tenant = await newTenant(suite.db);
    const hidden = post(tenant, `${SIZE}\r\n${BODY}`);
    const carrier = `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n`;
    expect(statusesOf(await exchange(suite.api.url, carrier + hidden + CLOSING))).toEqual([200, 200]);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(0);
  });

  it('bytes behind a whole request are refused after its answer, not instead of it', async () => {
    const tenant = await newTenant(suite.db);
    const key = randomUUID();
    const bytes = post(tenant, `${SIZE}\r\n${BODY}`, { key });
    const answers = await exchange(suite.api.url, `${bytes}nonsense\r\n\r\n`);
    expect(statusesOf(answers)).toEqual([202, 400]);
    const again = await create(suite.api.url, tenant, { key, body: BODY });
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([202, 'true']);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(1);
  });

  it('bytes behind a broken request that waits for its turn change nothing of the one before', async () => {
    const tenant = await newTenant(suite.db);
    const whole = post(tenant, `${SIZE}\r\n${BODY}`);
    const answers = await exchange(suite.api.url, whole + post(tenant, firstChunk('zz')) + whole);
    expect(statusesOf(answers)).toEqual([202, 400]);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(1);
  });
});

const WAITS = 'Expect: 100-continue\r\n';

/** Who waits to be told to send its body is told when somebody wants it, and not before it is known who asks. */
describe('a body that waits for 100 Continue', () => {
  const keyless = (target = '/v1/generations') =>
    `${startOf({ target })}Content-Type: application/json\r\n${WAITS}`;

  it.each([
    ['without a key', 401, `${keyless()}${SIZE}\r\n`],
    ['with a key that is none', 401, `${keyless()}Authorization: Bearer dk_none\r\n${SIZE}\r\n`],
    ['chunked, without a key', 401, `${keyless()}${CHUNKED}\r\n`],
    ['for an upload without a key', 401, `${keyless('/v1/inputs')}${SIZE}\r\n`],
    ['for no route', 404, `${keyless('/v1/nothing')}${SIZE}\r\n`],
  ])('%s: the answer alone, and the end of the connection', async (_name, status, bytes) => {
    const answers = await exchange(suite.api.url, bytes);
    expect(statusesOf(answers)).toEqual([status]);
    expect(answers[0]?.head).toContain('\r\nConnection: close');
  });

  it('too large by its length: 413, nothing of it is asked for', async () => {
    const tenant = await newTenant(suite.db);
    const answers = await exchange(suite.api.url, post(tenant, `${WAITS}Content-Length: 900000000\r\n\r\n`));
    expect(statusesOf(answers)).toEqual([413]);
  });
});

/** No header counts but those that were sent as one, before the body. */
describe('headers that would get lost', () => {
  it.each([
    ['1,500 headers', 'X-A:\r\n'.repeat(1_500)],
    ['15,000 headers of 1 byte', 'a:\r\n'.repeat(15_000)],
  ])('%s before the Idempotency-Key: it still counts', async (_name, before) => {
    const tenant = await newTenant(suite.db);
    const key = randomUUID();
    const bytes = post(tenant, `${SIZE}\r\n${BODY}`, { key, start: startOf() + before });
    expect(statusesOf(await exchange(suite.api.url, bytes + bytes + CLOSING))).toEqual([202, 202, 200]);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(1);
    const again = await create(suite.api.url, tenant, { key, body: BODY });
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  it('a key in a trailer is none: neither for the API nor for idempotency', async () => {
    const tenant = await newTenant(suite.db);
    const lines = {
      Authorization: `Authorization: Bearer ${tenant.key}\r\n`,
      'Idempotency-Key': 'Idempotency-Key: k\r\n',
    };
    const withTrailer = (header: string, trailer: string) =>
      `${startOf()}Content-Type: application/json\r\n${header}${CHUNKED}\r\n${HEX}\r\n${BODY}\r\n0\r\n${trailer}\r\n`;
    const answers = await exchange(
      suite.api.url,
      withTrailer(lines['Authorization'], lines['Idempotency-Key']) +
        withTrailer(lines['Idempotency-Key'], lines['Authorization']) +
        CLOSING,
    );
    expect(statusesOf(answers)).toEqual([400, 401, 200]);
    expect(answers.slice(0, 2).map(codeIn)).toEqual(['idempotency_key_missing', 'api_key_missing']);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(0);
  });
});

const ALLOWED: [name: string, statuses: number[], rest: string, start?: Start][] = [
  ['a chunk extension', [202, 200], firstChunk(`${HEX};a=b`)],
  ['an upgrade to a socket', [202], `Connection: Upgrade\r\nUpgrade: websocket\r\n${SIZE}\r\n${BODY}`],
  [
    'an upgrade to HTTP/2',
    [202],
    `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n${SIZE}\r\n${BODY}`,
  ],
  ['Expect: 100-continue', [100, 202, 200], `Expect: 100-continue\r\n${SIZE}\r\n${BODY}`],
  [
    'an URL of another host',
    [202, 200],
    `${SIZE}\r\n${BODY}`,
    { target: 'http://evil.example/v1/generations' },
  ],
  ['HTTP/1.0, which ends after one answer', [202], `${SIZE}\r\n${BODY}`, { version: 'HTTP/1.0', host: '' }],
];

describe('what is unusual and allowed', () => {
  it.each(ALLOWED)('%s: one generation, as without it', async (_name, statuses, rest, start) => {
    const tenant = await newTenant(suite.db);
    const answers = await exchange(suite.api.url, post(tenant, rest, { start: startOf(start) }) + CLOSING);
    expect(statusesOf(answers)).toEqual(statuses);
    for (const { head, body } of answers)
      expect(head + body).not.toMatch(/evil\.example|^(?:connection: )?upgrade/im);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(1);
  });

  it('TRACE shows nothing of the request; CONNECT opens nothing; * and other hosts are no routes of ours', async () => {
    const tenant = await newTenant(suite.db);
    const trace = `TRACE /v1/generations HTTP/1.1\r\nHost: x\r\nCookie: canary\r\nAuthorization: Bearer ${tenant.key}\r\n\r\n`;
    const star = 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n';
    const proxied = 'GET http://evil.example/admin HTTP/1.1\r\nHost: x\r\n\r\n';
    const answers = await exchange(suite.api.url, trace + star + proxied + CLOSING);
    expect(statusesOf(answers)).toEqual([405, 404, 404, 200]);
    for (const { head, body } of answers) {
      expect(head + body).not.toMatch(/canary|evil\.example/);
      expect(head + body).not.toContain(tenant.key);
    }
    const connect = 'CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await exchange(suite.api.url, connect + post(tenant, `${SIZE}\r\n${BODY}`))).toEqual([]);
    expect((await rowsOf(suite.db, tenant.id)).generations).toBe(0);
  });
});
