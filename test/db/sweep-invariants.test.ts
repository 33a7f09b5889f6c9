import { beforeAll, describe, expect, it } from 'vitest';
import { readInvariants } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { checkRecentInvariants, invariantLabel, readClock } from '../../src/db/recent-invariants.ts';
import { checkChangedInvariants } from '../../src/services/check-recent-invariants.ts';
import type { OnSweepProblem } from '../../src/services/sweep-context.ts';
import { useDatabase } from './database.ts';
import { account, generation, plant } from './violations.ts';
import type { Planted, Seed } from './violations.ts';
import { DELIVERY_SEEDS } from './violations-of-delivery.ts';
import { MONEY_SEEDS } from './violations-of-money.ts';
import { RUN_SEEDS } from './violations-of-runs.ts';

const test = useDatabase();
const SEEDS: readonly Seed[] = [...MONEY_SEEDS, ...RUN_SEEDS, ...DELIVERY_SEEDS];
/** Of the transaction that is taken back. */
const LIMITS = { maxWait: 30_000, timeout: 60_000 };
const HOUR_MS = 3_600_000;
let planted: Planted;

beforeAll(async () => {
  planted = await plant(test.db);
});

/** Plants with triggers and foreign keys off, looks, and takes all of it back. */
async function trial<T>(statements: readonly string[], look: (db: Db) => Promise<T>): Promise<T> {
  let found: { readonly value: T } | undefined;
  const undo = new Error('undo');
  await test.db.prisma
    .$transaction(async (tx) => {
      await tx.$executeRawUnsafe('SET LOCAL session_replication_role = replica');
      for (const statement of statements) await tx.$executeRawUnsafe(statement);
      // As a pool whose every call is inside this transaction.
      const prisma = new Proxy(tx, {
        get: (target, name) =>
          name === '$transaction'
            ? (run: (inner: typeof tx) => unknown) => run(tx)
            : (Reflect.get(target, name) as unknown),
      }) as unknown as Db['prisma'];
      const call: Db['call'] = async (name, params, result) => {
        const rows = await tx.$queryRawUnsafe<{ result: unknown }[]>(
          `SELECT ${name}($1::jsonb) AS result`,
          JSON.stringify(params),
        );
        return result.parse(rows[0]?.result ?? null);
      };
      found = { value: await look({ ...test.db, prisma, call }) };
      throw undo;
    }, LIMITS)
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  if (found === undefined) throw new Error('nothing was looked at');
  return found.value;
}

/** The invariants that are violated among what changed within an hour. */
async function recent(db: Db, watched: readonly string[] = [], limit = 1_000): Promise<string[]> {
  const from = (await readClock(db, HOUR_MS)).before;
  const { results } = await checkRecentInvariants(db, { from, limit, watched });
  return results.filter(({ violations }) => violations > 0).map(({ name }) => name);
}

const LONG_AGO = [
  `UPDATE generation SET updated_at = now() - interval '2 hours'`,
  `UPDATE ledger_transaction SET created_at = now() - interval '2 hours'`,
];

describe('the invariants of what changed', () => {
  it.each(SEEDS)('$name: $how', async ({ name, sql, also }) => {
    const found = await trial(sql(planted), recent);
    expect(found.toSorted()).toEqual([name, ...(also ?? [])].toSorted());
  });

  it('none is violated where nothing is planted; they are the same as those of doctor', async () => {
    expect(await recent(test.db)).toEqual([]);
    const { results } = await checkRecentInvariants(test.db, {
      from: (await readClock(test.db, HOUR_MS)).before,
      limit: 1_000,
      watched: [],
    });
    expect(results.map(({ name }) => name)).toEqual((await readInvariants()).map(({ name }) => name));
  });

  it('what has not changed since is not read', async () => {
    const seeds = [
      generation(planted.ids.running, `deadline_at = now() - interval '10 minutes'`),
      account(planted, 'posted = posted + 1'),
    ];
    expect((await trial(seeds, recent)).length).toBeGreaterThanOrEqual(2);
    expect(await trial([...seeds, ...LONG_AGO], recent)).toEqual([]);
  });

  it('what was violated is looked at again though nothing changed there', async () => {
    const late = generation(planted.ids.running, `deadline_at = now() - interval '10 minutes'`);
    const [hold] = await trial([late], recent);
    expect(await trial([late, ...LONG_AGO], (db) => recent(db, [planted.ids.running]))).toEqual([hold]);
    const balance = await trial([account(planted, 'posted = posted + 1')], recent);
    expect(
      await trial([account(planted, 'posted = posted + 1'), ...LONG_AGO], (db) =>
        recent(db, [planted.tenant.accountId]),
      ),
    ).toEqual(balance);
    expect(await trial(LONG_AGO, (db) => recent(db, [planted.ids.running]))).toEqual([]);
  });

  it('accounts whose sums do not fit into one page have their turn by chance; watched ones always', async () => {
    const ids = Array.from({ length: 7 }, (_, n) => `acc_${String(n).padStart(26, '0')}`);
    const wrong = [
      `INSERT INTO ledger_account (id, tenant_id, name, kind, posted, granted)
       SELECT 'acc_' || lpad(n::text, 26, '0'), '${planted.tenant.id}', 'wrong-' || n, 'tenant', 0, 0 FROM generate_series(0, 6) AS n`,
      `INSERT INTO ledger_transaction (kind, business_key, reason, actor)
       SELECT 'grant', 'acc_' || lpad(n::text, 26, '0') || ':' || i, 'seed', 'seed' FROM generate_series(1, 800) AS i, generate_series(0, 6) AS n ORDER BY i, n`,
      `INSERT INTO ledger_entry (transaction_id, account_id, amount)
       SELECT t.id, v.account, v.amount FROM ledger_transaction t
       CROSS JOIN LATERAL (VALUES (split_part(t.business_key, ':', 1), 1), ('sys_world', -1)) AS v(account, amount) WHERE t.reason = 'seed'`,
    ];
    const told = async (db: Db, watched: readonly string[] = []) => {
      const from = (await readClock(db, HOUR_MS)).before;
      const { results } = await checkRecentInvariants(db, { from, limit: 1_000, watched });
      return results.find(({ name }) => name === `an account's balance equals its entries`)!.examples;
    };
    const turns = await trial(wrong, async (db) => {
      const found: string[] = [];
      for (let n = 0; n < 12; n += 1) found.push(...(await told(db)));
      return new Set(found);
    });
    expect([...turns].toSorted()).toEqual(ids);
    expect(await trial([...wrong, ...LONG_AGO], (db) => told(db, ids))).toEqual(ids);
  });

  it('pages follow each other by time and id, and meet every generation once', async () => {
    const ids = (await test.sql<{ id: string }>(`SELECT id FROM generation ORDER BY updated_at, id`)).map(
      ({ id }) => id,
    );
    expect(ids.length).toBe(5);
    const ends: string[] = [];
    let from: Parameters<typeof checkRecentInvariants>[1]['from'] = (await readClock(test.db, HOUR_MS))
      .before;
    for (;;) {
      const { next } = await checkRecentInvariants(test.db, { from, limit: 2, watched: [] });
      if (next === null) break;
      ends.push(next.id);
      from = next;
    }
    expect(ends).toEqual([ids[1], ids[3]]);
  });

  it('labels are short, plain and all different', async () => {
    const labels = (await readInvariants()).map(({ name }) => invariantLabel(name));
    expect(new Set(labels).size).toBe(labels.length);
    for (const label of labels) expect(label).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
  });
});

describe('the pass over them', () => {
  const problems: Parameters<OnSweepProblem>[] = [];
  const pass = (db: Db, everyMs = 0) =>
    checkChangedInvariants(
      { db, onProblem: (...told) => problems.push(told), signal: new AbortController().signal },
      { everyMs, limit: 2, timeLimitMs: 60_000 },
    );

  it('is one for all processes within the interval', async () => {
    expect(await pass(test.db)).toEqual([]);
    expect(await pass(test.db, 60_000)).toBeNull();
    expect(problems).toEqual([]);
  });

  it('tells a violation until it is mended, also after its row is long past', async () => {
    const late = generation(planted.ids.running, `deadline_at = now() - interval '10 minutes'`);
    const mend = generation(planted.ids.running, `deadline_at = now() + interval '10 minutes'`);
    const told = await trial([late], async (db) => {
      const first = await pass(db);
      for (const statement of LONG_AGO) await db.prisma.$executeRawUnsafe(statement);
      await db.prisma.$executeRawUnsafe(
        `UPDATE sweep_mark SET at = now() - interval '1 minute' WHERE name = 'invariants'`,
      );
      const again = await pass(db);
      await db.prisma.$executeRawUnsafe(mend);
      return [first, again, await pass(db)];
    });
    expect(told[0]).toMatchObject([{ violations: 1, examples: [planted.ids.running] }]);
    expect(told[1]).toEqual(told[0]);
    expect(told[2]).toEqual([]);
    const label = 'no_hold_outlives_its_deadline_or_store_time_except_with_an_operator';
    const told1 = ['invariants', 'invariant_violated', null, label, [planted.ids.running]];
    expect(problems).toEqual([told1, told1]);
  });
});
