import { updateWebhookEndpoint, redeliverWebhooks } from '../db/index.ts';
import { recordAction, type ByOperator } from '../db/administer.ts';
import {
  findEndpointTenant,
  findOperatedDelivery,
  listOperatedDeliveries,
  listOperatedEndpoints,
  type OperatedDelivery,
} from '../db/operated-webhooks.ts';
import { asTrial, inTransaction } from '../db/transaction.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import { ENDPOINT_ID } from '../domain/ids.ts';
import type { OperatedDeliveryDetail, OperatedDeliveryView } from '../domain/operated-webhook.ts';
import type { ServiceContext } from './context.ts';
import { originOf } from './show-generation.ts';
import { deliveryNumber, viewDelivery, viewDeliveryDetail } from './webhook-views.ts';

const SHOWN_ATTEMPTS = 50;
/** Deliveries that one call makes due again. */
const REDELIVER_LIMIT = 10_000;

type Context = Pick<ServiceContext, 'db' | 'runUrl'>;

export interface ListOperatedDeliveriesInput {
  readonly tenantId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly state?: string | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

/** Webhook deliveries of all tenants, newest first. */
export async function listDeliveries(
  ctx: Context,
  { after, limit, ...filter }: ListOperatedDeliveriesInput,
): Promise<{
  readonly data: readonly OperatedDeliveryView[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}> {
  const beforeId = after === undefined ? undefined : (deliveryNumber(after.id) ?? undefined);
  const rows = await listOperatedDeliveries(ctx.db, { ...filter, beforeId, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > page.length && last !== undefined;
  return {
    data: page.map((row) => view(ctx, row)),
    has_more: more,
    next_cursor: more ? encodeCursor({ createdAt: last.createdAt, id: `whd_${last.id}` }) : null,
  };
}

/** One delivery with its last attempts, null when there is none; what the receiver answered is left out. */
export async function showDelivery(ctx: Context, id: string): Promise<OperatedDeliveryDetail | null> {
  const number = deliveryNumber(id);
  const row = number === null ? null : await findOperatedDelivery(ctx.db, number, SHOWN_ATTEMPTS);
  if (row === null) return null;
  const { tries } = viewDeliveryDetail(row);
  return { ...view(ctx, row), tries: tries.map(({ answer: _answer, ...attempt }) => attempt) };
}

/** An endpoint of any tenant: of its address only the origin. */
export interface ListedEndpoint {
  readonly id: string;
  readonly tenant: string;
  readonly receiver: string | null;
  readonly description: string;
  readonly state: 'enabled' | 'disabled';
  readonly disabled_reason: string | null;
  /** Since when every attempt has failed; null while it works. */
  readonly failing_since: string | null;
  /** Until when its circuit lets nothing through. */
  readonly open_until: string | null;
  readonly created_at: string;
  /** Deliveries by state. */
  readonly pending: number;
  readonly failed: number;
  readonly held: number;
}

/** Endpoints of all tenants or of one, newest first. */
export async function listEndpoints(
  ctx: Pick<ServiceContext, 'db'>,
  filter: Parameters<typeof listOperatedEndpoints>[1],
): Promise<ListedEndpoint[]> {
  return (await listOperatedEndpoints(ctx.db, filter)).map((row) => ({
    id: row.id,
    tenant: row.tenantId,
    receiver: originOf(row.url),
    description: row.description,
    state: row.disabledAt === null ? 'enabled' : 'disabled',
    disabled_reason: row.disabledReason,
    failing_since: row.failingSince?.toISOString() ?? null,
    open_until: row.openUntil?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    pending: row.pending,
    failed: row.failed,
    held: row.held,
  }));
}

type Refused = {
  readonly outcome: 'not_found' | 'endpoint_disabled' | 'endpoint_deleted';
  readonly endpointId: string | null;
};

/** Sends one delivery again with the schedule from its start, and keeps who asked for it. */
export async function redeliverAsOperator(
  ctx: Context,
  { id, dryRun, ...by }: ByOperator & { readonly id: string; readonly dryRun: boolean },
): Promise<{ readonly outcome: 'redelivering'; readonly delivery: OperatedDeliveryDetail } | Refused> {
  const number = deliveryNumber(id);
  if (number === null) return { outcome: 'not_found', endpointId: null };
  return (dryRun ? asTrial : inTransaction)(ctx.db, async (db) => {
    const found = await findOperatedDelivery(db, number, 0);
    if (found === null) return { outcome: 'not_found', endpointId: null };
    const { tenantId, endpointId } = found;
    const result = await redeliverWebhooks(db, { tenantId, deliveryId: Number(number) });
    if (result.outcome !== 'redelivering') return { outcome: result.outcome, endpointId };
    await recordAction(db, {
      ...by,
      kind: 'redeliver',
      tenantId,
      generationId: found.event.generationId,
      detail: { delivery: id, endpoint: endpointId },
    });
    const delivery = await showDelivery({ ...ctx, db }, id);
    return delivery === null ? { outcome: 'not_found', endpointId } : { outcome: 'redelivering', delivery };
  });
}

/** Sends again what an endpoint missed since a time (with `all`, also what it took), oldest first, at most 10000 at once. */
export async function redeliverEndpoint(
  ctx: Pick<ServiceContext, 'db'>,
  input: ByOperator & {
    readonly endpointId: string;
    /** ISO 8601. */
    readonly since: string;
    readonly all: boolean;
    readonly dryRun: boolean;
  },
): Promise<
  { readonly outcome: 'redelivering'; readonly count: number; readonly next: string | null } | Refused
> {
  const { endpointId, since, all, dryRun, actor, reason } = input;
  const tenantId = ENDPOINT_ID.test(endpointId) ? await findEndpointTenant(ctx.db, endpointId) : null;
  if (tenantId === null) return { outcome: 'not_found', endpointId };
  return (dryRun ? asTrial : inTransaction)(ctx.db, async (db) => {
    const params = { tenantId, endpointId, since, all, limit: REDELIVER_LIMIT };
    const result = await redeliverWebhooks(db, params);
    if (result.outcome !== 'redelivering') return { outcome: result.outcome, endpointId };
    const { count, next } = result;
    await recordAction(db, {
      actor,
      reason,
      kind: 'redeliver',
      tenantId,
      generationId: null,
      detail: { endpoint: endpointId, since, all, count },
    });
    return { outcome: 'redelivering', count, next };
  });
}

/** Enables an endpoint that was disabled; what it missed stays held until it is asked for. */
export async function enableEndpoint(
  ctx: Pick<ServiceContext, 'db'>,
  { endpointId, dryRun, ...by }: ByOperator & { readonly endpointId: string; readonly dryRun: boolean },
): Promise<'enabled' | 'not_found'> {
  const tenantId = ENDPOINT_ID.test(endpointId) ? await findEndpointTenant(ctx.db, endpointId) : null;
  if (tenantId === null) return 'not_found';
  return (dryRun ? asTrial : inTransaction)(ctx.db, async (db) => {
    const { outcome } = await updateWebhookEndpoint(db, { endpointId, tenantId, enabled: true });
    if (outcome === 'not_found') return outcome;
    await recordAction(db, {
      ...by,
      kind: 'enable_endpoint',
      tenantId,
      generationId: null,
      detail: { endpoint: endpointId },
    });
    return 'enabled';
  });
}

function view({ runUrl }: Context, row: OperatedDelivery): OperatedDeliveryView {
  const { generationId, generation } = row.event;
  return {
    ...viewDelivery(row),
    tenant: row.tenantId,
    receiver: originOf(row.endpoint === null ? (generation?.callbackUrl ?? null) : row.endpoint.url),
    temporal_url: generationId === null ? null : runUrl(generationId),
  };
}
