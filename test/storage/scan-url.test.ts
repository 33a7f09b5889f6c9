import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { createScan } from '../../src/storage/index.ts';
import { startHttp, startScripted, startTcp } from '../net/servers.ts';
import { CONTENT, scan, source } from './scan.ts';

const FAILED = { kind: 'failed', reason: 'error' };

/** Reads the whole file, then answers so. */
function answering(status: number, body: string, headers: Record<string, string> = {}): RequestListener {
  return (request, response: ServerResponse) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body));
  };
}

async function scanAt(listener: RequestListener) {
  const { port } = await startHttp(listener);
  return scan(
    { kind: 'url', url: `http://127.0.0.1:${port}/scan?token=1`, timeoutMs: 15_000 },
    source(CONTENT),
  );
}

describe('SCAN_URL', () => {
  it('is sent the whole file and its type, and {"clean": true} is clean', async () => {
    const parts: Buffer[] = [];
    let request: IncomingMessage | null = null;
    const scanned = await scanAt((incoming, response) => {
      request = incoming;
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => response.end('{"clean": true, "engine": "x"}'));
    });
    expect(scanned).toEqual({ verdict: { kind: 'clean' }, problems: [] });
    expect(request).toMatchObject({
      method: 'POST',
      url: '/scan?token=1',
      headers: { 'content-type': 'video/mp4', 'content-length': '2000000' },
    });
    expect(Buffer.concat(parts).equals(CONTENT)).toBe(true);
  });

  it('{"clean": false} is infected, also before the file is read to its end', async () => {
    const infected = { verdict: { kind: 'infected' }, problems: [] };
    expect(await scanAt(answering(200, '{"clean":false}'))).toEqual(infected);
    expect(await scanAt((_request, response) => response.end('{"clean":false}'))).toEqual(infected);
  });

  it.each([
    ['another status', answering(204, ''), 'SCAN_URL answered 204 in place of 200'],
    ['an error with a clean body', answering(500, '{"clean":true}'), 'SCAN_URL answered 500 in place of 200'],
    ['a redirect', answering(307, '', { location: '/other' }), 'SCAN_URL answered 307 in place of 200'],
    ['no JSON', answering(200, 'ok'), 'SCAN_URL answered neither {"clean": true} nor {"clean": false}'],
    ['a text in place of true', answering(200, '{"clean":"true"}'), 'SCAN_URL answered neither'],
    ['another shape', answering(200, 'null'), 'SCAN_URL answered neither'],
    [
      'an answer that is too large',
      answering(200, `{"clean":true${' '.repeat(70_000)}}`),
      'SCAN_URL gave no answer: answer_too_large',
    ],
    [
      'an answer that is cut',
      (request: IncomingMessage, response: ServerResponse) => {
        request.resume().on('end', () => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"clean":true}', () => response.destroy());
        });
      },
      'SCAN_URL gave no answer',
    ],
  ])('%s is a failure, never a pass', async (_name, listener, problem) => {
    const { verdict, problems } = await scanAt(listener);
    expect(verdict).toEqual(FAILED);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('clean before the whole file was sent is a failure', async () => {
    const { port } = await startScripted(
      'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"clean":true}',
      'open',
    );
    const file = source(CONTENT, { bytes: 1e12 });
    const scanned = await scan({ kind: 'url', url: `http://127.0.0.1:${port}/`, timeoutMs: 15_000 }, file);
    expect(scanned).toEqual({
      verdict: FAILED,
      problems: ['SCAN_URL answered before it had the whole file'],
    });
    await vi.waitFor(() => expect(file.open).toBe(0), 30_000);
  });

  it('one that is not there, or breaks off, is a failure', async () => {
    const { port } = await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    for (const url of [`http://127.0.0.1:${port}/`, 'http://127.0.0.1:1/']) {
      const file = source(CONTENT);
      const { verdict, problems } = await scan({ kind: 'url', url, timeoutMs: 15_000 }, file);
      expect(verdict).toEqual(FAILED);
      expect(problems).toEqual([expect.stringMatching(/^SCAN_URL gave no answer: (reset|connect_refused)$/)]);
      await vi.waitFor(() => expect(file.open).toBe(0), 30_000);
    }
  });

  it('a hanging one ends at the time limit; one that does not read is no reason to hold the file', async () => {
    const { port } = await startTcp((socket) => socket.pause());
    const file = source(CONTENT, { bytes: 1e12 });
    const scanned = await scan({ kind: 'url', url: `http://127.0.0.1:${port}/`, timeoutMs: 1000 }, file);
    expect(scanned.verdict).toEqual({ kind: 'failed', reason: 'timeout' });
    expect(file.given).toBeLessThan(50_000_000);
    await vi.waitFor(() => expect(file.open).toBe(0), 30_000);
    const silent = await startHttp((request) => void request.resume());
    const config = { kind: 'url', url: `http://127.0.0.1:${silent.port}/`, timeoutMs: 500 } as const;
    expect((await scan(config, source(CONTENT))).verdict).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it('an abort ends it with its reason', async () => {
    const stop = new AbortController();
    const { port } = await startHttp((request) => {
      request.resume().once('data', () => stop.abort(new Error('worker stops')));
    });
    const config = { kind: 'url', url: `http://127.0.0.1:${port}/`, timeoutMs: 15_000 } as const;
    await expect(scan(config, source(CONTENT), stop.signal)).rejects.toThrow('worker stops');
    await expect(scan(config, source(CONTENT), stop.signal)).rejects.toThrow('worker stops');
  });

  it('a file that can not be read, or is not as long as it should be, is a failure', async () => {
    const { port } = await startHttp(answering(200, '{"clean":true}'));
    const config = { kind: 'url', url: `http://127.0.0.1:${port}/`, timeoutMs: 15_000 } as const;
    const unreadable = { verdict: FAILED, problems: ['the stored file could not be read'] };
    expect(await scan(config, source(CONTENT, { fail: true }))).toEqual(unreadable);
    const gone = { ...source(CONTENT), read: async () => Promise.reject(new Error('not stored')) };
    expect(await scan(config, gone)).toEqual(unreadable);
    for (const difference of [-1, 1]) {
      const other = { ...source(CONTENT), bytes: CONTENT.length + difference };
      expect((await scan(config, other)).verdict).toEqual(FAILED);
    }
  });
});

it('without a scanner every file is clean, and is not even read', async () => {
  const file = source(CONTENT);
  expect(await createScan(null)(file, new AbortController().signal)).toEqual({ kind: 'clean' });
  expect(file.given).toBe(0);
});
