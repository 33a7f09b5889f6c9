import { takeTenantRequest, type TakenRequest } from '../db/index.ts';
import type { Principal } from './authenticate.ts';
import type { ServiceContext } from './context.ts';

/** Counts one request of the tenant against its present minute; null, and no statement, when it has no such limit. */
export async function takeRequest(
  ctx: Pick<ServiceContext, 'db'>,
  principal: Principal,
): Promise<TakenRequest | null> {
  const { tenantId, requestsLimited } = principal;
  return tenantId === null || !requestsLimited ? null : takeTenantRequest(ctx.db, tenantId);
}
