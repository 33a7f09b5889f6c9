import { beforeAll, describe, expect, it } from 'vitest';
import { checkInvariants, readInvariants, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase, violations } from './database.ts';
import { accepted, create, newTenant, observe, store, storing } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

const test = useDatabase();
let tenant: Tenant;
/** One generation of each kind, all of one account, without any violation. */
const ids = { queued: '', running: '', other: '', failed: '', succeeded: '' };

beforeAll(async () => {
  const { db } = test;
  tenant = await newTenant(db, 1_000);
  ids.queued = await create(db, tenant);
  ids.running = await accepted(db, tenant);
  ids.other = await accepted(db, tenant);
  ids.failed = await accepted(db, tenant);
  await observe(db, ids.failed, 'failed');
  await settle(db, ids.failed, { state: 'failed', errorCode: 'provider_failed' });
  ids.succeeded = await storing(db, tenant);
  await store(db, ids.succeeded);
  await settle(db, ids.succeeded, { state: 'succeeded', errorCode: null });
});

/** Seeds a violation with triggers and foreign keys off, looks, and takes all of it back. */
async function seen(statements: readonly string[]): Promise<string[]> {
  let found: string[] = [];
  const undo = new Error('undo');
  await test.db.prisma
    .$transaction(async (tx) => {
      await tx.$executeRawUnsafe('SET LOCAL session_replication_role = replica');
      for (const statement of statements) await tx.$executeRawUnsafe(statement);
      const inside = { ...test.db, prisma: tx as Db['prisma'] };
      found = Object.keys(await violations(inside));
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return found;
}

const entries = (
  key: string,
  kind: string,
  generation: string | null,
  amounts: readonly [string, number][],
) =>
  `WITH t AS (INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor)
     VALUES ('${kind}', '${key}', ${generation === null ? 'NULL' : `'${generation}'`}, 'seed', 'seed') RETURNING id)
   INSERT INTO ledger_entry (transaction_id, account_id, amount) SELECT t.id, v.account, v.amount
   FROM t, (VALUES ${amounts.map(([account, amount]) => `('${account}', ${amount})`).join(', ')}) AS v(account, amount)`;
const event = (id: string, type: string, step: number) =>
  `INSERT INTO generation_event (generation_id, seq, type, data, created_at)
   SELECT id, event_seq + ${step}, '${type}', '{}', now() FROM generation WHERE id = '${id}'`;
const generation = (id: string, set: string) => `UPDATE generation SET ${set} WHERE id = '${id}'`;
const hold = (id: string, set: string) => `UPDATE hold SET ${set} WHERE generation_id = '${id}'`;
const account = (set: string) => `UPDATE ledger_account SET ${set} WHERE id = '${tenant.accountId}'`;

interface Seed {
  readonly name: string;
  readonly how: string;
  readonly sql: () => readonly string[];
  /** What must follow from it. */
  readonly also?: readonly string[];
}

const BALANCED = 'each ledger transaction has entries that sum to zero';
const HELD = "an account's held credits equal its open holds";
const RELEASED = 'failed, cancelled or expired if and only if released';
const CAPTURE = 'a captured hold has exactly one capture of its amount, and no other hold has one';
const ONE_HOLD = 'each generation has one hold of its price on its account';
const LAST_EVENT = 'a terminal generation has exactly one terminal event, its last';
const NO_GAP = 'event numbers have no gap';

const SEEDS: readonly Seed[] = [
  {
    name: BALANCED,
    how: 'a transaction without entries',
    sql: () => [
      `INSERT INTO ledger_transaction (kind, business_key, reason, actor) VALUES ('grant', 'seed', 'seed', 'seed')`,
    ],
  },
  {
    name: 'the ledger sums to zero',
    how: 'entries of 5 and -4',
    sql: () => [
      entries('seed', 'grant', null, [
        ['sys_world', 5],
        ['sys_revenue', -4],
      ]),
    ],
    also: [BALANCED],
  },
  {
    name: "an account's balance equals its entries",
    how: 'one credit from nowhere',
    sql: () => [account('posted = posted + 1')],
  },
  { name: HELD, how: 'one credit held for nobody', sql: () => [account('held = held + 1')] },
  {
    name: 'no account is below zero',
    how: 'more held than posted',
    sql: () => [
      'ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_never_below_zero',
      account('held = posted + 1'),
    ],
    also: [HELD],
  },
  {
    name: ONE_HOLD,
    how: 'a price that changed',
    sql: () => [generation(ids.queued, 'credits = credits + 1')],
  },
  { name: ONE_HOLD, how: 'another account', sql: () => [generation(ids.queued, `account_id = 'sys_world'`)] },
  {
    name: ONE_HOLD,
    how: 'no hold',
    sql: () => [`DELETE FROM hold WHERE generation_id = '${ids.queued}'`],
    also: [HELD],
  },
  { name: CAPTURE, how: 'another amount', sql: () => [hold(ids.succeeded, 'captured = captured - 1')] },
  {
    name: CAPTURE,
    how: 'a capture of a released hold',
    sql: () => [
      entries('seed', 'capture', ids.failed, [
        ['sys_world', -5],
        ['sys_revenue', 5],
      ]),
    ],
  },
  {
    name: CAPTURE,
    how: 'two captures',
    sql: () => [
      'DROP INDEX ledger_transaction_one_capture',
      entries('seed', 'capture', ids.succeeded, [
        ['sys_world', -5],
        ['sys_revenue', 5],
      ]),
    ],
  },
  {
    name: 'a refund is never more than what was captured',
    how: 'one credit too many',
    sql: () => [
      entries('seed', 'refund', ids.succeeded, [
        [tenant.accountId, 101],
        ['sys_revenue', -101],
      ]),
      account('posted = posted + 101'),
    ],
  },
  {
    name: 'a terminal generation has no open hold',
    how: 'a hold that was forgotten',
    sql: () => [hold(ids.failed, `state = 'held', resolved_at = NULL`), account('held = held + 100')],
    also: [RELEASED],
  },
  {
    name: 'a generation that has not ended keeps its hold',
    how: 'a hold released too early',
    sql: () => [hold(ids.running, `state = 'released', resolved_at = now()`), account('held = held - 100')],
    also: [RELEASED],
  },
  {
    name: 'succeeded if and only if captured',
    how: 'a failure that became a success',
    sql: () => [
      generation(
        ids.failed,
        `state = 'succeeded', error_code = NULL, success_at = now(), store_until = now(), delivery = 'stored'`,
      ),
    ],
    also: [RELEASED, 'succeeded means that an output is stored'],
  },
  {
    name: RELEASED,
    how: 'a success that became a failure',
    sql: () => [generation(ids.succeeded, `state = 'failed', error_code = 'output_lost'`)],
    also: ['succeeded if and only if captured'],
  },
  {
    name: 'stage waiting or storing means that a handle is present',
    how: 'waiting for no job',
    sql: () => [generation(ids.queued, `state = 'running', stage = 'waiting'`)],
  },
  {
    name: 'stage waiting or storing means that a handle is present',
    how: 'waiting for an abandoned job',
    sql: () => [`UPDATE submission SET state = 'abandoned' WHERE generation_id = '${ids.running}'`],
  },
  {
    name: 'a live handle means that the stage is past submitting',
    how: 'an accepted job and stage submitting',
    sql: () => [generation(ids.running, `stage = 'submitting'`)],
  },
  {
    name: 'at most one live submission per generation',
    how: 'a second one',
    sql: () => [
      'DROP INDEX submission_one_live',
      `INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, idempotency_key, request, created_at, updated_at)
       VALUES ('${submissionId(ids.running, 2)}', '${ids.running}', 2, 0, 'infro', 'main', 'seed', '{}', now(), now())`,
    ],
  },
  {
    name: 'one provider job belongs to one submission',
    how: 'a job of two',
    sql: () => [
      'DROP INDEX submission_job',
      `UPDATE submission SET provider_job_id = 'job-${ids.running}' WHERE generation_id = '${ids.other}'`,
    ],
  },
  {
    name: 'no hold outlives its deadline or store time, except with an operator',
    how: 'a deadline of ten minutes ago',
    sql: () => [generation(ids.running, `deadline_at = now() - interval '10 minutes'`)],
  },
  {
    name: 'succeeded means that an output is stored',
    how: 'no output',
    sql: () => [`DELETE FROM output WHERE generation_id = '${ids.succeeded}'`],
  },
  {
    name: 'no output is still being stored after the end',
    how: 'an output of a failure',
    sql: () => [`INSERT INTO output (generation_id, index, created_at) VALUES ('${ids.failed}', 0, now())`],
  },
  {
    name: LAST_EVENT,
    how: 'no terminal event',
    sql: () => [
      `DELETE FROM generation_event WHERE generation_id = '${ids.failed}' AND type = 'terminal'`,
      generation(ids.failed, 'event_seq = event_seq - 1'),
    ],
  },
  {
    name: LAST_EVENT,
    how: 'an event after it',
    sql: () => [event(ids.failed, 'progress', 1), generation(ids.failed, 'event_seq = event_seq + 1')],
  },
  {
    name: 'a generation that has not ended has no terminal event',
    how: 'a terminal event too early',
    sql: () => [event(ids.running, 'terminal', 1), generation(ids.running, 'event_seq = event_seq + 1')],
  },
  {
    name: NO_GAP,
    how: 'a number without an event',
    sql: () => [generation(ids.running, 'event_seq = event_seq + 1')],
  },
  {
    name: NO_GAP,
    how: 'an event that was skipped',
    sql: () => [event(ids.running, 'progress', 2), generation(ids.running, 'event_seq = event_seq + 2')],
  },
];

describe('each invariant reports its violation', () => {
  it.each(SEEDS)('$name: $how', async ({ name, sql, also }) => {
    expect((await seen(sql())).toSorted()).toEqual([name, ...(also ?? [])].toSorted());
  });

  it('none is left untested, and none is there twice', async () => {
    const names = (await readInvariants()).map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(SEEDS.map(({ name }) => name))].toSorted());
  });
});

describe('what is no violation', () => {
  it('a hold past its deadline while it is stored, or while an operator has it', async () => {
    const past = `deadline_at = now() - interval '10 minutes'`;
    const success = `stage = 'storing', success_at = now(), store_until = now() + interval '1 hour'`;
    expect(await seen([generation(ids.running, `${past}, ${success}`)])).toEqual([]);
    expect(
      await seen([generation(ids.running, `${past}, stage = 'needs_operator', operator_reason = 'r'`)]),
    ).toEqual([]);
  });

  it('a refund of all that was captured', async () => {
    const refund = entries('seed', 'refund', ids.succeeded, [
      [tenant.accountId, 100],
      ['sys_revenue', -100],
    ]);
    expect(await seen([refund, account('posted = posted + 100')])).toEqual([]);
  });

  it('examples name the rows, at most ten', async () => {
    const found = await checkInvariants(test.db);
    expect(found.every(({ violations: count, examples }) => count === 0 && examples.length === 0)).toBe(true);
    expect(found).toHaveLength((await readInvariants()).length);
  });
});
