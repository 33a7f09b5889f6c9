import { describe, expect, it } from 'vitest';
import { settle } from '../../src/db/index.ts';
import { makeMp4 } from '../../src/simulators/media/mp4.ts';
import { useDatabase } from '../db/database.ts';
import { PRICE } from '../db/fixtures.ts';
import { gate, serve, settles, startBench, VIDEO } from './storing.ts';

const test = useDatabase();
/** A renewal by the attempt that is taken over would take back the end of its lease. */
const NO_RENEWAL = { storeLeaseMs: 600_000 };

/** As if the worker that holds it stood still: the next attempt may take the output over. */
const endLease = (id: string) =>
  test.sql(`UPDATE output SET lease_until = now() - interval '1 second' WHERE generation_id = $1`, [id]);

describe('two attempts at one output', () => {
  it.each([
    ['the one that was taken over is slower', [1, 0]],
    ['the one that was taken over is faster', [0, 1]],
    ['both at once', [0, 0]],
  ])('%s: one winner, row and file agree, no other file is left', async (_name, order) => {
    // Each attempt is sent a file of its own, so that a mixture would show.
    const files = [makeMp4('first', 5), makeMp4('second', 5)];
    const gates = [gate(), gate()];
    const arrived = [gate(), gate()];
    let asked = 0;
    const bench = await startBench(test, {
      timings: NO_RENEWAL,
      listener: (_request, response) => {
        const n = asked;
        asked += 1;
        arrived[n]?.open();
        void gates[n]?.opened.then(() => response.end(files[n]));
      },
    });
    const first = bench.attempt();
    await arrived[0]?.opened;
    await endLease(bench.id);
    const second = bench.attempt();
    await arrived[1]?.opened;
    const attempts = [first, second];
    for (const n of [0, 1].toSorted((a, b) => (order[a] ?? 0) - (order[b] ?? 0))) {
      gates[n]?.open();
      if (order[0] !== order[1]) await attempts[n];
    }
    expect(await Promise.all(attempts)).toEqual([settles('succeeded'), settles('succeeded')]);

    const [row] = await test.db.prisma.output.findMany({ where: { generationId: bench.id } });
    expect(await bench.files()).toEqual([row?.path]);
    const winner = Number(row?.path?.split('-').at(-1)) - 1;
    expect((await bench.read(row?.path ?? '')).equals(files[winner]!)).toBe(true);
    expect(Number(row?.bytes)).toBe(files[winner]?.length);
    if (order[0] !== order[1]) expect(winner).toBe(order[0] === 0 ? 0 : 1);
    const settled = await settle(test.db, bench.id, { state: 'succeeded', errorCode: null });
    expect(settled).toMatchObject({ captured: PRICE });
  });

  it('K12: what a worker left that died between file and row goes when the row is decided', async () => {
    const bench = await startBench(test, { listener: serve() });
    const dying = new Error('killed between file and row');
    const db = new Proxy(test.db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'call') return value;
        return (fn: string, ...rest: never[]) => {
          if (fn === 'record_output') throw dying;
          return (value as (...args: unknown[]) => unknown).call(target, fn, ...rest);
        };
      },
    });
    await expect(bench.attempt({ db })).rejects.toThrow(dying.message);
    expect(await bench.files()).toEqual([`${bench.id}/0-1`]);
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', path: null }]);
    await endLease(bench.id);
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-2`]);
    expect((await bench.read(`${bench.id}/0-2`)).equals(VIDEO)).toBe(true);
  });

  it.each([
    ['whose link is gone for good', 404, 3_600_000],
    ['whose time to store is over', 200, 0],
  ])('K12: one %s never removes what another stored meanwhile', async (_name, status, storeForMs) => {
    const [hold, arrived] = [gate(), gate()];
    let asked = 0;
    const bench = await startBench(test, {
      timings: NO_RENEWAL,
      listener: (_request, response) => {
        asked += 1;
        if (asked > 1) {
          response.writeHead(status).end(VIDEO);
          return;
        }
        arrived.open();
        void hold.opened.then(() => response.end(VIDEO));
      },
    });
    const first = bench.attempt();
    await arrived.opened;
    await endLease(bench.id);
    await test.sql(`UPDATE output SET gone_count = 1 WHERE generation_id = $1`, [bench.id]);
    if (storeForMs === 0)
      await test.sql(`UPDATE generation SET store_until = now() - interval '1 second' WHERE id = $1`, [
        bench.id,
      ]);
    // Right before the second one would declare the output lost, the first one is through.
    const db = new Proxy(test.db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'call') return value;
        return async (fn: string, params: { result?: string }, ...rest: never[]) => {
          if (fn === 'record_output' && params.result === 'lost') {
            hold.open();
            await first;
          }
          return (value as (...args: unknown[]) => Promise<unknown>).call(target, fn, params, ...rest);
        };
      },
    });
    expect(await bench.attempt({ db })).toEqual(settles('succeeded'));
    expect(await bench.outputs()).toMatchObject([{ state: 'stored', path: `${bench.id}/0-1` }]);
    expect(await bench.files()).toEqual([`${bench.id}/0-1`]);
  });
});
