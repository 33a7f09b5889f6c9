import { findInputs } from '../db/index.ts';
import { INPUT_ID } from '../domain/ids.ts';
import { viewInput, type InputView } from '../domain/input-view.ts';
import type { ServiceContext } from './context.ts';

/** A stored input, or null: malformed, unknown, deleted and another tenant's ids are one answer. */
export async function getInput(
  ctx: Pick<ServiceContext, 'db'>,
  { tenantId, id }: { readonly tenantId: string; readonly id: string },
): Promise<InputView | null> {
  if (!INPUT_ID.test(id)) return null;
  const [row] = await findInputs(ctx.db, tenantId, [id]);
  return row === undefined ? null : viewInput(row);
}
