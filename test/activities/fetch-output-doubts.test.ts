import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDownloadSlots } from '../../src/activities/index.ts';
import type { Db } from '../../src/db/index.ts';
import { useDatabase } from '../db/database.ts';
import { counted, gate, serve, settles, startBench, succeeded, VIDEO } from './storing.ts';
import type { Bench } from './storing.ts';

const test = useDatabase();
/** The link that is the same at each look. */
const content = (links: readonly string[]) => succeeded([links[0]!.replace(/\/\d+$/, '/content')]);
const withKey = (_url: URL, key: string) => ({ authorization: `Bearer ${key}` });
const goneCount = async ({ id }: Bench) =>
  (await test.db.prisma.output.findFirstOrThrow({ where: { generationId: id } })).goneCount;
const succeededLongAgo = ({ id }: Bench) =>
  test.sql(`UPDATE submission SET observed_at = now() - interval '10 minutes' WHERE generation_id = $1`, [
    id,
  ]);
/** The database, with the names of its functions noted as they are called. */
const noting = (db: Db, calls: string[]): Db =>
  new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'call') return value;
      return (fn: string, ...rest: never[]) => {
        calls.push(fn);
        return (value as (...args: unknown[]) => unknown).call(target, fn, ...rest);
      };
    },
  });
const told = ({ lines }: Bench) => lines.filter(({ level }) => level === 'error' || level === 'warn');

describe('a link that is the same at each look', () => {
  const GRACE = { notFoundGraceMs: 60_000 };

  it('and dead for some time after the success is asked for again: its file comes late, and is delivered', async () => {
    let asked = 0;
    const bench = await startBench(test, {
      timings: GRACE,
      observe: (_look, links) => content(links),
      listener: (_request, response) => {
        asked += 1;
        if (asked <= 3) response.writeHead(404).end();
        else response.end(VIDEO);
      },
    });
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(bench.requests.map(({ url }) => url)).toEqual(Array.from({ length: 4 }, () => '/0/content'));
    expect(await goneCount(bench)).toBe(3);
  });

  it('and dead for ten times the grace is the end of its output: released', async () => {
    const bench = await startBench(test, {
      timings: GRACE,
      observe: (_look, links) => content(links),
      listener: (_request, response) => response.writeHead(404).end(),
    });
    for (let n = 0; n < 3; n += 1) expect(typeof (await bench.attempt())).toBe('number');
    await succeededLongAgo(bench);
    expect(await bench.attempt()).toEqual(settles('failed', 'output_lost'));
    expect(await bench.outputs()).toMatchObject([{ state: 'lost', problem: 'link_gone' }]);
  });

  it('and answers 410 says itself that it is for good: the end at the second strike', async () => {
    const bench = await startBench(test, {
      timings: GRACE,
      observe: (_look, links) => content(links),
      listener: (_request, response) => response.writeHead(410).end(),
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.attempt()).toEqual(settles('failed', 'output_lost'));
    expect(bench.looks()).toBe(2);
  });

  it('and was dead, but is not now: another trouble long after the success does not end its output', async () => {
    let asked = 0;
    const bench = await startBench(test, {
      timings: GRACE,
      observe: (_look, links) => content(links),
      listener: (_request, response) => {
        asked += 1;
        if (asked <= 3) response.writeHead(asked === 3 ? 503 : 404).end();
        else response.end(VIDEO);
      },
    });
    for (let n = 0; n < 2; n += 1) expect(typeof (await bench.attempt())).toBe('number');
    await succeededLongAgo(bench);
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.attempt()).toEqual(settles('succeeded'));
  });

  it('and dead for several outputs costs one further look for all of them', async () => {
    const bench = await startBench(test, {
      outputs: 4,
      timings: GRACE,
      observe: (_look, links) => succeeded(links.map((link) => link.replace(/\/\d+$/, '/content'))),
      listener: (_request, response) => response.writeHead(404).end(),
    });
    await bench.attempt();
    expect(bench.looks()).toBe(1);
    await bench.attempt();
    expect(bench.looks()).toBe(3);
    expect(await bench.outputs()).toHaveLength(4);
  });

  it('and dead: while it is looked at again, its lease is not taken back and no download waits for it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const calls: string[] = [];
    const slots = createDownloadSlots(1);
    let renewedBefore = 0;
    const bench = await startBench(test, {
      timings: { ...GRACE, storeLeaseMs: 600_000 },
      listener: (_request, response) => {
        // Its lease is kept while it is fetched.
        vi.advanceTimersByTime(200_000);
        response.writeHead(404).end();
      },
      observe: async (look, links) => {
        if (look !== 3) return content(links);
        renewedBefore = calls.filter((fn) => fn === 'renew_output').length;
        vi.advanceTimersByTime(600_000);
        const free = await slots.acquire(Date.now() + 600_000, new AbortController().signal);
        free();
        return content(links);
      },
      deps: ({ db }) => ({ slots, db: noting(db, calls) }),
    });
    for (let n = 0; n < 2; n += 1) expect(typeof (await bench.attempt())).toBe('number');
    expect(bench.looks()).toBe(3);
    expect(renewedBefore).toBe(2);
    expect(calls.filter((fn) => fn === 'renew_output')).toHaveLength(renewedBefore);
    expect(await test.db.prisma.output.findMany({ where: { generationId: bench.id } })).toMatchObject([
      { state: 'storing', leaseUntil: null },
    ]);
  });
});

describe('an answer to a request that carried our key', () => {
  it('401 speaks of the key: tried again, each is counted, operators are told once, delivered', async () => {
    const before = await counted('key_refused');
    let asked = 0;
    const bench = await startBench(test, {
      downloadAuth: withKey,
      listener: (_request, response) => {
        asked += 1;
        if (asked <= 3) response.writeHead(401).end();
        else response.end(VIDEO);
      },
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'key_refused' }]);
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(await goneCount(bench)).toBe(0);
    expect((await counted('key_refused')) - before).toBe(3);
    expect(told(bench)).toEqual([
      {
        level: 'error',
        message: expect.stringContaining('the key is refused'),
        fields: {
          provider: 'infro',
          problem: 'key_refused',
          advice: expect.stringContaining('PROVIDER_INFRO_API_KEY'),
        },
      },
    ]);
  });

  it('403 may be of a file that is no more: believed like a dead link, the end at the second strike', async () => {
    const bench = await startBench(test, {
      downloadAuth: withKey,
      listener: (_request, response) => response.writeHead(403).end(),
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'link_403' }]);
    expect(await bench.attempt()).toEqual(settles('failed', 'output_lost'));
    expect(bench.requests.map(({ authorization }) => authorization)).toEqual([
      'Bearer key of the submission',
      'Bearer key of the submission',
    ]);
    expect(told(bench)).toEqual([]);
  });

  it('which leads to a place without it: 403 there speaks of the link', async () => {
    const bench = await startBench(test, {
      downloadAuth: (url, key) => (url.pathname === '/signed' ? {} : withKey(url, key)),
      listener: (request, response) => {
        if (request.url === '/signed') response.writeHead(403).end();
        else response.writeHead(302, { location: '/signed' }).end();
      },
    });
    await bench.attempt();
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'link_403' }]);
    expect(await goneCount(bench)).toBe(1);
  });

  it('JSON in the place of the file is no file yet: tried again, counted, delivered', async () => {
    const before = await counted('file_not_ready');
    let asked = 0;
    const bench = await startBench(test, {
      downloadAuth: withKey,
      listener: (_request, response) => {
        asked += 1;
        if (asked <= 2) response.end('\n{"error":{"message":"video is not ready"}}');
        else response.end(VIDEO);
      },
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'file_not_ready' }]);
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(told(bench).map(({ fields }) => fields['advice'])).toEqual([
      expect.stringContaining('PROVIDER_INFRO_OUTPUT_HOSTS'),
    ]);
    expect(JSON.stringify(bench.lines)).not.toContain('not ready');
    expect((await counted('file_not_ready')) - before).toBe(2);
  });

  it('JSON whose first bytes come alone is no file yet either', async () => {
    const seen = gate();
    let asked = 0;
    const bench = await startBench(test, {
      downloadAuth: withKey,
      deps: ({ http }) => ({
        http: {
          ...http,
          // The first piece has been taken before the rest of the body is sent.
          download: (request) =>
            http.download({
              ...request,
              write: async (chunk) => {
                await request.write(chunk);
                seen.open();
              },
            }),
        },
      }),
      listener: (_request, response) => {
        asked += 1;
        if (asked > 1) return void response.end(VIDEO);
        response.write('\n');
        void seen.opened.then(() => response.end('{"error":{"message":"video is not ready"}}'));
      },
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'file_not_ready' }]);
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
  });

  it('JSON where no key was asked for is what was delivered: never stored, the end', async () => {
    const bench = await startBench(test, { listener: serve(Buffer.from('{"error":"no"}'.padEnd(64))) });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
  });
});

describe('a link to a place', () => {
  it('that our list of hosts does not have: the setting is told once, delivered when it has it', async () => {
    const before = await counted('blocked_host');
    const bench = await startBench(test, {
      listener: serve(),
      observe: (look, links) => succeeded(look <= 2 ? ['https://files.elsewhere.example/1.mp4'] : links),
    });
    expect(typeof (await bench.attempt())).toBe('number');
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'blocked_host' }]);
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(told(bench).map(({ level, fields }) => [level, fields['advice']])).toEqual([
      ['error', expect.stringContaining('PROVIDER_INFRO_OUTPUT_HOSTS')],
    ]);
    expect(JSON.stringify(bench.lines)).not.toContain('elsewhere');
    expect((await counted('blocked_host')) - before).toBe(2);
  });

  it('with a private address is a definite fault: the end at once', async () => {
    const bench = await startBench(test, {
      listener: serve(),
      observe: () => succeeded(['https://10.0.0.1/1.mp4']),
    });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
    expect(await bench.outputs()).toMatchObject([{ state: 'invalid', problem: 'blocked_address' }]);
  });
});

describe('a link whose promised life was over when the success was seen', () => {
  const expired = (links: readonly string[]) => succeeded(links, new Date(Date.now() - 3_600_000));

  it('is tried all the same, and what it still gives is delivered', async () => {
    const bench = await startBench(test, { listener: serve(), observe: (_look, links) => expired(links) });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect((await bench.read(`${bench.id}/0-1`)).equals(VIDEO)).toBe(true);
  });

  it('is tried once, then its output is lost', async () => {
    const bench = await startBench(test, {
      listener: (_request, response) => response.writeHead(403).end(),
      observe: (_look, links) => expired(links),
    });
    expect(await bench.untilStep()).toEqual(settles('failed', 'output_lost'));
    expect(bench.requests).toHaveLength(1);
  });
});
