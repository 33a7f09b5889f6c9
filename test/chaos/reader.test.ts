import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import { seededChance } from './random.ts';
import { Reader } from './reader.ts';
import type { Asked } from './types.ts';

/** An API that tells of one generation what `views` has, one after the other, the last one again and again. */
let server: Server;
let url: string;
let views: object[];
let file: string;
let stop: AbortController;

beforeEach(async () => {
  file = 'bytes';
  stop = new AbortController();
  server = createServer((request, response) => {
    if (request.url?.startsWith('/file')) return response.writeHead(200).end(file);
    const view = views.length > 1 ? views.shift() : views[0];
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify(view));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  stop.abort();
  server.closeAllConnections();
  server.close();
});

const ended = (over: object = {}) => ({ id: 'gen_a', state: 'succeeded', outputs: [], credits: 40, ...over });

/** Reads it so often; @returns what is wrong by then */
async function read(times: number): Promise<string[]> {
  const asked = [{ id: 'gen_a' } as Asked];
  // Never the other shape, every file.
  const chance = { ...seededChance(1), hits: (share: number) => share > 0.3 };
  const reader = new Reader({
    client: new Client([url], 'key'),
    asked: () => asked,
    chance,
    signal: stop.signal,
  });
  for (let at = 0; at < times; at++) await reader.finish();
  await reader.run();
  return reader.violations.map(({ check }) => check);
}

describe('a tenant that reads again and again', () => {
  it('is content with links that are made anew, and with a file as it was told', async () => {
    const sha256 = createHash('sha256').update('bytes').digest('hex');
    const output = { index: 0, url: `${url}/file`, url_expires_at: 'soon', sha256 };
    views = [
      ended({ state: 'running' }),
      ended({ outputs: [output] }),
      ended({ outputs: [{ ...output, url: `${url}/file?again`, url_expires_at: 'later' }] }),
    ];
    expect(await read(4)).toEqual([]);
  });

  it.each([
    ['an end that becomes another one', [ended(), ended({ state: 'failed' })], 'an end never changes'],
    ['a charge that changes after the end', [ended(), ended({ credits: 80 })], 'an end never changes'],
    [
      'a state that goes back',
      [ended({ state: 'running' }), ended({ state: 'queued' })],
      'a state only moves forward',
    ],
  ])('finds %s', async (_name, told, check) => {
    views = told;
    expect(await read(3)).toContain(check);
  });

  it('finds a file with other bytes', async () => {
    file = 'other bytes';
    views = [ended({ outputs: [{ index: 0, url: `${url}/file`, sha256: 'of the bytes' }] })];
    expect(await read(1)).toEqual(['a delivered file can be read']);
  });
});
