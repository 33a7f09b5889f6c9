import { refundGeneration, resolveGeneration, settle } from '../../src/db/index.ts';
import type { Db, Proposal } from '../../src/db/index.ts';
import { accepted, observe, PRICE, sold, storing, store } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

export const SUCCEEDED: Proposal = { state: 'succeeded', errorCode: null };
export const FAILED: Proposal = { state: 'failed', errorCode: 'provider_failed' };
export const EXPIRED: Proposal = { state: 'expired', errorCode: 'deadline_exceeded' };
export const CANCELLED: Proposal = { state: 'cancelled', errorCode: null };

/** A generation whose outputs are all stored; only the end is missing. */
export async function delivered(db: Db, tenant: Tenant, outputs = 1, each = PRICE): Promise<string> {
  const id = await storing(db, tenant, outputs, each);
  for (let index = 0; index < outputs; index += 1) await store(db, id, { index });
  return id;
}

/** A generation that succeeded and was paid for. */
export async function captured(db: Db, tenant: Tenant, outputs = 1, each = PRICE): Promise<string> {
  const id = await delivered(db, tenant, outputs, each);
  await settle(db, id, SUCCEEDED);
  return id;
}

/** A generation whose job has failed at the provider; only the end is missing. */
export async function failedAtProvider(db: Db, tenant: Tenant, outputs = 1, each = PRICE): Promise<string> {
  const id = await accepted(db, tenant, sold(outputs, each));
  await observe(db, id, 'failed');
  return id;
}

export function refund(db: Db, generationId: string, reason: string, credits: number | null = null) {
  return refundGeneration(db, { generationId, credits, reason, note: 'told by mail', actor: 'ops' });
}

export function resolve(db: Db, generationId: string, state: 'failed' | 'succeeded') {
  const errorCode = state === 'failed' ? 'provider_failed' : null;
  return resolveGeneration(db, { generationId, state, errorCode, reason: 'looked into', actor: 'ops' });
}

/** What the ledger has for one generation, oldest first: kind and what it did to the account. */
export async function ledgerOf(db: Db, generationId: string): Promise<[string, number][]> {
  const rows = await db.prisma.ledgerTransaction.findMany({
    where: { generationId },
    include: { entries: true },
    orderBy: { id: 'asc' },
  });
  return rows.map(({ kind, entries }) => [
    kind,
    Number(entries.find(({ accountId }) => !accountId.startsWith('sys_'))?.amount ?? 0),
  ]);
}
