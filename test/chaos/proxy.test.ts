import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { Link } from './proxy.ts';

/** Answers each piece with the same in capitals. */
let server: Server;
let seen: string;
let link: Link;
const sockets: Socket[] = [];

beforeEach(async () => {
  seen = '';
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      seen += chunk.toString();
      socket.write(chunk.toString().toUpperCase());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  link = await Link.open('test', [portOf(server)]);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await link.close();
  server.close();
});

function portOf(listening: Server): number {
  return (listening.address() as AddressInfo).port;
}

interface Talk {
  readonly socket: Socket;
  heard: string;
  over: boolean;
  failed: string | null;
}

function talk(): Talk {
  const socket = connect(link.port, '127.0.0.1');
  sockets.push(socket);
  const state: Talk = { socket, heard: '', over: false, failed: null };
  socket.on('data', (chunk) => (state.heard += chunk.toString()));
  socket.on('close', () => (state.over = true));
  socket.on('error', (error: NodeJS.ErrnoException) => (state.failed = error.code ?? 'unknown'));
  return state;
}

const heard = (state: Talk, text: string) =>
  eventually(() => (state.heard === text ? true : undefined)).catch(() => {
    throw new Error(`heard "${state.heard}", not "${text}"`);
  });
const over = (state: Talk) => eventually(() => (state.over ? true : undefined));
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

describe('a link', () => {
  it('passes all that is said, both ways, and the end', async () => {
    const one = talk();
    one.socket.write('hello');
    await heard(one, 'HELLO');
    one.socket.end('bye');
    await heard(one, 'HELLOBYE');
    server.close();
    expect(seen).toBe('hellobye');
  });

  it('cuts by a reset what is open, and takes new ones', async () => {
    const one = talk();
    one.socket.write('a');
    await heard(one, 'A');
    link.cut();
    await over(one);
    expect(one.failed).toBe('ECONNRESET');
    const two = talk();
    two.socket.write('b');
    await heard(two, 'B');
  });

  it('refuses everything until it is healed', async () => {
    const one = talk();
    one.socket.write('a');
    await heard(one, 'A');
    link.disturb({ refuse: true });
    await over(one);
    const two = talk();
    await over(two);
    expect(two.heard).toBe('');
    link.heal();
    const three = talk();
    three.socket.write('c');
    await heard(three, 'C');
    expect(seen).toBe('ac');
  });

  it('holds one direction only, and lets go in order', async () => {
    link.disturb({ stall: 'down' });
    const one = talk();
    one.socket.write('first ');
    await eventually(() => (seen === 'first ' ? true : undefined));
    one.socket.write('second');
    await eventually(() => (seen === 'first second' ? true : undefined));
    await pause(100);
    expect(one.heard).toBe('');
    link.heal();
    await heard(one, 'FIRST SECOND');

    link.disturb({ stall: 'up' });
    one.socket.write(' third');
    await pause(100);
    expect(seen).toBe('first second');
    link.heal();
    await heard(one, 'FIRST SECOND THIRD');
  });

  it('delays each piece', async () => {
    link.disturb({ delayMs: 150 });
    const startedMs = performance.now();
    const one = talk();
    one.socket.write('late');
    await heard(one, 'LATE');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(290);
  });

  it('loses the answer of the request that was named, which has arrived, and of no other', async () => {
    link.loseAnswer({ request: /SELECT settle\(/ });
    const other = talk();
    other.socket.write('SELECT load(1)');
    await heard(other, 'SELECT LOAD(1)');
    const one = talk();
    one.socket.write('SELECT settle(2)');
    await over(one);
    expect(one.heard).toBe('');
    expect(seen).toContain('SELECT settle(2)');
    expect(link.answersLost).toBe(1);
    const again = talk();
    again.socket.write('SELECT settle(2)');
    await heard(again, 'SELECT SETTLE(2)');
    other.socket.write('!');
    await heard(other, 'SELECT LOAD(1)!');
  });

  it('cuts an answer after so many bytes', async () => {
    link.loseAnswer({ afterBytes: 3 });
    const one = talk();
    one.socket.write('abcdef');
    await over(one);
    expect(one.heard).toBe('ABC');
  });

  it('remembers when not everything passed, until it is healed', () => {
    const fromMs = Date.now();
    link.disturb({ stall: 'up' });
    link.loseAnswer({});
    expect(link.disturbed).toEqual([
      { link: 'test', fromMs: expect.any(Number), toMs: Number.POSITIVE_INFINITY },
    ]);
    link.heal();
    link.cut();
    const toMs = Date.now();
    expect(link.disturbed.length).toBe(2);
    for (const one of link.disturbed) {
      expect(one.fromMs).toBeGreaterThanOrEqual(fromMs);
      expect(one.toMs).toBeGreaterThanOrEqual(one.fromMs);
      expect(one.toMs).toBeLessThanOrEqual(toMs);
    }
  });

  it('counts what its faults met: nothing where nobody was on it', async () => {
    link.cut();
    link.disturb({ refuse: true });
    link.disturb({ delayMs: 1 });
    expect(link.met).toBe(0);
    const one = talk();
    one.socket.write('a');
    await heard(one, 'A');
    expect(link.met).toBe(2);
    link.cut();
    await over(one);
    expect(link.met).toBe(3);
    link.disturb({ refuse: true });
    const two = talk();
    await over(two);
    expect(link.met).toBe(4);
    link.heal();
    const three = talk();
    three.socket.write('c');
    await heard(three, 'C');
    expect(link.met).toBe(4);
  });

  it('goes to the next target when one is down, and to a new one when told', async () => {
    link.target(1, portOf(server), 1);
    for (const word of ['a', 'b', 'c']) {
      const one = talk();
      one.socket.write(word);
      await heard(one, word.toUpperCase());
    }
    link.target(1);
    const none = talk();
    await over(none);
    expect(none.heard).toBe('');
  });
});
