import { expect, it } from 'vitest';
import { uploadFile } from '../../src/net/index.ts';
import { startHttp, startHttps, startScripted, startTcp } from './servers.ts';

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

function upload(
  url: string,
  body: AsyncIterable<Uint8Array>,
  bytes: number,
  signal = new AbortController().signal,
) {
  return uploadFile({ url, contentType: 'image/png', bytes, body, timeoutMs: 10_000, signal });
}

it('a body is sent as it is read, once, with its length', async () => {
  const seen: string[] = [];
  const server = await startHttp((request, response) => {
    seen.push(
      `${request.method} ${request.url} ${request.headers['content-type']} ${request.headers['content-length']}`,
    );
    request.setEncoding('utf8').on('data', (text: string) => seen.push(text));
    request.on('end', () => response.writeHead(201).end('got it'));
  });
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('first');
    // The second piece is not read before the first has arrived.
    while (!seen.includes('first')) await new Promise(setImmediate);
    yield Buffer.from('second');
  }
  const answer = await upload(`http://127.0.0.1:${server.port}/a?b=c`, slow(), 11);
  expect(answer).toEqual({ kind: 'answer', status: 201, body: Buffer.from('got it'), sentAll: true });
  expect(seen).toEqual(['POST /a?b=c image/png 11', 'first', 'second']);
  expect(server.connections).toBe(1);
});

it('a redirect is not followed', async () => {
  const other = await startHttp((_request, response) => response.end());
  const server = await startHttp((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(308, { location: `http://127.0.0.1:${other.port}/` }).end());
  });
  expect(await upload(`http://127.0.0.1:${server.port}/`, pieces('abc'), 3)).toMatchObject({ status: 308 });
  expect(other.connections).toBe(0);
});

it.each([
  ['an answer that is no HTTP', 'http', 'SSH-2.0-x\r\n', 'bad_answer'],
  [
    'an answer in an unknown encoding',
    'http',
    'HTTP/1.1 200 OK\r\nContent-Encoding: x\r\nContent-Length: 1\r\n\r\nx',
    'bad_answer',
  ],
  [
    'an answer that never ends',
    'http',
    `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${'x'.repeat(70_000)}`,
    'answer_too_large',
  ],
  ['plain HTTP where TLS should be', 'https', 'HTTP/1.1 200 OK\r\n\r\n', 'tls_failed'],
])('%s is a failure', async (_name, scheme, answer, reason) => {
  const { port } = await startScripted(answer, 'open');
  expect(await upload(`${scheme}://127.0.0.1:${port}/`, pieces('abc'), 3)).toEqual({
    kind: 'failed',
    reason,
  });
});

it.each([2, 4])('a body that is not as long as its %i bytes is a failure', async (bytes) => {
  const { port } = await startTcp(() => {});
  const answer = await upload(`http://127.0.0.1:${port}/`, pieces('abc'), bytes);
  expect(answer).toEqual({ kind: 'failed', reason: 'invalid_request' });
});

it('a certificate that nobody vouches for is refused', async () => {
  const { port } = await startHttps((_request, response) => response.end());
  const answer = await upload(`https://127.0.0.1:${port}/`, pieces('abc'), 3);
  expect(answer).toEqual({ kind: 'failed', reason: 'tls_failed' });
});

it('throws what the body threw, or the reason of the signal', async () => {
  const { port } = await startHttp((request) => void request.resume());
  const url = `http://127.0.0.1:${port}/`;
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    throw new Error('the disk is gone');
  }
  await expect(upload(url, broken(), 3)).rejects.toThrow('the disk is gone');
  const stop = new AbortController();
  async function* aborting(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    stop.abort(new Error('stopped'));
    yield Buffer.from('b');
  }
  await expect(upload(url, aborting(), 3, stop.signal)).rejects.toThrow('stopped');
  await expect(upload(url, pieces('abc'), 3, stop.signal)).rejects.toThrow('stopped');
});
