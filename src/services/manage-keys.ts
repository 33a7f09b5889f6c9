import {
  addApiKey,
  findKey,
  findTenant,
  pageKeys,
  revokeKey,
  type ByOperator,
  type KeyRow,
} from '../db/administer.ts';
import { API_KEY_ID, apiKeyIdFor, makeApiKey, type Scope } from '../domain/api-key.ts';
import type { Position } from '../domain/http/cursor.ts';
import type { ServiceContext } from './context.ts';
import { pageOfRows, type RowPage } from './manage-tenants.ts';

type Context = Pick<ServiceContext, 'db'>;

export interface MakeKeyInput extends ByOperator {
  readonly idempotencyKey: string;
  /** Null = an operator's. */
  readonly tenantId: string | null;
  readonly scopes: readonly Scope[];
  readonly label: string;
  readonly expiresAt: Date | null;
}

/** A new key, once per idempotency key; its text is in the first answer only. */
export async function makeKey(
  ctx: Context,
  { idempotencyKey, actor, reason, ...wanted }: MakeKeyInput,
): Promise<
  | { readonly outcome: 'created'; readonly key: KeyRow; readonly text: string }
  | { readonly outcome: 'replayed'; readonly key: KeyRow }
  | { readonly outcome: 'key_reuse' | 'unknown_tenant' }
> {
  if (wanted.tenantId !== null && (await findTenant(ctx.db, wanted.tenantId)) === null) {
    return { outcome: 'unknown_tenant' };
  }
  const { id, sha256, text } = makeApiKey(apiKeyIdFor(idempotencyKey));
  const created = await addApiKey(ctx.db, { ...wanted, id, sha256 }, { actor, reason });
  const key = await findKey(ctx.db, id);
  if (key === null) throw new Error(`key ${id} is not there`);
  if (created) return { outcome: 'created', key, text };
  return isSame(key, wanted) ? { outcome: 'replayed', key } : { outcome: 'key_reuse' };
}

function isSame(
  key: KeyRow,
  wanted: Pick<MakeKeyInput, 'tenantId' | 'scopes' | 'label' | 'expiresAt'>,
): boolean {
  return (
    key.tenantId === wanted.tenantId &&
    key.label === wanted.label &&
    key.expiresAt?.getTime() === wanted.expiresAt?.getTime() &&
    key.scopes.join() === wanted.scopes.join()
  );
}

/** Newest first, without secrets or hashes; `tenantId` null = those of operators, undefined = all. */
export async function listKeys(
  ctx: Context,
  {
    limit,
    ...filter
  }: {
    readonly tenantId?: string | null | undefined;
    readonly after?: Position | undefined;
    readonly limit: number;
  },
): Promise<RowPage<KeyRow>> {
  return pageOfRows(await pageKeys(ctx.db, { ...filter, limit: limit + 1 }), limit);
}

/** Refuses a key from now on; whoever asks with that key itself must say so. A repeat changes nothing. */
export async function dropKey(
  ctx: Context,
  { id, own, ...by }: ByOperator & { readonly id: string; readonly own: boolean },
): Promise<
  | { readonly outcome: 'revoked' | 'revoked_before'; readonly key: KeyRow }
  | { readonly outcome: 'not_found' | 'own_key' }
> {
  if (!API_KEY_ID.test(id)) return { outcome: 'not_found' };
  if (!own && by.actor === `key:${id}`) return { outcome: 'own_key' };
  const revoked = await revokeKey(ctx.db, id, by);
  const key = await findKey(ctx.db, id);
  if (key === null) return { outcome: 'not_found' };
  return { outcome: revoked ? 'revoked' : 'revoked_before', key };
}
