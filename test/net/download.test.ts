import { createHash, randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import type { DownloadAnswer, DownloadRequest, OutboundHttp } from '../../src/net/types.ts';
import { createClient, startHttp, startScripted } from './servers.ts';

const LIMITS = { maxBytes: 1000, idleMs: 20_000, totalMs: 60_000 };

interface Result {
  readonly answer: DownloadAnswer;
  readonly stored: Buffer;
}

async function download(
  client: OutboundHttp,
  port: number,
  options: Partial<DownloadRequest> = {},
): Promise<Result> {
  const chunks: Uint8Array[] = [];
  const answer = await client.download({
    url: `http://127.0.0.1:${port}/file`,
    hosts: ['127.0.0.1'],
    headersFor: () => ({}),
    limits: LIMITS,
    signal: new AbortController().signal,
    write: async (chunk) => void chunks.push(chunk),
    ...options,
  });
  return { answer, stored: Buffer.concat(chunks) };
}

async function downloadScripted(
  answer: string,
  end: 'fin' | 'reset' | 'open' = 'fin',
): Promise<DownloadAnswer> {
  const server = await startScripted(answer, end);
  const limits = { ...LIMITS, idleMs: end === 'open' ? 1_000 : 20_000 };
  return (await download(createClient([server.port]), server.port, { limits })).answer;
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n`;

describe('download: integrity', () => {
  it('DL-9: the bytes arrive as they were sent, in order, with progress', async () => {
    const file = randomBytes(3_000_000);
    const server = await startHttp((request, response) => {
      expect(request.headers['accept-encoding']).toBe('identity');
      response.setHeader('content-type', 'video/mp4');
      for (let at = 0; at < file.length; at += 100_000) response.write(file.subarray(at, at + 100_000));
      response.end();
    });
    const seen: number[] = [];
    const { answer, stored } = await download(createClient([server.port]), server.port, {
      limits: { ...LIMITS, maxBytes: file.length },
      onProgress: (bytes) => seen.push(bytes),
    });
    expect(answer).toEqual({ kind: 'complete', bytes: 3_000_000, contentType: 'video/mp4' });
    expect(createHash('sha256').update(stored).digest('hex')).toBe(
      createHash('sha256').update(file).digest('hex'),
    );
    expect(seen.at(-1)).toBe(3_000_000);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it('reads ahead while the sink writes, and hands on in one piece what has come', async () => {
    const file = randomBytes(4_000_000);
    const server = await startHttp((_request, response) => void response.end(file));
    const limits = { maxBytes: file.length, idleMs: 60_000, totalMs: 60_000 };
    // A socket is read by 64 KiB at most. Again, since a busy machine may bring nothing while one is written.
    await vi.waitFor(async () => {
      const sizes: number[] = [];
      const { answer } = await download(createClient([server.port]), server.port, {
        limits,
        write: async (chunk) => {
          sizes.push(chunk.length);
          await setTimeout(20);
        },
      });
      expect(answer).toMatchObject({ kind: 'complete', bytes: file.length });
      expect(Math.max(...sizes)).toBeGreaterThan(4 * 65_536);
      expect(Math.max(...sizes)).toBeLessThan(2_000_000);
    }, 60_000);
  });

  it.each([
    ['Content-Length 10, sends 5, closes', `${OK}content-length: 10\r\n\r\nhello`, 'truncated'],
    [
      'the same with Connection: close',
      `${OK}connection: close\r\ncontent-length: 10\r\n\r\nhello`,
      'truncated',
    ],
    [
      'chunked, no final chunk, Connection: close',
      `${CHUNKED}connection: close\r\n\r\n5\r\nhello\r\n`,
      'truncated',
    ],
    ['chunked, cut inside a chunk', `${CHUNKED}connection: close\r\n\r\n5\r\nhel`, 'truncated'],
    ['chunked, no final chunk, keep-alive', `${CHUNKED}\r\n5\r\nhello\r\n`, 'truncated'],
    ['chunked, not a chunk', `${CHUNKED}\r\nzz\r\nhello\r\n`, 'truncated'],
    ['closes without an answer', '', 'reset'],
    ['is no HTTP server', 'SSH-2.0-OpenSSH\r\n\r\n', 'bad_answer'],
  ] as const)('DL-1: %s', async (_name, bytes, reason) => {
    expect(await downloadScripted(bytes)).toEqual({ kind: 'failed', reason });
  });

  it('DL-1: a reset within the body', async () => {
    expect(await downloadScripted(`${OK}content-length: 10\r\n\r\nhello`, 'reset')).toEqual({
      kind: 'failed',
      reason: 'reset',
    });
  });

  it('DL-1: without length or chunks the end cannot be judged here', async () => {
    expect(await downloadScripted(`${OK}\r\nhello`)).toEqual({
      kind: 'complete',
      bytes: 5,
      contentType: null,
    });
  });

  it.each(['gzip', 'br', 'identity, gzip'])('DL-1: content encoding %s is refused', async (encoding) => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb);
    });
    const { answer, stored } = await download(createClient([server.port]), server.port);
    expect(answer).toEqual({ kind: 'rejected', reason: 'encoded' });
    expect(stored).toHaveLength(0);
  });

  it('DL-1: a compressing transfer encoding is refused', async () => {
    expect(
      await downloadScripted(`${OK}transfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`),
    ).toEqual({
      kind: 'rejected',
      reason: 'encoded',
    });
  });
});

describe('download: limits', () => {
  it('DL-3: a declared size above the limit is refused before the body', async () => {
    const server = await startScripted(`${OK}content-length: 1001\r\n\r\n`, 'open');
    const { answer, stored } = await download(createClient([server.port]), server.port);
    expect(answer).toEqual({ kind: 'rejected', reason: 'too_large' });
    expect(stored).toHaveLength(0);
  });

  it.each([
    [1000, { kind: 'complete', bytes: 1000, contentType: null }],
    [1001, { kind: 'rejected', reason: 'too_large' }],
  ])('DL-3: a streamed body of %i bytes', async (size, expected) => {
    const server = await startHttp((_request, response) => {
      response.write('x'.repeat(500));
      response.end('x'.repeat(size - 500));
    });
    const { answer, stored } = await download(createClient([server.port]), server.port);
    expect(answer).toEqual(expected);
    expect(stored.length).toBeLessThanOrEqual(1000);
  });

  it('DL-3: an endless body is cut at the limit and the connection closed', async () => {
    const closed = vi.fn<() => void>();
    const server = await startHttp((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(400)), 1);
      response.on('close', () => {
        clearInterval(timer);
        closed();
      });
    });
    const { answer } = await download(createClient([server.port]), server.port);
    expect(answer).toEqual({ kind: 'rejected', reason: 'too_large' });
    await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce(), 30_000);
  });

  it.each([
    ['before the head', ''],
    ['within the body', `${OK}content-length: 10\r\n\r\nhello`],
  ])('DL-4: silence %s ends by the idle limit', async (_name, bytes) => {
    const startedAt = performance.now();
    expect(await downloadScripted(bytes, 'open')).toEqual({ kind: 'failed', reason: 'timeout' });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('DL-4: a source that drips one byte at a time ends by the total limit', async () => {
    const server = await startHttp((_request, response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const limits = { maxBytes: 1000, idleMs: 1_000, totalMs: 3_000 };
    const { answer, stored } = await download(createClient([server.port]), server.port, { limits });
    expect(answer).toEqual({ kind: 'failed', reason: 'timeout' });
    expect(stored.length).toBeGreaterThan(5);
  });

  it('a slow sink holds the source back and is not taken for an idle source', async () => {
    let sent = 0;
    const server = await startHttp((_request, response) => {
      const pump = (): void => {
        while (sent < 200_000_000 && response.write(Buffer.alloc(100_000))) sent += 100_000;
      };
      response.on('drain', pump);
      pump();
    });
    let writes = 0;
    const abort = new AbortController();
    const running = download(createClient([server.port]), server.port, {
      limits: { maxBytes: 1e9, idleMs: 500, totalMs: 20_000 },
      signal: abort.signal,
      write: async () => {
        writes++;
        await setTimeout(700);
        if (writes === 3) abort.abort(new Error('enough'));
      },
    });
    await expect(running).rejects.toThrow('enough');
    expect(writes).toBe(3);
    expect(sent).toBeLessThan(50_000_000);
  });

  it('an abort rejects with its reason, after the running write has ended', async () => {
    const server = await startScripted(`${OK}content-length: 10\r\n\r\nhello`, 'open');
    const abort = new AbortController();
    let written = false;
    const running = download(createClient([server.port]), server.port, {
      signal: abort.signal,
      write: async () => {
        abort.abort(new Error('cancelled'));
        await setTimeout(30);
        written = true;
      },
    });
    await expect(running).rejects.toThrow('cancelled');
    expect(written).toBe(true);
    await expect(
      download(createClient([server.port]), server.port, { signal: abort.signal }),
    ).rejects.toThrow('cancelled');
    expect(server.requests).toBe(1);
  });

  it('DL-12: an error of the sink is thrown and the connection closed', async () => {
    const closed = vi.fn<() => void>();
    const server = await startHttp((_request, response) => {
      response.write('hello');
      response.on('close', closed);
    });
    const running = download(createClient([server.port]), server.port, {
      write: async () => Promise.reject(new Error('ENOSPC')),
    });
    await expect(running).rejects.toThrow('ENOSPC');
    await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce(), 30_000);
  });
});

describe('download: status', () => {
  it.each([
    [401, { kind: 'gone', status: 401 }],
    [403, { kind: 'gone', status: 403 }],
    [404, { kind: 'gone', status: 404 }],
    [410, { kind: 'gone', status: 410 }],
    [204, { kind: 'failed', reason: 'http_status' }],
    [206, { kind: 'failed', reason: 'http_status' }],
    [302, { kind: 'failed', reason: 'http_status' }],
    [429, { kind: 'failed', reason: 'http_status' }],
    [500, { kind: 'failed', reason: 'http_status' }],
  ])('DL-7: %i', async (status, expected) => {
    const server = await startHttp((_request, response) => {
      response.statusCode = status;
      response.end('<Error>expired</Error>'.repeat(10_000));
    });
    const { answer, stored } = await download(createClient([server.port]), server.port);
    expect(answer).toEqual(expected);
    expect(stored).toHaveLength(0);
  });

  it('connect refused and a dead name are failures', async () => {
    expect((await download(createClient([1]), 1)).answer).toEqual({
      kind: 'failed',
      reason: 'connect_refused',
    });
    const client = createClient([], { lookup: async () => [] });
    const dead = await download(client, 1, {
      url: 'https://cdn.example/',
      hosts: ['*.example', 'cdn.example'],
    });
    expect(dead.answer).toEqual({ kind: 'failed', reason: 'dns_failed' });
  });
});
