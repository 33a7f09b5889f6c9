import { connect, createServer, type Server } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createGeneration, isDatabaseUnavailable, openDb } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { asTrial, inTransaction } from '../../src/db/transaction.ts';
import { urlThrough } from '../support/tunnel.ts';
import { useDatabase } from './database.ts';
import { grant, newGeneration, newTenant, PRICE } from './fixtures.ts';

const test = useDatabase();

/** Nothing else runs in this process meanwhile: timers fire late, answers wait in their sockets. */
function blockEventLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Sessions of our pools whose transaction was begun and not ended. */
function leftOpen(): Promise<object[]> {
  return test.sql(
    `SELECT state, query FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'darkroom' AND state LIKE 'idle in transaction%'`,
  );
}

async function withPool<T>(poolSize: number, run: (db: Db) => Promise<T>, url = test.url): Promise<T> {
  const db = openDb(url, { poolSize });
  try {
    // Its first connection stands before the loop is blocked.
    await db.prisma.$queryRawUnsafe('SELECT 1');
    return await run(db);
  } finally {
    await db.close();
  }
}

/** As another session sees it: what is committed. */
async function available(tenantId: string): Promise<number> {
  const rows = await test.sql<{ posted: string }>(
    `SELECT posted FROM ledger_account WHERE tenant_id = $1 AND kind = 'tenant'`,
    [tenantId],
  );
  return Number(rows[0]?.posted);
}

describe('L1 a pool of one whose process stands still', () => {
  // A start may wait for 5 s: 3 s lie within, 6 s past it.
  it.each([3_000, 6_000])(
    'for %i ms as a transaction starts: it is whole or has done nothing, and is not left open for the next write',
    { timeout: 60_000 },
    (ms) =>
      withPool(1, async (db) => {
        const tenant = await newTenant(test.db);
        let ran = false;
        const started = inTransaction(db, async (tx) => {
          ran = true;
          await grant(tx, tenant, 5, 'inside');
        }).then(
          () => 'committed',
          () => 'refused',
        );
        setImmediate(() => blockEventLoop(ms));
        const outcome = await started;
        expect(ran).toBe(outcome === 'committed');
        await grant(db, tenant, 7, 'after');
        expect(await leftOpen()).toEqual([]);
        expect(await available(tenant.id)).toBe(1_000 + (outcome === 'committed' ? 12 : 7));
      }),
  );

  it('in the middle of a transaction, past its limit: undone, and the next write stands alone', () =>
    withPool(1, async (db) => {
      const tenant = await newTenant(test.db);
      const late = db.prisma.$transaction(
        async (tx) => {
          await tx.$executeRawUnsafe(`UPDATE tenant SET name = 'late' WHERE id = '${tenant.id}'`);
          blockEventLoop(1_000);
          await tx.$queryRawUnsafe('SELECT 1');
        },
        { timeout: 300 },
      );
      await expect(late).rejects.toThrow(/transaction/i);
      await grant(db, tenant, 7, 'after');
      expect(await leftOpen()).toEqual([]);
      expect(await available(tenant.id)).toBe(1_007);
      expect(await test.sql(`SELECT name FROM tenant WHERE id = $1`, [tenant.id])).toEqual([
        { name: 'test' },
      ]);
    }));

  it('in the middle of a trial: nothing of it stays', () =>
    withPool(1, async (db) => {
      const tenant = await newTenant(test.db);
      await asTrial(db, async (tx) => {
        await grant(tx, tenant, 5, 'on trial');
        blockEventLoop(1_000);
      });
      await grant(db, tenant, 7, 'after');
      expect(await leftOpen()).toEqual([]);
      expect(await available(tenant.id)).toBe(1_007);
    }));
});

/** A way to the database that, once told so, loses the next answer and the connection with it. */
async function losingAnswers(): Promise<{ server: Server; url: string; loseNext: () => void }> {
  const { hostname, port } = new URL(test.url);
  let lose = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far);
    far.on('data', (bytes) => {
      if (!lose) return void near.write(bytes);
      lose = false;
      near.destroy();
    });
  });
  const url = await urlThrough(server, test.url);
  return {
    server,
    url,
    loseNext: () => {
      lose = true;
    },
  };
}

it('L1 a commit whose answer is lost: said to be unavailable, not undone; the repeated call finds by its key what stands', async () => {
  const way = await losingAnswers();
  try {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    await withPool(
      1,
      async (db) => {
        way.loseNext();
        const error = await createGeneration(db, generation).then(
          () => null,
          (reason: unknown) => reason,
        );
        expect(isDatabaseUnavailable(error)).toBe(true);
        expect(await createGeneration(db, generation)).toMatchObject({ outcome: 'replayed' });
      },
      way.url,
    );
    const held = await test.sql(
      `SELECT generation_id AS id, amount::int AS amount FROM hold JOIN generation g ON g.id = generation_id WHERE tenant_id = $1`,
      [tenant.id],
    );
    expect(held).toEqual([{ id: generation.generationId, amount: PRICE }]);
  } finally {
    way.server.close();
  }
});

it('L2 three times as many calls and transactions at once as there are connections: none waits in vain', async () => {
  const size = 4;
  await withPool(size, async (db) => {
    const tenant = await newTenant(test.db, 10_000);
    const calls = Array.from({ length: 3 * size }, async (_, at) => {
      const made = await createGeneration(db, newGeneration(tenant));
      await inTransaction(db, (tx) => grant(tx, tenant, 1, `call ${at}`));
      await asTrial(db, (tx) => grant(tx, tenant, 1, `trial ${at}`));
      return made.outcome;
    });
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['created']));
    expect(await available(tenant.id)).toBe(10_000 + 3 * size);
    expect(await leftOpen()).toEqual([]);
  });
});
