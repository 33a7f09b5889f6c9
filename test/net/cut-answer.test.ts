import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { OutboundAnswer } from '../../src/net/types.ts';
import { createClient, startHttp, startScripted } from './servers.ts';

/** One POST whose caller wants the status and the first 1,000 bytes. */
function call(port: number, timeoutMs = 20_000): Promise<OutboundAnswer> {
  return createClient([port]).request({
    method: 'POST',
    url: `http://127.0.0.1:${port}/`,
    headers: {},
    body: '{}',
    timeoutMs,
    cutAnswerAt: 1_000,
  });
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('request with cutAnswerAt', () => {
  it.each(['declared', 'streamed'])(
    'keeps the first bytes of an answer that is too large (%s)',
    async (how) => {
      const server = await startHttp((_request, response) => {
        if (how === 'declared') response.setHeader('content-length', '1001');
        response.write('x'.repeat(500));
        response.end('y'.repeat(501));
      });
      const answer = await call(server.port);
      expect(answer).toMatchObject({ kind: 'answer', status: 200 });
      if (answer.kind === 'answer') expect(answer.body.toString()).toBe('x'.repeat(500) + 'y'.repeat(500));
    },
  );

  it('drops a body that never ends, and its connection with it', async () => {
    let closed: () => void;
    const dropped = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const server = await startHttp((_request, response) => {
      const more = () =>
        void (response.destroyed || response.write('x'.repeat(10_000), () => setImmediate(more)));
      response.on('close', () => closed());
      response.on('error', () => {});
      more();
    });
    const answer = await call(server.port);
    expect(answer).toMatchObject({ kind: 'answer', status: 200 });
    if (answer.kind === 'answer') expect(answer.body.length).toBe(1_000);
    await dropped;
  });

  it('takes an answer that is whole as it is, also a compressed one', async () => {
    const server = await startHttp((_request, response) => {
      response.writeHead(202, { 'content-encoding': 'gzip', 'retry-after': '5' }).end(gzipSync('{"a":1}'));
    });
    expect(await call(server.port)).toMatchObject({
      kind: 'answer',
      status: 202,
      headers: { 'retry-after': '5' },
      body: Buffer.from('{"a":1}'),
    });
  });

  it('keeps the raw bytes of what can not be unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(100_000));
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    expect(await call(server.port)).toMatchObject({ kind: 'answer', status: 200, body: bomb });
  });

  it.each([
    ['silence in the body', `${OK}content-length: 10\r\n\r\nhello`, 'open'],
    ['a body shorter than declared', `${OK}content-length: 10\r\n\r\nhello`, 'fin'],
    ['a reset in the body', `${OK}content-length: 10\r\n\r\nhello`, 'reset'],
    ['a broken chunk', `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`, 'fin'],
  ] as const)('is answered in spite of %s', async (_name, bytes, end) => {
    const server = await startScripted(bytes, end);
    expect(await call(server.port, end === 'open' ? 1_000 : 20_000)).toMatchObject({
      kind: 'answer',
      status: 200,
      body: Buffer.from('hello'),
    });
  });

  it.each([
    ['silence', '', 'open', 'timeout'],
    ['an informational head alone', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 'open', 'timeout'],
    ['half a head', `${OK}content-`, 'fin', 'reset'],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n', 'fin', 'bad_answer'],
  ] as const)('is not answered by %s', async (_name, bytes, end, reason) => {
    const server = await startScripted(bytes, end);
    const answer = await call(server.port, end === 'open' ? 1_000 : 20_000);
    expect(answer).toEqual({ kind: 'interrupted', reason });
  });
});
