import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimOutputs, settle } from '../../src/db/index.ts';
import { createFilesystemStorage } from '../../src/storage/filesystem.ts';
import { StorageError } from '../../src/storage/index.ts';
import type { FileScan, ScanVerdict, Storage } from '../../src/storage/types.ts';
import { useDatabase } from '../db/database.ts';
import { PRICE } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { counted, serve, settles, startBench, VIDEO } from './storing.ts';

const test = useDatabase();
const SUCCEEDED = { state: 'succeeded', errorCode: null } as const;

/** A disk on which writes fail while `full()`, as a real one does: a part is written before. */
function disk(root: string, full: () => boolean): Storage {
  return createFilesystemStorage(root, async (path, flags, mode) => {
    const handle = await open(path, flags, mode);
    return new Proxy(handle, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'write' && full()) {
          return async (bytes: Uint8Array) => {
            await target.write(bytes, 0, 10);
            throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
          };
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
}

describe('a storage in trouble', () => {
  it('DL-12 F-15: full: nothing stays, nothing is charged, told once; goes on when there is space', async () => {
    let isFull = true;
    const bench = await startBench(test, {
      listener: serve(),
      outputs: 2,
      deps: (_made, root) => ({ storage: disk(root, () => isFull) }),
    });
    const pauses = [
      await bench.attempt(),
      await bench.attempt(),
      await bench.attempt(),
      await bench.attempt(),
    ];
    expect(pauses).toEqual([100, 200, 400, 600]);
    expect(await bench.outputs()).toEqual(
      [0, 1].map(() => ({ state: 'storing', problem: 'storage_full', path: null, attempt: 4 })),
    );
    expect(await bench.files()).toEqual([]);
    expect(await counted('storage_full')).toBe(8);
    expect(await settle(test.db, bench.id, SUCCEEDED)).toMatchObject({ outcome: 'stale', captured: 0 });
    const errors = bench.lines.filter(({ level }) => level === 'error');
    expect(errors).toEqual([
      {
        level: 'error',
        fields: expect.objectContaining({
          problem: 'storage_full',
          advice: 'the storage is full: free space or enlarge it; the file is fetched again',
        }),
        message: expect.stringContaining('outputs cannot be stored'),
      },
    ]);

    isFull = false;
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-5`, `${bench.id}/1-5`]);
    expect(bench.lines.filter(({ message }) => message === 'outputs can be stored again')).toHaveLength(1);
    expect(await settle(test.db, bench.id, SUCCEEDED)).toMatchObject({ captured: 2 * PRICE });
    const captures = await test.db.prisma.ledgerTransaction.count({
      where: { generationId: bench.id, kind: 'capture' },
    });
    expect(captures).toBe(1);
  });

  it.each(['create', 'write', 'commit'] as const)('F2: away at %s for a while: then stored', async (step) => {
    let isAway = true;
    const away = async () => {
      if (isAway) throw new StorageError('s3.example does not answer (ECONNREFUSED)', 'ECONNREFUSED', null);
    };
    const bench = await startBench(test, {
      listener: serve(),
      deps: ({ storage }) => ({
        storage: {
          ...storage,
          async create(path) {
            if (step === 'create') await away();
            const file = await storage.create(path);
            return {
              ...file,
              async write(chunk) {
                if (step === 'write') await away();
                await file.write(chunk);
              },
              async commit() {
                const stored = await file.commit();
                // As when the answer to a PUT is lost: the file is there.
                if (step === 'commit') await away();
                return stored;
              },
            };
          },
        },
      }),
    });
    expect(await bench.attempt()).toBe(100);
    expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem: 'storage_unavailable' }]);
    expect(await bench.files()).toEqual([]);
    isAway = false;
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-2`]);
    expect(await settle(test.db, bench.id, SUCCEEDED)).toMatchObject({ captured: PRICE });
  });

  it('F2: away until the time to store is over: lost, released', async () => {
    const bench = await startBench(test, {
      listener: serve(),
      deps: (_made, root) => ({ storage: disk(root, () => true) }),
      timings: { storeForMs: 1_500 },
    });
    let step = await bench.attempt();
    while (typeof step === 'number') {
      await sleep(step);
      step = await bench.attempt();
    }
    expect(step).toEqual(settles('failed', 'output_lost'));
    const settled = await settle(test.db, bench.id, { state: 'failed', errorCode: 'output_lost' });
    expect(settled).toMatchObject({ outcome: 'settled', captured: 0 });
    expect(await bench.files()).toEqual([]);
  });

  it('a defect of an adapter is not taken for trouble of the storage', async () => {
    const bench = await startBench(test, {
      listener: serve(),
      downloadAuth: () => {
        throw new TypeError('a defect');
      },
    });
    await expect(bench.attempt()).rejects.toThrow('a defect');
    expect(await bench.files()).toEqual([]);
  });
});

describe('a scan', () => {
  const scans = (...verdicts: readonly ScanVerdict[]): FileScan => {
    const rest = [...verdicts];
    return async () => rest.shift() ?? { kind: 'clean' };
  };

  it('sees the stored bytes before anybody else may', async () => {
    const seen: unknown[] = [];
    const bench = await startBench(test, {
      listener: serve(),
      deps: () => ({
        scan: async ({ bytes, mediaType, read }) => {
          const chunks: Uint8Array[] = [];
          for await (const chunk of await read()) chunks.push(chunk);
          seen.push(bytes, mediaType, Buffer.concat(chunks).equals(VIDEO), await bench.outputs());
          return { kind: 'clean' };
        },
      }),
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(seen).toEqual([VIDEO.length, 'video/mp4', true, [expect.objectContaining({ state: 'storing' })]]);
  });

  it('that finds something ends the output: invalid, released, no file', async () => {
    const bench = await startBench(test, {
      listener: serve(),
      deps: () => ({ scan: scans({ kind: 'infected' }) }),
    });
    expect(await bench.attempt()).toEqual(settles('failed', 'output_invalid'));
    expect(await bench.outputs()).toEqual([
      { state: 'invalid', problem: 'infected', path: null, attempt: 1 },
    ]);
    expect(await counted('infected')).toBe(1);
    expect(await bench.files()).toEqual([]);
  });

  it('that failed is no pass: no file, tried again', async () => {
    const scan = scans({ kind: 'failed', reason: 'timeout' }, { kind: 'failed', reason: 'error' });
    const bench = await startBench(test, { listener: serve(), deps: () => ({ scan }) });
    for (const problem of ['scan_timeout', 'scan_error']) {
      expect(await bench.attempt()).toEqual(expect.any(Number));
      expect(await bench.outputs()).toMatchObject([{ state: 'storing', problem, path: null }]);
      expect(await bench.files()).toEqual([]);
    }
    expect([await counted('scan_timeout'), await counted('scan_error')]).toEqual([1, 1]);
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-3`]);
  });

  it('keeps the lease for as long as it takes', async () => {
    const claims: unknown[] = [];
    const storeLeaseMs = 3_000;
    const endOfLease = async () => {
      const [output] = await test.db.prisma.output.findMany({ where: { generationId: bench.id } });
      return output?.leaseUntil?.getTime() ?? Number.NaN;
    };
    const bench = await startBench(test, {
      listener: serve(),
      timings: { storeLeaseMs },
      deps: () => ({
        scan: async () => {
          const first = await endOfLease();
          // So far only once the first one would be over.
          await eventually(async () => ((await endOfLease()) >= first + storeLeaseMs ? true : undefined));
          claims.push(await claimOutputs(test.db, { generationId: bench.id, storeLeaseMs }));
          return { kind: 'clean' };
        },
      }),
    });
    expect(await bench.attempt()).toEqual(settles('succeeded'));
    expect(claims).toEqual([[]]);
  });

  it('that a stop of the worker cuts leaves no file; the next attempt stores it', async () => {
    const stop = new AbortController();
    const bench = await startBench(test, { listener: serve(), timings: { storeLeaseMs: 200 } });
    const scan: FileScan = async (_file, signal) => {
      stop.abort(new Error('WORKER_SHUTDOWN'));
      signal.throwIfAborted();
      return { kind: 'clean' };
    };
    await expect(bench.attempt({ scan }, stop.signal)).rejects.toThrow('WORKER_SHUTDOWN');
    expect(await bench.files()).toEqual([]);
    await sleep(250);
    expect(await bench.untilStep()).toEqual(settles('succeeded'));
    expect(await bench.files()).toEqual([`${bench.id}/0-2`]);
  });
});
