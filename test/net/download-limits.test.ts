import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { DownloadRequest } from '../../src/net/types.ts';
import { createClient, startHttp, startTcp } from './servers.ts';

const LIMITS = { maxBytes: 1e9, idleMs: 5_000, totalMs: 20_000 };

function request(port: number, over: Partial<DownloadRequest> = {}): DownloadRequest {
  return {
    url: `http://127.0.0.1:${port}/file`,
    hosts: ['127.0.0.1'],
    headersFor: () => ({}),
    limits: LIMITS,
    signal: new AbortController().signal,
    write: async () => {},
    ...over,
  };
}

describe('download: minimum rate', () => {
  it('DL-4: a source that never falls silent but drips is cut off, and not asked for the rest', async () => {
    let requests = 0;
    const server = await startHttp((_request, response) => {
      requests += 1;
      response.writeHead(200, { 'content-length': 1_000_000, etag: '"x"' });
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const limits = { ...LIMITS, minBytesPerSecond: 10_000, rateWindowMs: 150 };
    const answer = await createClient([server.port]).download(request(server.port, { limits }));
    expect(answer).toEqual({ kind: 'failed', reason: 'too_slow' });
    expect(requests).toBe(1);
  });

  it('DL-4: the first window is not judged, so that a slow start is no slow source', async () => {
    const server = await startHttp((_request, response) => {
      response.flushHeaders();
      setTimeout(() => response.end('x'.repeat(10_000)), 3_800);
    });
    const limits = { ...LIMITS, minBytesPerSecond: 1_000, rateWindowMs: 3_000 };
    const answer = await createClient([server.port]).download(request(server.port, { limits }));
    expect(answer).toMatchObject({ kind: 'complete', bytes: 10_000 });
  });

  it('DL-4: a minimum of 0 asks for no rate', async () => {
    const server = await startHttp((_request, response) => {
      response.write('x');
      setTimeout(() => response.end('x'), 400);
    });
    const limits = { ...LIMITS, minBytesPerSecond: 0, rateWindowMs: 50 };
    const answer = await createClient([server.port]).download(request(server.port, { limits }));
    expect(answer).toMatchObject({ kind: 'complete', bytes: 2 });
  });

  it('a slow sink is not taken for a slow source', async () => {
    const server = await startHttp((_request, response) => response.end(Buffer.alloc(300_000)));
    const limits = { ...LIMITS, minBytesPerSecond: 1_000, rateWindowMs: 600 };
    let isFirst = true;
    const write = async (): Promise<void> => {
      // Three windows in which nothing comes: were they the source's, the second would be too slow.
      if (isFirst) await sleep(2_000);
      isFirst = false;
    };
    const answer = await createClient([server.port]).download(request(server.port, { limits, write }));
    expect(answer).toMatchObject({ kind: 'complete', bytes: 300_000 });
  });
});

describe('download: back pressure', () => {
  it.each([
    ['with a length', (size: number) => `content-length: ${size}\r\n`],
    ['without', () => ''],
  ])(
    'a source that closes while the sink is still busy breaks nothing: the file is whole, %s',
    async (_n, length) => {
      // undici 7 ended the process here: its parser was held back when the end came (nodejs/undici#5360).
      for (const size of [65_536, 131_072, 196_608, 300_000]) {
        const server = await startTcp((socket) => {
          socket.once('data', () => {
            socket.write(`HTTP/1.1 200 OK\r\nconnection: close\r\n${length(size)}\r\n`);
            socket.end(Buffer.alloc(size));
          });
        });
        const answer = await createClient([server.port]).download(
          request(server.port, { write: async () => sleep(20) }),
        );
        expect(answer).toEqual({ kind: 'complete', bytes: size, contentType: null });
      }
    },
  );
});

describe('download: memory', () => {
  it('T35 DL-3: of an endless body nothing is kept, up to the limit', async () => {
    const chunk = Buffer.alloc(65_536);
    const server = await startHttp((_request, response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', pump);
      pump();
    });
    const [maxBytes, mayHold] = [160 * 2 ** 20, 80 * 2 ** 20];
    const before = process.memoryUsage().arrayBuffers;
    let [bytes, most] = [0, 0];
    const answer = await createClient([server.port]).download(
      request(server.port, {
        limits: { ...LIMITS, maxBytes },
        write: async (next) => {
          bytes += next.length;
          most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        },
      }),
    );
    expect(answer).toEqual({ kind: 'rejected', reason: 'too_large' });
    expect(bytes).toBeLessThanOrEqual(maxBytes);
    expect(bytes).toBeGreaterThan(maxBytes - 2 ** 20);
    expect(most).toBeLessThan(mayHold);
  });
});
