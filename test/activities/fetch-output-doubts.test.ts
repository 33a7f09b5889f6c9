import { describe, expect, it } from 'vitest';
import { useDatabase } from '../db/database.ts';
import { serve, settles, startBench, succeeded, VIDEO } from './storing.ts';
import type { Bench } from './storing.ts';

const test = useDatabase();
/** The link that is the same at each look. */
const content = (links: readonly string[]) => succeeded([links[0]!.replace(/\/\d+$/, '/content')]);
const withKey = (_url: URL, key: string) => ({ authorization: `Bearer ${key}` });
const goneCount = async ({ id }: Bench) =>
  (await test.db.prisma.output.findFirstOrThrow({ where: { generationId: id } })).goneCount;
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
    await test.sql(
      `UPDATE submission SET observed_at = now() - interval '10 minutes' WHERE generation_id = $1`,
      [bench.id],
    );
    expect(await bench.attempt()).toEqual(settles('failed', 'output_lost'));
    expect(await bench.outputs()).toMatchObject([{ state: 'lost', problem: 'link_gone' }]);
  });
});

describe('an answer to a request that carried our key', () => {
  it.each([401, 403])(
    '%i speaks of the key: tried again, operators are told once, delivered',
    async (status) => {
      let asked = 0;
      const bench = await startBench(test, {
        downloadAuth: withKey,
        listener: (_request, response) => {
          asked += 1;
          if (asked <= 3) response.writeHead(status).end();
          else response.end(VIDEO);
        },
      });
      expect(typeof (await bench.attempt())).toBe('number');
      expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'key_refused' }]);
      expect(await bench.untilStep()).toEqual(settles('succeeded'));
      expect(await goneCount(bench)).toBe(0);
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
    },
  );

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

  it('JSON in the place of the file is no file yet: tried again, delivered', async () => {
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
  });

  it('JSON where no key was asked for is what was delivered: never stored, the end', async () => {
    const bench = await startBench(test, { listener: serve(Buffer.from('{"error":"no"}'.padEnd(64))) });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
  });
});

describe('a link to a place', () => {
  it('that our list of hosts does not have: the setting is told once, delivered when it has it', async () => {
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
