import { z } from 'zod';
import type { Db } from './client.ts';

const granted = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['granted', 'duplicate']), accountId: z.string() }),
  z.object({ outcome: z.enum(['unknown_tenant', 'key_reuse', 'too_large']) }),
]);
export type Granted = z.infer<typeof granted>;

/** Credits into an account (made on first use), once per business key of the tenant. */
export function grantCredits(
  db: Db,
  grant: {
    readonly tenantId: string;
    readonly account: string;
    /** Used when the account is new. */
    readonly accountId: string;
    readonly credits: number;
    readonly businessKey: string;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<Granted> {
  return db.call('grant_credits', { ...grant }, granted);
}

export interface Credits {
  readonly available: number;
  readonly held: number;
  readonly spent: number;
}

/** Balance of one account, in whole credits, or null when there is none of that name. */
export async function readCredits(db: Db, tenantId: string, account: string): Promise<Credits | null> {
  const rows = await db.prisma.$queryRaw<{ available: bigint; held: bigint; spent: bigint }[]>`
    SELECT a.posted - a.held AS available, a.held,
      coalesce((SELECT -sum(e.amount) FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
        WHERE e.account_id = a.id AND t.kind IN ('capture', 'refund')), 0)::bigint AS spent
    FROM ledger_account a WHERE a.tenant_id = ${tenantId} AND a.name = ${account}`;
  const row = rows[0];
  return row === undefined
    ? null
    : { available: Number(row.available), held: Number(row.held), spent: Number(row.spent) };
}
