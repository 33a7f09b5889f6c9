import { listAccountEntries, type AccountEntry } from '../db/index.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import type { ServiceContext } from './context.ts';

/** Ids of entries: what happened, and the ledger's transaction or the generation that it happened to. */
export const ENTRY_ID =
  /^(?:(?:grant|capture|refund)_[1-9]\d{0,17}|(?:hold|release)_[0-9a-hjkmnp-tv-z]{26})$/;

export interface ListEntriesInput {
  readonly tenantId: string;
  readonly account: string;
  readonly after: Position | undefined;
  readonly limit: number;
}

export interface EntryPage {
  readonly entries: readonly AccountEntry[];
  /** Of the next page, or null at the end. */
  readonly nextCursor: string | null;
}

/** One page of an account's history, newest first; null when the tenant has no account of that name. */
export async function listEntries(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, account, after, limit }: ListEntriesInput,
): Promise<EntryPage | null> {
  const rows = await listAccountEntries(ctx.db, {
    tenantId,
    account,
    limit: limit + 1,
    before: after === undefined ? null : { at: after.createdAt.toISOString(), id: after.id },
  });
  if (rows === null) return null;
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    entries,
    nextCursor: more ? encodeCursor({ createdAt: new Date(last.at), id: last.id }) : null,
  };
}
