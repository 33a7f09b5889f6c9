import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { Client } from './client.ts';
import { seededChance } from './random.ts';
import { Streams } from './streams.ts';
import type { Asked } from './types.ts';

const ALL = ['created', 'stage', 'stage', 'terminal'];

/** An API whose streams end after each event; `tell` says which events follow a place. */
let server: Server;
let tell: (after: number) => readonly (readonly [number, string])[];
let places: number[];
let stop: AbortController;

beforeEach(async () => {
  places = [];
  stop = new AbortController();
  server = createServer((request, response) => {
    const after = Number(request.headers['last-event-id'] ?? 0);
    places.push(after);
    const events = tell(after);
    if (events.length === 0) return response.writeHead(204).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end(events.map(([seq, type]) => `id: ${seq}\nevent: ${type}\ndata: {}\n\n`).join(''));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterEach(() => {
  stop.abort();
  server.closeAllConnections();
  server.close();
});

const right = (after: number): readonly (readonly [number, string])[] =>
  ALL.flatMap((type, at) => (at === after ? [[at + 1, type] as const] : []));

/** @returns what is wrong with what was told, against a row that has `ALL` */
async function follow(): Promise<string[]> {
  const client = new Client([`http://127.0.0.1:${(server.address() as AddressInfo).port}`], 'key');
  const asked = [{ id: 'gen_a', idempotencyKey: 'a' } as Asked];
  const streams = new Streams({ client, asked: () => asked, chance: seededChance(1), signal: stop.signal });
  void streams.run();
  await eventually(() => (places.length > 0 ? true : undefined));
  const rows = new Map([['gen_a', ALL.map((type, at) => ({ seq: at + 1, type }))]]);
  await streams.finish(() => Promise.resolve(rows));
  return streams.violations.map(({ generation, problem }) => `${generation}: ${problem}`);
}

describe('a stream that is cut', () => {
  it('goes on after its last event until there is nothing more', async () => {
    tell = right;
    expect(await follow()).toEqual([]);
    expect([...new Set(places)]).toEqual([0, 1, 2, 3, 4]);
  });

  it.each([
    [
      'an event comes twice',
      (after: number) => (after === 2 ? [[2, 'stage'] as const] : right(after)),
      'comes 2 stage',
    ],
    ['one is left out', (after: number) => (after === 1 ? [[3, 'stage'] as const] : right(after)), '3 stage'],
    [
      'something follows its end',
      (after: number) => (after === 4 ? [[5, 'stage'] as const] : after === 5 ? [] : right(after)),
      'comes 5 stage',
    ],
    [
      'it tells another end than its row',
      (after: number) =>
        after === 3 ? [[4, 'stage'] as const] : after === 4 ? [[5, 'terminal'] as const] : right(after),
      'told in all: 1 created, 2 stage, 3 stage, 4 stage, 5 terminal;',
    ],
  ])('is wrong when %s', async (_name, told, event) => {
    let isTold = false;
    // Each lie once: the same place is asked for again.
    tell = (after) => {
      const lie = told(after);
      const isLie = JSON.stringify(lie) !== JSON.stringify(right(after));
      if (!isLie || isTold) return isLie && after < 4 ? right(after) : lie;
      isTold = true;
      return lie;
    };
    expect((await follow()).join('\n')).toContain(event);
  });
});
