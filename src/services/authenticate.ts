import { findApiKey } from '../db/index.ts';
import { apiKeyMatches, parseApiKey } from '../domain/api-key.ts';
import type { ServiceContext } from './context.ts';

/** Who calls: one key of one tenant (null = an operator's key). */
export interface Principal {
  readonly keyId: string;
  readonly tenantId: string | null;
  readonly scopes: readonly string[];
  /** The tenant's requests are counted: see `takeRequest`. */
  readonly requestsLimited: boolean;
}

export type Authentication =
  | { readonly outcome: 'authenticated'; readonly principal: Principal }
  | { readonly outcome: 'missing' | 'invalid' };

/**
 * Reads the `Authorization` header lines. Anything that can't be a key of ours is refused without the database;
 * wrong, revoked and unknown keys are one outcome. What the key may do is for the caller to check.
 */
export async function authenticate(
  ctx: Pick<ServiceContext, 'db'>,
  authorization: readonly string[],
): Promise<Authentication> {
  const [header] = authorization;
  if (header === undefined) return { outcome: 'missing' };
  if (authorization.length > 1) return { outcome: 'invalid' };
  const text = /^Bearer +(\S{1,128})$/i.exec(header)?.[1];
  const presented = text === undefined ? null : parseApiKey(text);
  if (presented === null) return { outcome: 'invalid' };
  const stored = await findApiKey(ctx.db, presented.id);
  if (stored === null || !apiKeyMatches(presented, stored.secretSha256)) return { outcome: 'invalid' };
  const { id, tenantId, scopes, requestsLimited } = stored;
  return { outcome: 'authenticated', principal: { keyId: id, tenantId, scopes, requestsLimited } };
}
