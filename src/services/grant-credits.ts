import { grantCredits as recordGrant, type Granted } from '../db/index.ts';
import { newId } from '../domain/ids.ts';
import type { ServiceContext } from './context.ts';

/** Credits into an account, which is made by its first grant; once per business key of the tenant. */
export function grantCredits(
  ctx: Pick<ServiceContext, 'db'>,
  input: {
    readonly tenantId: string;
    readonly account: string;
    readonly credits: number;
    readonly businessKey: string;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<Granted> {
  return recordGrant(ctx.db, { ...input, accountId: newId('acc') });
}
