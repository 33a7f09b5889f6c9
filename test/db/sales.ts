import { recordSubmission, settle } from '../../src/db/index.ts';
import type { Db, NewGeneration } from '../../src/db/index.ts';
import type { ProviderCost } from '../../src/domain/provider.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { reportUsage } from '../../src/services/report-usage.ts';
import type { UsageReport } from '../../src/services/report-usage.ts';
import { create, drop, observe, planFor, send, store } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';

/** What a generation of a report is made of; costs as the provider tells them. */
export interface Sale {
  readonly account?: string;
  readonly model?: string;
  readonly provider?: string;
  /** Files at 100 credits each; the last `lost` of them are never stored. */
  readonly outputs?: number;
  readonly lost?: number;
  readonly renderedSeconds?: number;
  /** Booked when it is sent; none when left out. */
  readonly estimate?: { readonly amount: string; readonly unit: string };
  readonly cost?: ProviderCost;
}

export const estimated = (amount: string, unit = 'USD') => ({ amount, unit });
export const billed = (amount: string, unit = 'USD'): ProviderCost => ({ amount, unit, final: true });

export function acceptAt(
  db: Db,
  id: string,
  cost: ProviderCost | null,
  ordinal = 1,
  jobId = `job-${id}-${ordinal}`,
) {
  return recordSubmission(db, {
    submissionId: submissionId(id, ordinal),
    kind: 'accepted',
    jobId,
    handle: { jobId },
    providerStatus: 'queued',
    cost,
    dueInMs: 60_000,
  });
}

/** A generation that is sent once and has a job; its id. */
export async function started(db: Db, tenant: Tenant, sale: Sale = {}): Promise<string> {
  const { account = 'default', model = 'infro-video', provider = 'infro', estimate } = sale;
  const plan = planFor(sale.outputs ?? 1, 100);
  const over: Partial<NewGeneration> = { account, model, provider, plan, credits: plan.creditsTotal };
  const id = await create(db, tenant, over);
  await send(db, id, { provider, estimatedCost: estimate ?? null });
  await acceptAt(db, id, null);
  return id;
}

/** A generation that was delivered and charged. */
export async function sold(db: Db, tenant: Tenant, sale: Sale = {}): Promise<string> {
  const id = await started(db, tenant, sale);
  await deliver(db, id, sale);
  return id;
}

/** Success observed, outputs stored, settled. */
export async function deliver(db: Db, id: string, sale: Sale = {}, ordinal = 1): Promise<void> {
  const { outputs = 1, lost = 0, renderedSeconds = 5, cost = null } = sale;
  await observe(db, id, 'succeeded', { outputCount: outputs, cost, submissionId: submissionId(id, ordinal) });
  for (let index = 0; index < outputs - lost; index += 1) {
    await store(db, id, { index, durationSeconds: renderedSeconds });
  }
  for (let index = outputs - lost; index < outputs; index += 1) await drop(db, id, index, 'lost');
  const { outcome } = await settle(db, id, { state: 'succeeded', errorCode: null });
  if (outcome !== 'settled') throw new Error(`settle said ${outcome}`);
}

/** A generation whose job failed at the provider. */
export async function failed(db: Db, tenant: Tenant, sale: Sale = {}): Promise<string> {
  const id = await started(db, tenant, sale);
  await observe(db, id, 'failed', { cost: sale.cost ?? null });
  await settle(db, id, { state: 'failed', errorCode: 'provider_failed' });
  return id;
}

/** Moves what the clock of the database wrote to given moments, past every guard. */
export async function moveTo(
  db: Db,
  id: string,
  times: {
    readonly created?: string;
    readonly sent?: string;
    readonly captured?: string;
    readonly refunded?: string;
  },
): Promise<void> {
  const entriesOf = (kind: string, at: string) =>
    `UPDATE ledger_entry e SET created_at = '${at}' FROM ledger_transaction t
     WHERE t.id = e.transaction_id AND t.generation_id = '${id}' AND t.kind = '${kind}'`;
  await db.prisma.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('SET LOCAL session_replication_role = replica');
    const { created, sent, captured, refunded } = times;
    if (created !== undefined) {
      await tx.$executeRawUnsafe(`UPDATE generation SET created_at = '${created}' WHERE id = '${id}'`);
    }
    if (sent !== undefined) {
      await tx.$executeRawUnsafe(
        `UPDATE submission SET first_sent_at = '${sent}' WHERE generation_id = '${id}' AND first_sent_at IS NOT NULL`,
      );
    }
    if (captured !== undefined) await tx.$executeRawUnsafe(entriesOf('capture', captured));
    if (refunded !== undefined) await tx.$executeRawUnsafe(entriesOf('refund', refunded));
  });
}

/** The report, which must not be refused. */
export async function reportOf(
  db: Db,
  input: Partial<Parameters<typeof reportUsage>[1]> = {},
): Promise<UsageReport> {
  const found = await reportUsage({ db }, { from: null, to: null, by: [], tenantId: null, ...input });
  if (found.outcome !== 'reported') throw new Error(`the report said ${found.outcome}`);
  return found.report;
}
