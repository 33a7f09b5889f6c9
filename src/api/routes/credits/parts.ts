import { z } from 'zod';
import { accountSchema } from '../../../domain/generation-request.ts';
import { Problem } from '../../problems.ts';

/** The path parameter of every route of one account. */
export const accountParams = z.object({ account: accountSchema });

/** The account that `/v1/credits…` speaks of. */
export const DEFAULT_ACCOUNT = 'default';

export function isAccountName(name: string): boolean {
  return accountSchema.safeParse(name).success;
}

/** One answer for malformed, unknown and another tenant's names. */
export function accountNotFound(): Problem {
  return new Problem('account_not_found', 'Check the name; an account begins with its first grant.');
}
