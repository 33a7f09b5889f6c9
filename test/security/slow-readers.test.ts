/** LIM-1: those who ask and never read what they asked for, or never end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startApi, stubDb, type TestApi } from '../api/api.ts';
import { send } from '../api/client.ts';
import { eventually } from '../simulators/control.ts';

const LIMIT_MS = 6_000;
/** Longer than any test waits: what ends a connection here is another limit. */
const NEVER_MS = 300_000;
/** Far more than the buffers of both ends hold: the document has 200 kB and more. */
const ASKED = 100;

const stub = stubDb();
let api: TestApi;
let accepted = 0;
beforeAll(async () => {
  api = await startApi(stub.db, {}, { answerTimeoutMs: LIMIT_MS, bodyTimeoutMs: NEVER_MS });
  api.server.on('connection', () => (accepted += 1));
});
afterAll(() => api.close());

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    api.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

/** Asks for the API document many times at once; reads nothing until told. */
async function deaf(path = '/openapi.json'): Promise<Socket> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(ASKED));
  return socket;
}

describe('LIM-1 clients that do not read', () => {
  it('are cut when they have not taken an answer in its time; others are served meanwhile', async () => {
    const before = await connections();
    const all = await Promise.all(Array.from({ length: 10 }, () => deaf()));
    await eventually(() => (accepted >= all.length ? true : undefined));
    const normal = await Promise.all(
      Array.from({ length: 20 }, () => send(api.url, { path: '/healthz' }).then(({ status }) => status)),
    );
    expect(normal).toEqual(Array<number>(20).fill(200));
    await eventually(async () => ((await connections()) <= before ? true : undefined), 60_000);
  });

  it('one that reads slowly, but each answer in its time, gets all of them', async () => {
    const socket = await deaf();
    let bytes = 0;
    let cut = false;
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
    socket.pause();
    socket.on('close', () => (cut = true));
    const one = (await send(api.url, { path: '/openapi.json' })).text.length;
    // Eight sips, together longer than the limit of one answer.
    for (let sip = 0; sip < 8; sip += 1) {
      await new Promise((resolve) => setTimeout(resolve, LIMIT_MS / 5));
      socket.resume();
      const until = bytes + 12 * one;
      await eventually(() => (bytes >= Math.min(until, ASKED * one) ? true : undefined), 60_000);
      socket.pause();
    }
    socket.resume();
    await eventually(() => (bytes >= ASKED * one ? true : undefined), 60_000);
    expect(cut).toBe(false);
  });
});

describe('LIM-1 clients whose side stays open', () => {
  it('are cut a while after the answer that ended their broken request', async () => {
    const served = once(api.server, 'connection') as Promise<[Socket]>;
    const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    let told = '';
    socket.on('data', (chunk: Buffer) => (told += chunk.toString()));
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write('POST /v1/generations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    await once(socket, 'end');
    expect(told).toMatch(/^HTTP\/1\.1 400 /);
    expect(socket.writable).toBe(true);
    const [there] = await served;
    expect(there.destroyed).toBe(false);
    await eventually(() => (there.destroyed ? true : undefined), 60_000);
  });
});
