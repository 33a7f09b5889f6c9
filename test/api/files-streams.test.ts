import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createFileDelivery } from '../../src/services/file-delivery.ts';
import { createSlots } from '../../src/services/slots.ts';
import type { Storage } from '../../src/storage/index.ts';
import { eventually } from '../simulators/control.ts';
import type { TestApi } from './api.ts';
import { send } from './client.ts';
import { countedSlots, fetchFile, oneLink, sha256, useFiles } from './files.ts';
import { codeOf } from './suite.ts';

const suite = useFiles();

/** More than all buffers of both ends of a local connection hold. */
const LARGE = Buffer.alloc(24 * 1024 * 1024, 'media');

let stored: ReturnType<typeof oneLink> | undefined;
/** The link to one file of that size. */
const large = () => (stored ??= oneLink(suite, LARGE));

/** A client that sends its request and takes what the test lets it take. */
async function slowClient(api: TestApi, path: string) {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

describe('a large file', () => {
  it('F1 arrives whole, and in parts', async () => {
    const { link } = await large();
    const whole = await fetchFile(suite.api.url, link);
    expect(sha256(whole.bytes)).toBe(sha256(LARGE));
    const cut = 20_000_001;
    const [head, tail] = await Promise.all(
      [`bytes=0-${cut - 1}`, `bytes=${cut}-`].map((range) =>
        fetchFile(suite.api.url, link, { headers: { Range: range } }),
      ),
    );
    expect(sha256(Buffer.concat([head!.bytes, tail!.bytes]))).toBe(sha256(LARGE));
  });

  it('is read no faster than it is taken; a reader that stops is cut, and gives back its place', async () => {
    const { link } = await large();
    let read = 0;
    let isDone = false;
    const counting: Storage['read'] = async (path, range) => {
      const source = await suite.storage.read(path, range);
      return (async function* count() {
        try {
          for await (const chunk of source) {
            read += chunk.length;
            yield chunk;
          }
        } finally {
          isDone = true;
        }
      })();
    };
    const { streams, counted } = countedSlots(1);
    const api = await suite.start({
      storage: { ...suite.storage, read: counting },
      fileDelivery: createFileDelivery({ streams, idleMs: 2_000 }),
    });
    const socket = await slowClient(api, link);
    // The first bytes only, then nothing is read any more.
    await once(socket, 'readable');
    expect(counted.taken).toBe(1);
    await eventually(async () => (counted.taken === 0 && isDone ? true : undefined));
    expect(read).toBeLessThan(LARGE.length / 2);
    let received = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) received += chunk.length;
    expect(received).toBeLessThan(LARGE.length);
    const last = JSON.parse(api.logs.at(-1)!) as object;
    expect(last).toMatchObject({ status: 499, problem: null, route: '/files/outputs/{generation}/{index}' });
  });

  it('a slow reader that goes on taking is not cut', async () => {
    const { link } = await large();
    const api = await suite.start({ fileDelivery: createFileDelivery({ idleMs: 3_000 }) });
    const socket = await slowClient(api, link);
    let received = 0;
    const startedMs = performance.now();
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received += chunk.length;
      // Slower than the limit in all, each pause far below it.
      if (performance.now() - startedMs < 7_500) await new Promise((resolve) => setTimeout(resolve, 30));
      if (received > LARGE.length) break;
    }
    expect(received).toBeGreaterThan(LARGE.length);
  });

  it('a reader that leaves ends the reading and gives back its place', async () => {
    const { link } = await large();
    let source: Readable | undefined;
    const kept: Storage['read'] = async (path, range) => {
      source = (await suite.storage.read(path, range)) as Readable;
      return source;
    };
    const { streams, counted } = countedSlots(1);
    const api = await suite.start({
      storage: { ...suite.storage, read: kept },
      fileDelivery: createFileDelivery({ streams }),
    });
    const socket = await slowClient(api, link);
    await once(socket, 'readable');
    expect(counted.taken).toBe(1);
    socket.destroy();
    await eventually(async () => (counted.taken === 0 && source?.destroyed === true ? true : undefined));
    expect(api.logs.some((line) => line.includes('"level":50'))).toBe(false);
  });
});

describe('a bound on streams', () => {
  it('above it: 503 busy, soon again; HEAD and 304 need no place', async () => {
    const { link } = await large();
    const { streams } = countedSlots(1);
    const api = await suite.start({ fileDelivery: createFileDelivery({ streams }) });
    const socket = await slowClient(api, link);
    await once(socket, 'readable');
    const refused = await send(api.url, { path: link });
    expect([...codeOf(refused), refused.headers['retry-after']]).toEqual([503, 'busy', '5']);
    expect((await send(api.url, { path: link, method: 'HEAD' })).status).toBe(200);
    const known = { 'If-None-Match': `"sha256-${sha256(LARGE)}"` };
    expect((await send(api.url, { path: link, headers: known })).status).toBe(304);
    socket.destroy();
    const answer = await eventually(async () => {
      const again = await fetchFile(api.url, link);
      return again.status === 200 ? again : undefined;
    });
    expect(answer.bytes.length).toBe(LARGE.length);
  });

  it('one tenant can’t take every place', async () => {
    const [mine, theirs] = await Promise.all([large(), oneLink(suite)]);
    const streams = createSlots({ total: 2, perOwner: 1 });
    const api = await suite.start({ fileDelivery: createFileDelivery({ streams }) });
    const socket = await slowClient(api, mine.link);
    await once(socket, 'readable');
    expect(codeOf(await send(api.url, { path: mine.link }))).toEqual([503, 'busy']);
    expect((await fetchFile(api.url, theirs.link)).status).toBe(200);
    socket.destroy();
  });
});
