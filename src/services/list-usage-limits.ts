import { listUsageLimits as readLimits, type ShownLimit } from '../db/index.ts';
import type { ServiceContext } from './context.ts';

/** The form of a tenant's id; anything else is answered like an unknown one. */
const TENANT_ID = /^ten_[0-9a-hjkmnp-tv-z]{26}$/;

/** All limits of a tenant, its own first, or null when there is no such tenant. */
export async function listUsageLimits(
  ctx: Pick<ServiceContext, 'db'>,
  tenantId: string,
): Promise<readonly ShownLimit[] | null> {
  if (!TENANT_ID.test(tenantId)) return null;
  const tenant = await ctx.db.prisma.tenant.findUnique({ where: { id: tenantId }, select: { id: true } });
  return tenant === null ? null : readLimits(ctx.db, tenantId);
}
