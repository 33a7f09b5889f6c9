import { insertTenant } from '../db/index.ts';
import { newId } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';

/** A new tenant with its `default` account, which has no credits yet. */
export async function createTenant(
  ctx: Pick<ServiceContext, 'db'>,
  input: { readonly name: string },
): Promise<{ readonly id: string }> {
  const id = newId('ten');
  await insertTenant(ctx.db, { id, name: input.name, accountId: newId('acc') });
  return { id };
}
