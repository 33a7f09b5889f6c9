import { listAccountEntries, readCredits } from '../db/index.ts';
import type { AccountEntry, Credits, Db } from '../db/index.ts';
import { inSnapshot } from '../db/transaction.ts';

/** An entry with what stood after it. */
export interface LedgerLine extends AccountEntry {
  readonly availableAfter: number;
  readonly heldAfter: number;
}

export type LedgerOutcome =
  | { readonly outcome: 'read'; readonly credits: Credits; readonly lines: readonly LedgerLine[] }
  | { readonly outcome: 'unknown_tenant' }
  | { readonly outcome: 'unknown_account'; readonly accounts: readonly string[] };

/** Names that a refusal lists, so that a typing error is seen. */
const SHOWN_ACCOUNTS = 10;

/** The newest entries of an account, newest first, with running sums that end at its balance; one snapshot. */
export function reportLedger(
  ctx: { readonly db: Db },
  input: { readonly tenantId: string; readonly account: string; readonly limit: number },
): Promise<LedgerOutcome> {
  const { tenantId, account, limit } = input;
  return inSnapshot(ctx.db, async (db) => {
    const credits = await readCredits(db, tenantId, account);
    const entries = await listAccountEntries(db, { tenantId, account, limit, before: null });
    if (credits !== null && entries !== null) {
      return { outcome: 'read', credits, lines: withSums(credits, entries) };
    }
    const known = await db.prisma.ledgerAccount.findMany({
      where: { tenantId },
      select: { name: true },
      orderBy: { name: 'asc' },
      take: SHOWN_ACCOUNTS,
    });
    // A tenant is made with its default account, so none at all means no tenant.
    return known.length === 0
      ? { outcome: 'unknown_tenant' }
      : { outcome: 'unknown_account', accounts: known.map(({ name }) => name) };
  });
}

/** Backwards from what stands now. */
function withSums({ available, held }: Credits, entries: readonly AccountEntry[]): LedgerLine[] {
  let after = { available, held };
  return entries.map((entry) => {
    const line = { ...entry, availableAfter: after.available, heldAfter: after.held };
    after = { available: after.available - entry.available, held: after.held - entry.held };
    return line;
  });
}
