import type { ServerResponse } from 'node:http';
import { rateLimitHeaders, retryAfterSeconds } from '../domain/http/rate-limit.ts';
import type { Principal } from '../services/authenticate.ts';
import type { ServiceContext } from '../services/context.ts';
import type { CreateGenerationOutcome } from '../services/create-generation.ts';
import { takeRequest } from '../services/take-request.ts';
import { Problem, type ProblemCode } from './problems.ts';

type LimitReached = Extract<CreateGenerationOutcome, { readonly outcome: 'limit_reached' }>;

const WINDOW_SECONDS = 60;

const CODES: Readonly<Record<LimitReached['limit'], ProblemCode>> = {
  generations_in_flight: 'too_many_generations',
  credits_per_day: 'daily_credits_reached',
  requests_per_minute: 'rate_limited',
  cancels_per_day: 'daily_cancels_reached',
};

function adviceFor({ limit, max, scope }: Pick<LimitReached, 'limit' | 'max' | 'scope'>): string {
  const whose = scope === 'tenant' ? 'Your tenant' : 'This account';
  switch (limit) {
    case 'generations_in_flight':
      return `${whose} may have ${max} generations at once: wait until one has ended, or cancel one, then send the same request again.`;
    case 'credits_per_day':
      return `${whose} may spend ${max} credits a day (UTC), held ones included: send the same request again tomorrow, or ask your operator.`;
    case 'requests_per_minute':
      return `${whose} may send ${max} requests a minute: wait for the seconds in Retry-After, then send the same request again.`;
    case 'cancels_per_day':
      return `${whose} may cancel ${max} generations a day (UTC) that a provider has begun: let this one end, or ask your operator.`;
  }
}

/** What a limit that is reached answers: 429 with the time after which the same request may pass. */
export function limitProblem({ limit, scope, max, retryInMs }: Omit<LimitReached, 'outcome'>): Problem {
  return new Problem(CODES[limit], adviceFor({ limit, max, scope }), {
    headers: { 'Retry-After': retryAfterSeconds(retryInMs) },
    extensions: { limit, scope, max },
  });
}

/**
 * Counts the call of a tenant that has a limit of requests a minute, and says in the headers of the answer what is left.
 * @throws Problem 429 when nothing was left.
 */
export async function countRequest(
  ctx: Pick<ServiceContext, 'db'>,
  principal: Principal,
  response: ServerResponse,
): Promise<void> {
  const taken = await takeRequest(ctx, principal);
  if (taken === null) return;
  const { allowed, limit, remaining, resetInMs } = taken;
  const quota = { policy: 'tenant', limit, windowSeconds: WINDOW_SECONDS, remaining, resetInMs };
  for (const [name, value] of Object.entries(rateLimitHeaders(quota))) response.setHeader(name, value);
  if (allowed) return;
  throw limitProblem({ limit: 'requests_per_minute', scope: 'tenant', max: limit, retryInMs: resetInMs });
}
