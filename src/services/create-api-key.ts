import { insertApiKey } from '../db/index.ts';
import { makeApiKey, type Scope } from '../domain/api-key.ts';
import type { ServiceContext } from './context.ts';

/** A new key of a tenant (null = an operator's). `text` is returned this once; only its hash is kept. */
export async function createApiKey(
  ctx: Pick<ServiceContext, 'db'>,
  input: { readonly tenantId: string | null; readonly scopes: readonly Scope[]; readonly label: string },
): Promise<{ readonly id: string; readonly text: string }> {
  const { id, sha256, text } = makeApiKey();
  const { tenantId, scopes, label } = input;
  await insertApiKey(ctx.db, { id, tenantId, secretSha256: sha256, scopes, label });
  return { id, text };
}
