import { z } from 'zod';
import type { Db } from './client.ts';

const granted = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['granted', 'duplicate']),
    accountId: z.string(),
    transactionId: z.string(),
    createdAt: z.string(),
  }),
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

const refunded = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['refunded', 'duplicate', 'reason_used']),
    credits: z.number(),
    refunded: z.number(),
  }),
  z.object({ outcome: z.literal('too_much'), refundable: z.number() }),
  z.object({ outcome: z.enum(['not_found', 'not_captured']) }),
]);
export type Refunded = z.infer<typeof refunded>;

/** Gives captured credits back: once per generation and reason, together never more than was captured. */
export function refundGeneration(
  db: Db,
  refund: {
    readonly generationId: string;
    /** null = all that is left. */
    readonly credits: number | null;
    readonly reason: string;
    readonly note: string | null;
    readonly actor: string;
  },
): Promise<Refunded> {
  // JSON has no NaN: it would become null, which means all that is left.
  if (refund.credits !== null && !Number.isSafeInteger(refund.credits)) {
    throw new RangeError('a refund is a whole number of credits');
  }
  return db.call('refund_generation', { ...refund }, refunded);
}

/** Whole credits; available + held + spent = granted, always. */
export interface Credits {
  readonly available: number;
  readonly held: number;
  readonly spent: number;
  readonly granted: number;
}

/** Balance of one account, or null when there is none of that name. */
export async function readCredits(db: Db, tenantId: string, account: string): Promise<Credits | null> {
  const rows = await db.prisma.$queryRaw<{ posted: bigint; held: bigint; granted: bigint }[]>`
    SELECT posted, held, granted FROM ledger_account WHERE tenant_id = ${tenantId} AND name = ${account}`;
  const row = rows[0];
  if (row === undefined) return null;
  const { posted, held, granted } = row;
  return {
    available: Number(posted - held),
    held: Number(held),
    spent: Number(granted - posted),
    granted: Number(granted),
  };
}

const entry = z.object({
  id: z.string(),
  type: z.enum(['grant', 'hold', 'capture', 'release', 'refund']),
  available: z.number(),
  held: z.number(),
  generationId: z.string().nullable(),
  reason: z.string().nullable(),
  at: z.string(),
});
/** What one event did to the available and to the held credits of an account. */
export type AccountEntry = z.infer<typeof entry>;

/** The history of an account, newest first, up to `limit` after the given place; null when there is no such account. */
export async function listAccountEntries(
  db: Db,
  page: {
    readonly tenantId: string;
    readonly account: string;
    readonly limit: number;
    readonly before: { readonly at: string; readonly id: string } | null;
  },
): Promise<AccountEntry[] | null> {
  const account = await db.prisma.ledgerAccount.findFirst({
    where: { tenantId: page.tenantId, name: page.account },
    select: { id: true },
  });
  if (account === null) return null;
  const { limit, before } = page;
  return db.call(
    'account_entries',
    { accountId: account.id, limit, before: before && { ...before } },
    z.array(entry),
  );
}
