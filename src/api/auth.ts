import type { IncomingMessage } from 'node:http';
import type { Scope } from '../domain/api-key.ts';
import { authenticate } from '../services/authenticate.ts';
import type { ServiceContext } from '../services/context.ts';
import { Problem } from './problems.ts';

const CHALLENGE = 'Bearer realm="darkroom"';

/**
 * The tenant of the key in `Authorization: Bearer dk_…`.
 * @throws Problem 401 with a challenge, or 403 for a key without the scope or without a tenant.
 */
export async function authenticateTenant(
  ctx: Pick<ServiceContext, 'db'>,
  request: IncomingMessage,
  scope: Scope,
): Promise<string> {
  // Node keeps the first of two Authorization lines; the distinct form shows both.
  const authorization = request.headersDistinct['authorization'] ?? [];
  const result = await authenticate(ctx, { authorization, scope });
  switch (result.outcome) {
    case 'missing':
      throw new Problem('api_key_missing', 'Send your API key: Authorization: Bearer dk_…', {
        headers: { 'WWW-Authenticate': CHALLENGE },
      });
    case 'invalid':
      throw new Problem('api_key_invalid', 'Check the key: it may be mistyped, cut, revoked or expired.', {
        headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token"` },
      });
    case 'forbidden':
      throw scopeProblem(scope);
    case 'authenticated':
      if (result.principal.tenantId === null) throw scopeProblem(scope);
      return result.principal.tenantId;
  }
}

function scopeProblem(scope: Scope): Problem {
  return new Problem('scope_missing', `Use a tenant's key with the scope "${scope}".`, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
