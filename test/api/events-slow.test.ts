import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventFrame, HEARTBEAT, writeFrames } from '../../src/api/event-stream.ts';
import { follow } from './event-client.ts';

const open: (Server | Socket)[] = [];
afterEach(() => {
  for (const part of open.splice(0))
    if ('closeAllConnections' in part) part.close();
    else part.destroy();
});

const frame = eventFrame({ seq: 1, type: 'progress', data: { text: 'x'.repeat(4_000) } });
/** Node's own limit for what may wait in a socket, and one frame more. */
const MOST_BYTES = 64 * 1024 + frame.length;

interface Source {
  taken: number;
  over: boolean;
  readonly frames: AsyncGenerator<string>;
}

/** Frames as many as anybody takes, up to the limit. */
function source(limit = Infinity): Source {
  const made = { taken: 0, over: false };
  async function* frames(): AsyncGenerator<string> {
    try {
      while (made.taken < limit) {
        made.taken += 1;
        yield frame;
      }
    } finally {
      made.over = true;
    }
  }
  return Object.assign(made, { frames: frames() });
}

async function serve(answer: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((_request, response) => answer(response));
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A client that asks and never reads. */
async function deafClient(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  open.push(socket);
  socket.on('error', () => {});
  socket.pause();
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}

const LIMIT = { timeout: 30_000 };

describe('SSE-2 a client that does not read', () => {
  it('holds a bounded piece in memory, takes nothing more from the source, and is cut in the end', async () => {
    const clients: { source: Source; response: ServerResponse; done: Promise<void>; stalls: number[] }[] = [];
    let most = 0;
    const port = await serve((response) => {
      const own = source();
      const stalls: number[] = [];
      const write = response.write.bind(response);
      response.write = (chunk: string) => {
        const more = write(chunk);
        if (!more) stalls.push(own.taken);
        most = Math.max(most, response.writableLength, response.socket?.writableLength ?? 0);
        return more;
      };
      clients.push({ source: own, response, stalls, done: writeFrames(response, own.frames, 500) });
    });
    for (let i = 0; i < 10; i += 1) await deafClient(port);
    await expect.poll(() => clients.length, LIMIT).toBe(10);
    await Promise.all(clients.map(({ done }) => done));
    for (const { source, response, stalls } of clients) {
      expect(source.taken).toBe(stalls.at(-1));
      expect([source.over, response.destroyed]).toEqual([true, true]);
    }
    expect(most).toBeLessThanOrEqual(MOST_BYTES);
  });

  it('that reads on in time gets everything', async () => {
    const own = source(4_000);
    const port = await serve((response) => {
      void writeFrames(response, own.frames, 600_000).then(() => response.end());
    });
    const socket = await deafClient(port);
    let received = 0;
    socket.on('data', (chunk: Buffer) => (received += chunk.length));
    socket.pause();
    let before = -1;
    await expect
      .poll(() => {
        const same = before === own.taken && own.taken > 0;
        before = own.taken;
        return same;
      }, LIMIT)
      .toBe(true);
    expect(own.taken).toBeLessThan(4_000);
    socket.resume();
    await expect.poll(() => received, LIMIT).toBeGreaterThan(4_000 * frame.length);
  });

  it('that left is written to no more', async () => {
    const own = source();
    const done: Promise<void>[] = [];
    const port = await serve((response) => done.push(writeFrames(response, own.frames, 600_000)));
    const socket = await deafClient(port);
    await expect.poll(() => own.taken, LIMIT).toBeGreaterThan(0);
    socket.destroy();
    await expect.poll(() => done.length, LIMIT).toBe(1);
    await done[0];
    expect(own.over).toBe(true);
  });
});

describe('the frames', () => {
  it('I2 only events have an id: not the retry time, nor a heartbeat', async () => {
    const frames = [eventFrame({ seq: 6, type: 'stage', data: { text: 'a\nb\r\nid: 99' } }), HEARTBEAT];
    const port = await serve((response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      void writeFrames(
        response,
        (async function* () {
          yield* frames;
        })(),
      ).then(() => response.end());
    });
    const stream = await follow(`http://127.0.0.1:${port}`, '/');
    expect(await stream.over).toBe('end');
    expect(stream.frames).toEqual([
      { retry: '2000' },
      { id: '6', event: 'stage', data: { text: 'a\nb\r\nid: 99' } },
      { comment: 'nothing new' },
    ]);
  });
});
