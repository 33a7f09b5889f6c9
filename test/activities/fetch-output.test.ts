import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/db/index.ts';
import { makePng } from '../../src/simulators/media/png.ts';
import { useDatabase } from '../db/database.ts';
import { PRICE } from '../db/fixtures.ts';
import { box, ftyp, moov } from '../storage/media.ts';
import { serve, settles, startBench, succeeded, VIDEO } from './storing.ts';

const test = useDatabase();
const SECRET = 'what-the-target-said';

describe('an output', () => {
  it('DL-9 DL-10: is stored byte for byte under a path of our ids; the sign of life counts its bytes', async () => {
    const bench = await startBench(test, {
      listener: (_request, response) => {
        response.setHeader('content-disposition', 'attachment; filename="../../etc/passwd"');
        response.end(VIDEO);
      },
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-1`]);
    expect((await bench.read(`${bench.id}/0-1`)).equals(VIDEO)).toBe(true);
    const row = await test.db.prisma.output.findFirstOrThrow({ where: { generationId: bench.id } });
    expect(row).toMatchObject({ state: 'stored', path: `${bench.id}/0-1`, mediaType: 'video/mp4' });
    expect(Number(row.bytes)).toBe(VIDEO.length);
    expect(Buffer.from(row.sha256 ?? []).toString('hex')).toBe(
      createHash('sha256').update(VIDEO).digest('hex'),
    );
    expect(row.expiresAt!.getTime() - row.storedAt!.getTime()).toBe(86_400_000);
    expect(bench.received()).toBe(VIDEO.length);
  });

  it('T33: is fetched with the key that the job was submitted with, where its adapter says so', async () => {
    const bench = await startBench(test, {
      listener: (request, response) => {
        if (request.url === '/files') response.end(VIDEO);
        else response.writeHead(302, { location: '/files' }).end();
      },
      downloadAuth: ({ pathname }, key) => (pathname === '/files' ? {} : { authorization: `Bearer ${key}` }),
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(bench.requests).toEqual([
      { url: '/0/1', authorization: 'Bearer key of the submission' },
      { url: '/files', authorization: undefined },
    ]);
  });

  it.each([
    ['DL-2: nothing at all', Buffer.alloc(0), 'empty'],
    ['DL-5: a page that calls itself a video', Buffer.from(`<!doctype html><p>${SECRET}`), 'unknown_type'],
    ['DL-5: a picture where a video was sold', makePng('x'), 'media_type_not_allowed'],
  ])('%s is never stored', async (_name, file, problem) => {
    const bench = await startBench(test, {
      listener: (_request, response) => response.setHeader('content-type', 'video/mp4').end(file),
    });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
    expect(await bench.outputs()).toEqual([{ state: 'invalid', problem, path: null, attempt: 1 }]);
    expect(await bench.files()).toEqual([]);
  });

  it('its run is not overdue before its lease is renewed for the first time', async () => {
    let due: Promise<{ ms: number }[]> | undefined;
    const bench = await startBench(test, {
      timings: { storeLeaseMs: 60_000 },
      listener: (_request, response) => {
        due = test
          .sql<{ ms: number }>(
            'SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS ms FROM generation WHERE id = $1',
            [bench.id],
          )
          .finally(() => response.end(VIDEO));
      },
    });
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect((await due)![0]!.ms).toBeGreaterThan(20_000);
  });

  it('DL-3: above its limit it is cut off and never stored', async () => {
    const bench = await startBench(test, {
      listener: serve(Buffer.concat([VIDEO, Buffer.alloc(1)])),
      plan: (plan) => ({ ...plan, outputs: { ...plan.outputs, maxBytes: VIDEO.length } }),
    });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
    expect(await bench.outputs()).toMatchObject([{ state: 'invalid', problem: 'too_large' }]);
    expect(await bench.files()).toEqual([]);
  });

  it.each([
    [500, 'http_status'],
    [403, 'link_403'],
  ])('SSRF-9: of a target that answers %i the row keeps a fixed word only', async (status, problem) => {
    const bench = await startBench(test, {
      listener: (_request, response) =>
        response.writeHead(status, SECRET, { 'x-secret': SECRET }).end(SECRET),
    });
    await bench.attempt();
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem }]);
    expect(JSON.stringify(bench.lines)).not.toContain(SECRET);
    expect(JSON.stringify(bench.lines)).not.toContain('127.0.0.1');
  });

  it('DL-11: may stand in the answer itself, and nothing is called for it', async () => {
    const inline = (file: Uint8Array) => `data:video/mp4;base64,${Buffer.from(file).toString('base64')}`;
    const bench = await startBench(test, { listener: serve(), observe: () => succeeded([inline(VIDEO)]) });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect((await bench.read(`${bench.id}/0-1`)).equals(VIDEO)).toBe(true);
    expect(bench.requests).toEqual([]);
    expect(bench.received()).toBe(VIDEO.length);

    const wrong = await startBench(test, {
      listener: serve(),
      observe: () => succeeded([inline(makePng('x'))]),
    });
    expect(await wrong.attempt()).toEqual(settles('failed', 'output_invalid'));
    expect(await wrong.files()).toEqual([]);
  });

  it('T36: much shorter than asked for, or without a picture, is delivered, and operators are told', async () => {
    const bench = await startBench(test, {
      listener: serve(),
      plan: (plan) => ({ ...plan, pricedSeconds: 10 }),
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(bench.lines).toContainEqual({
      level: 'warn',
      message: 'output shorter than asked for',
      fields: expect.objectContaining({ generation: bench.id, durationSeconds: 5, pricedSeconds: 10 }),
    });
    const whole = await startBench(test, { listener: serve() });
    await whole.attempt();
    expect(whole.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    // Sound only, in the container of a video.
    const sound = await startBench(test, {
      listener: serve(Buffer.concat([ftyp('isom'), moov(0, 0, 5), box('mdat', Buffer.alloc(100))])),
    });
    expect(await sound.attempt()).toEqual(settles('succeeded'));
    expect(sound.lines.map(({ message }) => message)).toContain('output without a picture');
  });
});

describe('a link', () => {
  it('F1 DL-7: that is dead once is asked for afresh, by looking at the job again', async () => {
    const bench = await startBench(test, {
      listener: (request, response) => {
        if (request.url === '/0/1') response.writeHead(410).end();
        else response.end(VIDEO);
      },
    });
    expect(await bench.attempt()).toBe(100);
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'link_410' }]);
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(bench.looks()).toBe(2);
    expect(bench.requests.map(({ url }) => url)).toEqual(['/0/1', '/0/2']);
    expect(await bench.files()).toEqual([`${bench.id}/0-2`]);
  });

  it('F1 DL-7: that is dead twice, the second time fresh, is the end of its output: released', async () => {
    const bench = await startBench(test, { listener: (_request, response) => response.writeHead(404).end() });
    expect(await bench.untilStep()).toEqual(settles('failed', 'output_lost'));
    expect(await bench.outputs()).toEqual([{ state: 'lost', problem: 'link_gone', path: null, attempt: 2 }]);
    expect(await settle(test.db, bench.id, { state: 'failed', errorCode: 'output_lost' })).toMatchObject({
      outcome: 'settled',
      captured: 0,
    });
  });

  it('past the life that was promised for it says nothing about its output', async () => {
    const past = () => new Date(Date.now() - 1_000);
    const bench = await startBench(test, {
      // The first look leaves time to store; later ones show a link that waited too long for its turn.
      observe: (look, links) => succeeded(links, look === 1 ? new Date(Date.now() + 60_000) : past()),
      listener: (request, response) => {
        if (Number(request.url?.split('/').at(-1)) < 4) response.writeHead(403).end();
        else response.end(VIDEO);
      },
    });
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(bench.looks()).toBe(4);
    const row = await test.db.prisma.output.findFirstOrThrow({ where: { generationId: bench.id } });
    expect(row.goneCount).toBe(1);
  });

  it('F1: that nobody could use until its time was over is the end of its output: released', async () => {
    const bench = await startBench(test, { listener: (_request, response) => response.writeHead(503).end() });
    await bench.attempt();
    await test.sql(`UPDATE generation SET store_until = now() - interval '1 second' WHERE id = $1`, [
      bench.id,
    ]);
    expect(await bench.attempt()).toEqual(settles('failed', 'output_lost'));
    expect(await bench.outputs()).toMatchObject([{ state: 'lost', problem: 'store_time_over' }]);
    expect(bench.requests).toHaveLength(1);
  });

  it('F3: whose file is cut short is fetched again; of the half nothing stays', async () => {
    const bench = await startBench(test, {
      listener: (request, response) => {
        if (request.url !== '/0/1') return void response.end(VIDEO);
        response.writeHead(200, { 'content-length': VIDEO.length });
        response.write(VIDEO.subarray(0, VIDEO.length / 2), () => response.socket?.end());
      },
    });
    expect(await bench.attempt()).toBe(100);
    expect(await bench.files()).toEqual([]);
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect((await bench.read(`${bench.id}/0-2`)).equals(VIDEO)).toBe(true);
  });

  it('F3: whose source breaks off and offers the rest is gone on with in the same attempt', async () => {
    const half = Math.floor(VIDEO.length / 2);
    const bench = await startBench(test, {
      listener: (request, response) => {
        const headers = { etag: '"v"', 'content-length': VIDEO.length };
        if (request.headers.range === undefined) {
          response.writeHead(200, headers);
          return void response.write(VIDEO.subarray(0, half), () => response.socket?.end());
        }
        const from = Number(/\d+/.exec(request.headers.range)?.[0]);
        response.writeHead(206, {
          ...headers,
          'content-length': VIDEO.length - from,
          'content-range': `bytes ${from}-${VIDEO.length - 1}/${VIDEO.length}`,
        });
        response.end(VIDEO.subarray(from));
      },
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(bench.looks()).toBe(1);
    expect((await bench.read(`${bench.id}/0-1`)).equals(VIDEO)).toBe(true);
    expect(bench.received()).toBe(VIDEO.length);
  });

  it('DL-8: of three outputs the one that is gone is not charged, the others are delivered', async () => {
    const bench = await startBench(test, {
      outputs: 3,
      listener: (request, response) => {
        if (request.url?.startsWith('/2/')) response.writeHead(404).end();
        else response.end(VIDEO);
      },
    });
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect((await bench.outputs()).map(({ state }) => state)).toEqual(['stored', 'stored', 'lost']);
    const settled = await settle(test.db, bench.id, { state: 'succeeded', errorCode: null });
    expect(settled).toMatchObject({ captured: 2 * PRICE });
    expect(bench.received()).toBe(2 * VIDEO.length);
  });
});
