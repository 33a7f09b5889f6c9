import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimDueGenerations, openDb, readCredits, settle } from '../../src/db/index.ts';
import { eventually } from '../simulators/control.ts';
import { tally, useDatabase } from './database.ts';
import { balance, facts, generationOf } from './facts.ts';
import { newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { delivered, EXPIRED, ledgerOf, resolve, SUCCEEDED } from './money.ts';

const test = useDatabase({ poolSize: 12 });
const credits = (tenant: Tenant) => readCredits(test.db, tenant.id, 'default');

/** How many deadlocks PostgreSQL has broken in this database; its statistics come up to 10 s later. */
async function deadlocks(atLeast: number): Promise<number> {
  for (let tried = 0; ; tried += 1) {
    const [row] = await test.sql<{ count: number }>(
      `SELECT deadlocks::int AS count FROM pg_stat_database WHERE datname = current_database()`,
    );
    const count = row?.count ?? 0;
    if (count >= atLeast || tried >= 200) return count;
    await sleep(100);
  }
}

/** Until some session waits for a lock that this one holds. */
async function untilBlockedBy(pid: number): Promise<void> {
  await eventually(async () => {
    const waiting = await test.sql('SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))', [
      pid,
    ]);
    return waiting.length > 0 ? true : undefined;
  });
}

/** Makes every capture fail with this SQLSTATE, as long as the work runs. */
async function whileCapturesFail(sqlstate: string, work: () => Promise<void>): Promise<void> {
  await test.sql(
    `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION 'fault' USING ERRCODE = '${sqlstate}'; END $$;
     CREATE TRIGGER fault BEFORE INSERT ON ledger_transaction FOR EACH ROW WHEN (NEW.kind = 'capture') EXECUTE FUNCTION fault()`,
  );
  try {
    await work();
  } finally {
    await test.sql('DROP FUNCTION fault() CASCADE');
  }
}

describe('G7 a capture that PostgreSQL undoes', () => {
  it('40P01, two sessions in opposite row order: tried again until done, the capture is there', async () => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant);
    const before = await deadlocks(0);
    const other = await test.connect();
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    // The other session never looks for the deadlock itself, so that the capture is the victim.
    await other.query(`SET deadlock_timeout = '60s'`);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM ledger_account WHERE id = $1 FOR UPDATE', [tenant.accountId]);
    const settling = settle(test.db, id, SUCCEEDED);
    await untilBlockedBy(rows[0]!.pid);
    await other.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [id]);
    await other.query('COMMIT');
    expect(await settling).toMatchObject({ outcome: 'settled', ...SUCCEEDED, captured: 100 });
    expect(await deadlocks(before + 1)).toBe(before + 1);
    expect(await ledgerOf(test.db, id)).toEqual([['capture', -100]]);
    expect(await credits(tenant)).toEqual(balance(900, 0, 100));
  });

  it('40001, six captures of one account in serializable sessions: all there', async () => {
    const tenant = await newTenant(test.db);
    const ids = await Promise.all(Array.from({ length: 6 }, () => delivered(test.db, tenant)));
    await test.sql(
      `ALTER DATABASE ${new URL(test.url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
    );
    const strict = openDb(test.url, { poolSize: 6 });
    try {
      const answers = await Promise.all(ids.map((id) => settle(strict, id, SUCCEEDED)));
      expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ settled: 6 });
      expect(await strict.prisma.$queryRaw`SHOW transaction_isolation`).toEqual([
        { transaction_isolation: 'serializable' },
      ]);
    } finally {
      await strict.close();
      await test.sql(
        `ALTER DATABASE ${new URL(test.url).pathname.slice(1)} RESET default_transaction_isolation`,
      );
    }
    expect(await credits(tenant)).toEqual(balance(400, 0, 600));
  });

  it.each(['40P01', '40001'])('%s three times, then no more: settled by the same call', async (sqlstate) => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant);
    // A sequence is not undone with the transaction, so it counts the tries.
    await test.sql(
      `CREATE SEQUENCE tries;
       CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'fault' USING ERRCODE = '${sqlstate}'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER fault BEFORE INSERT ON ledger_transaction FOR EACH ROW EXECUTE FUNCTION fault()`,
    );
    try {
      expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ outcome: 'settled', captured: 100 });
      expect(await test.sql(`SELECT last_value::int AS tries FROM tries`)).toEqual([{ tries: 4 }]);
    } finally {
      await test.sql('DROP FUNCTION fault() CASCADE; DROP SEQUENCE tries');
    }
    expect(await credits(tenant)).toEqual(balance(900, 0, 100));
  });

  it('out of retries: it stays held and shows up, no deadline and nobody makes it a release; then captured', async () => {
    const tenant = await newTenant(test.db);
    const id = await delivered(test.db, tenant);
    await whileCapturesFail('40P01', async () => {
      await expect(settle(test.db, id, SUCCEEDED)).rejects.toThrow(/fault/);
      expect(await facts(test.db, id)).toMatchObject({ stage: 'storing', hold: 'held', terminalEvents: 0 });
      await test.sql(
        `SET session_replication_role = replica;
         UPDATE generation SET deadline_at = now() - interval '1 hour', store_until = now() - interval '1 minute',
           due_at = now() - interval '1 minute' WHERE id = '${id}';
         SET session_replication_role = DEFAULT`,
      );
      expect(await settle(test.db, id, EXPIRED)).toMatchObject({ outcome: 'stale' });
      expect(await resolve(test.db, id, 'failed')).toEqual({
        outcome: 'not_possible',
        why: 'outputs_stored',
      });
      const due = await claimDueGenerations(test.db, { limit: 100, graceMs: 0 });
      expect(JSON.stringify(due)).toContain(id);
      expect(await credits(tenant)).toEqual(balance(900, 100, 0));
    });
    expect(await settle(test.db, id, SUCCEEDED)).toMatchObject({ outcome: 'settled', captured: 100 });
    expect((await generationOf(test.db, id)).state).toBe('succeeded');
    expect(await credits(tenant)).toEqual(balance(900, 0, 100));
  });
});
