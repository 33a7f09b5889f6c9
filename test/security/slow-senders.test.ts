/** LIM-1 on a real API process with its real limits: headers 10 s, bodies 30 s, 2,000 connections. */
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';
import { send } from '../api/client.ts';
import { PICTURE } from '../api/inputs.ts';
import { formOf } from '../api/videos.ts';
import { quantiles } from '../bench/statistics.ts';
import { eventually } from '../simulators/control.ts';
import { fastCatalogue } from '../support/catalogue.ts';
import { startDarkroom, type Darkroom } from '../support/darkroom.ts';

vi.setConfig({ testTimeout: 150_000 });

const FROM_IMAGE = DEFAULT_CATALOGUE.models.filter(({ id }) => id === 'animate-image');

let room: Darkroom;
beforeAll(async () => {
  const catalogue = { models: [...fastCatalogue.models, ...FROM_IMAGE] };
  room = await startDarkroom({ worker: false, catalogue });
});
afterAll(() => room?.stop());

interface Slow {
  readonly socket: Socket;
  readonly connected: Promise<void>;
  /** What it was told before the server closed it. */
  readonly closed: Promise<string>;
  /** Sends this, and no more bytes by itself. */
  readonly end: (last: string) => void;
}

/** Sends these bytes, then these each second for as long as it lives; none more when it is silent. */
function open(head: string | Uint8Array, drip: string | null = 'x'): Slow {
  let timer: NodeJS.Timeout | undefined;
  // Nothing is written before the head, however late the connection is there.
  const socket = connect(Number(new URL(room.apiUrl).port), '127.0.0.1', () => {
    socket.write(head);
    if (drip !== null) timer = setInterval(() => socket.write(drip), 1_000);
  });
  const connected = new Promise<void>((resolve) => {
    socket.once('connect', () => resolve());
    socket.once('close', () => resolve());
  });
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
  const end = (last: string): void => {
    clearInterval(timer);
    socket.write(last);
  };
  return { socket, connected, closed, end };
}

const many = (count: number, head: string | Uint8Array, drip?: string | null) =>
  Array.from({ length: count }, () => open(head, drip));

/** One request of a normal client, its status and how long it took, in milliseconds. */
async function ask(): Promise<{ readonly status: number; readonly ms: number }> {
  const from = performance.now();
  const headers = { Authorization: `Bearer ${room.key}` };
  const { status } = await send(room.apiUrl, { path: '/v1/generations', headers });
  return { status, ms: performance.now() - from };
}

/** A normal client that asks again and again until it is told to stop; all that it got. */
function normalClient() {
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  const over = new AbortController();
  const done = (async () => {
    while (!over.signal.aborted) {
      asked.push(await ask());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    over.abort();
    await done;
    return asked;
  };
}

/** Speed is told, and asserted nowhere. */
function report(what: string, asked: readonly { readonly ms: number }[]): void {
  const { p50, p95, count } = quantiles(asked.map(({ ms }) => ms));
  process.stdout.write(
    `LIM-1 ${what}: ${count} normal requests, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms\n`,
  );
}

describe('LIM-1 slow senders at a real API', () => {
  it('200 with slow headers, 200 with slow bodies, 200 that say nothing: all are closed, a normal client is served', async () => {
    const post = (more: string) =>
      `POST /v1/generations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n` +
      `Content-Type: application/json\r\nContent-Length: 100000\r\n${more}\r\n{`;
    // Half of them with a key: a body is not read for the others.
    const bodies = [...many(100, post(`Authorization: Bearer ${room.key}\r\n`)), ...many(100, post(''))];
    const slow = [
      ...bodies,
      ...many(200, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:'),
      ...many(200, '', null),
    ];
    const cut: string[] = [];
    for (const { closed } of bodies) void closed.then((text) => cut.push(text));
    await Promise.all(slow.map(({ connected }) => connected));
    const meanwhile = [];
    for (let i = 0; i < 20; i += 1) meanwhile.push(await ask());
    // Nobody waits for the slow ones: these twenty are answered before the first body has run out of its time.
    expect(cut).toEqual([]);
    expect(new Set(meanwhile.map(({ status }) => status))).toEqual(new Set([200]));
    const stop = normalClient();
    const told = await Promise.all(slow.map(({ closed }) => closed));
    for (const text of told) expect(text).toMatch(/^(?:HTTP\/1\.1 (?:408|401) |$)/);
    expect(told.filter((text) => text.startsWith('HTTP/1.1 408 ')).length).toBeGreaterThan(200);
    const asked = await stop();
    report('beside 600 slow senders', [...meanwhile, ...asked]);
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await room.db.prisma.generation.count()).toBe(0);
  });

  it('100 forms whose file is over, or has no place, are closed like any body; one whose file comes with a place is not', async () => {
    const { type, bytes } = formOf([['input_reference', PICTURE]]);
    // Without what ends the file.
    const file = bytes.subarray(0, bytes.lastIndexOf('\r\n--'));
    const field = (name: string) =>
      `\r\n--b-o-u-n-d\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
    const head = (length: string) =>
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${room.key}\r\nIdempotency-Key: form\r\n` +
      `Content-Type: ${type}\r\n${length}\r\n\r\n`;
    const chunk = (content: string | Uint8Array) =>
      Buffer.concat([
        Buffer.from(`${content.length.toString(16)}\r\n`),
        Buffer.from(content),
        Buffer.from('\r\n'),
      ]);
    const held = open(
      Buffer.concat([Buffer.from(head('Transfer-Encoding: chunked')), chunk(file)]),
      chunk('x').toString(),
    );
    const isOver = { held: false };
    void held.closed.then(() => (isOver.held = true));
    // A file in the storage that is not whole: it has its place.
    await eventually(async () => {
      const files = await readdir(room.outputs, { recursive: true }).catch(() => []);
      return files.some((path) => path.startsWith('tmp/')) ? true : undefined;
    }, 60_000);
    const whole = Buffer.concat([file, Buffer.from(field('prompt'))]);
    const others = many(100, Buffer.concat([Buffer.from(head('Content-Length: 100000')), whole]));
    const told = await Promise.all(others.map(({ closed }) => closed));
    for (const text of told) expect(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
    expect(isOver).toEqual({ held: false });
    const answer = new Promise<string>((resolve) => {
      held.socket.once('data', (text: Buffer) => resolve(text.toString()));
    });
    const rest = `${field('model')}animate-image${field('prompt')}It sails away\r\n--b-o-u-n-d--\r\n`;
    held.end(`${chunk(rest).toString()}0\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    held.socket.destroy();
  });

  it('connections are bounded: what comes above 2,000 is closed at once, and there is place again after', async () => {
    const slow = many(2_100, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:', null);
    const told = await Promise.all(slow.map(({ closed }) => closed));
    // Who has a place is told that its headers took too long; who has none is told nothing.
    for (const text of told) expect(text).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
    expect(told.filter((text) => text === '').length).toBeGreaterThanOrEqual(100);
    expect((await send(room.apiUrl, { path: '/healthz' })).status).toBe(200);
  });
});
