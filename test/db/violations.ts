import { settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { violations } from './database.ts';
import { accepted, create, newTenant, observe, store, storing } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

/** One generation of each kind, all of one account, without any violation. */
export interface Planted {
  readonly tenant: Tenant;
  readonly ids: Readonly<Record<'queued' | 'running' | 'other' | 'failed' | 'succeeded', string>>;
}

export async function plant(db: Db): Promise<Planted> {
  const tenant = await newTenant(db, 1_000);
  const failed = await accepted(db, tenant);
  await observe(db, failed, 'failed');
  await settle(db, failed, { state: 'failed', errorCode: 'provider_failed' });
  const succeeded = await storing(db, tenant);
  await store(db, succeeded);
  await settle(db, succeeded, { state: 'succeeded', errorCode: null });
  const ids = {
    queued: await create(db, tenant),
    running: await accepted(db, tenant),
    other: await accepted(db, tenant),
    failed,
    succeeded,
  };
  return { tenant, ids };
}

/** A violation that somebody planted, by the name of the invariant that must tell of it. */
export interface Seed {
  readonly name: string;
  readonly how: string;
  readonly sql: (p: Planted) => readonly string[];
  /** What must follow from it. */
  readonly also?: readonly string[];
}

/** Plants a violation with triggers and foreign keys off, looks, and takes all of it back. */
export async function seen(db: Db, statements: readonly string[]): Promise<string[]> {
  let found: string[] = [];
  const undo = new Error('undo');
  await db.prisma
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
      found = Object.keys(await violations({ ...db, prisma }));
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return found;
}

export const entries = (
  key: string,
  kind: string,
  generation: string | null,
  amounts: readonly [string, number][],
) =>
  `WITH t AS (INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor)
     VALUES ('${kind}', '${key}', ${generation === null ? 'NULL' : `'${generation}'`}, 'seed', 'seed') RETURNING id)
   INSERT INTO ledger_entry (transaction_id, account_id, amount) SELECT t.id, v.account, v.amount
   FROM t, (VALUES ${amounts.map(([account, amount]) => `('${account}', ${amount})`).join(', ')}) AS v(account, amount)`;
export const refund = (p: Planted, key: string, credits: number) =>
  entries(key, 'refund', p.ids.succeeded, [
    [p.tenant.accountId, credits],
    ['sys_revenue', -credits],
  ]);
export const event = (id: string, type: string, step: number) =>
  `INSERT INTO generation_event (generation_id, seq, type, data, created_at)
   SELECT id, event_seq + ${step}, '${type}', '{}', now() FROM generation WHERE id = '${id}'`;
export const generation = (id: string, set: string) => `UPDATE generation SET ${set} WHERE id = '${id}'`;
export const hold = (id: string, set: string) => `UPDATE hold SET ${set} WHERE generation_id = '${id}'`;
export const account = (p: Planted, set: string) =>
  `UPDATE ledger_account SET ${set} WHERE id = '${p.tenant.accountId}'`;
export const lateSuccess = (id: string) =>
  `INSERT INTO late_success (submission_id, generation_id) VALUES ('${submissionId(id, 1)}', '${id}')`;
