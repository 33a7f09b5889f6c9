/** LIM-1 on a real API process with its real limits: headers 10 s, bodies 30 s, 2,000 connections. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { send } from '../api/client.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';

vi.setConfig({ testTimeout: 150_000 });

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

interface Slow {
  readonly socket: Socket;
  /** What it was told before the server closed it. */
  readonly closed: Promise<string>;
}

/** Sends these bytes, then one more each second for as long as it lives; none more when it is silent. */
function open(head: string, drips = true): Slow {
  const socket = connect(Number(new URL(room.apiUrl).port), '127.0.0.1', () => socket.write(head));
  const timer = drips ? setInterval(() => socket.write('x'), 1_000) : undefined;
  const closed = new Promise<string>((resolve) => {
    let told = '';
    socket.on('data', (chunk) => (told += chunk.toString()));
    // Cut while a byte was on its way: the answer may be lost with it.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(told);
    });
  });
  return { socket, closed };
}

const many = (count: number, head: string, drips?: boolean) =>
  Array.from({ length: count }, () => open(head, drips));

/** A normal client that asks again and again until it is told to stop; the statuses that it got. */
function normalClient() {
  const statuses: number[] = [];
  const over = new AbortController();
  const done = (async () => {
    while (!over.signal.aborted) {
      const headers = { Authorization: `Bearer ${room.key}` };
      statuses.push((await send(room.apiUrl, { path: '/v1/generations', headers })).status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    over.abort();
    await done;
    return statuses;
  };
}

describe('LIM-1 slow senders at a real API', () => {
  it('200 with slow headers, 200 with slow bodies, 200 that say nothing: all are closed, a normal client is served', async () => {
    const stop = normalClient();
    const post = (more: string) =>
      `POST /v1/generations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n` +
      `Content-Type: application/json\r\nContent-Length: 100000\r\n${more}\r\n{`;
    const slow = [
      ...many(200, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:'),
      // Half of them with a key: a body is not read for the others.
      ...many(100, post(`Authorization: Bearer ${room.key}\r\n`)),
      ...many(100, post('')),
      ...many(200, '', false),
    ];
    const told = await Promise.all(slow.map(({ closed }) => closed));
    for (const text of told) expect(text).toMatch(/^(?:HTTP\/1\.1 (?:408|401) |$)/);
    expect(told.filter((text) => text.startsWith('HTTP/1.1 408 ')).length).toBeGreaterThan(200);
    const statuses = await stop();
    expect(statuses.length).toBeGreaterThan(20);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await room.db.prisma.generation.count()).toBe(0);
  });

  it('connections are bounded: what comes above 2,000 is closed at once, and there is place again after', async () => {
    const slow = many(2_100, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:', false);
    const told = await Promise.all(slow.map(({ closed }) => closed));
    // Who has a place is told that its headers took too long; who has none is told nothing.
    for (const text of told) expect(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
    expect(told.filter((text) => text === '').length).toBeGreaterThanOrEqual(100);
    expect((await send(room.apiUrl, { path: '/healthz' })).status).toBe(200);
  });
});
