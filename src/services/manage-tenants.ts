import { addTenant, findTenant, pageTenants, type ByOperator, type TenantRow } from '../db/administer.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import { newId, tenantIdFor } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';

type Context = Pick<ServiceContext, 'db'>;

/** A page of rows, newest first. */
export interface RowPage<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

/**
 * A new tenant with its `default` account, once per idempotency key. `key_reuse` = the key stands for another name.
 */
export async function makeTenant(
  ctx: Context,
  { name, idempotencyKey, ...by }: ByOperator & { readonly name: string; readonly idempotencyKey: string },
): Promise<
  { readonly outcome: 'created' | 'replayed'; readonly tenant: TenantRow } | { readonly outcome: 'key_reuse' }
> {
  const id = tenantIdFor(idempotencyKey);
  const created = await addTenant(ctx.db, { id, name, accountId: newId('acc') }, by);
  const tenant = await findTenant(ctx.db, id);
  if (tenant === null) throw new Error(`tenant ${id} is not there`);
  if (created) return { outcome: 'created', tenant };
  return tenant.name === name ? { outcome: 'replayed', tenant } : { outcome: 'key_reuse' };
}

/** All tenants, newest first. */
export async function listTenants(
  ctx: Context,
  { after, limit }: { readonly after?: Position | undefined; readonly limit: number },
): Promise<RowPage<TenantRow>> {
  return pageOfRows(await pageTenants(ctx.db, { after, limit: limit + 1 }), limit);
}

/** Of one row more than asked for, which tells whether there is another page. */
export function pageOfRows<T extends Position>(rows: readonly T[], limit: number): RowPage<T> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > page.length && last !== undefined ? encodeCursor(last) : null };
}
