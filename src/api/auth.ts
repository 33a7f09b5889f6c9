import type { IncomingMessage } from 'node:http';
import type { Scope } from '../domain/api-key.ts';
import { authenticate, type Principal } from '../services/authenticate.ts';
import type { ServiceContext } from '../services/context.ts';
import { Problem } from './problems.ts';

const CHALLENGE = 'Bearer realm="darkroom"';

/** Who sends the key in `Authorization: Bearer dk_…`. @throws Problem 401 with a challenge. */
export async function authenticateKey(
  ctx: Pick<ServiceContext, 'db'>,
  request: IncomingMessage,
): Promise<Principal> {
  // Node keeps the first of two Authorization lines; the distinct form shows both.
  const result = await authenticate(ctx, request.headersDistinct['authorization'] ?? []);
  switch (result.outcome) {
    case 'missing':
      throw new Problem('api_key_missing', 'Send your API key: Authorization: Bearer dk_…', {
        headers: { 'WWW-Authenticate': CHALLENGE },
      });
    case 'invalid':
      throw new Problem('api_key_invalid', 'Check the key: it may be mistyped, cut, revoked or expired.', {
        headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token"` },
      });
    case 'authenticated':
      return result.principal;
  }
}

/** The tenant of a key with this scope. @throws Problem 403, also for an operator's key. */
export function tenantOf({ tenantId, scopes }: Principal, scope: Scope): string {
  if (tenantId === null || !scopes.includes(scope)) {
    throw scopeProblem(scope, `Use a tenant's key with the scope "${scope}".`);
  }
  return tenantId;
}

/** Refuses every key but an operator's. @throws Problem 403. */
export function assertOperator({ tenantId, scopes }: Principal): void {
  if (tenantId === null && scopes.includes('admin')) return;
  throw scopeProblem(
    'admin',
    'Use an operator\'s key: one with the scope "admin", which belongs to no tenant.',
  );
}

/** Who did something, for the record: the key, by its public id. */
export function actorOf({ keyId }: Principal): string {
  return `key:${keyId}`;
}

function scopeProblem(scope: Scope, detail: string): Problem {
  return new Problem('scope_missing', detail, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
