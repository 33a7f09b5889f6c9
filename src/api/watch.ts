import type { Request, Response } from 'express';
import { GENERATION_ID } from '../domain/ids.ts';
import { makeWatchToken, verifyWatchToken } from '../domain/watch-token.ts';
import type { ServiceContext } from '../services/context.ts';
import { Problem } from './problems.ts';
import type { Call, TenantCall } from './route.ts';

/** The actor of calls that a watch token opened. */
export const WATCHER = 'watch-token';

const EXPOSED = 'ETag, Retry-After, Preference-Applied, X-Request-Id';

/** Answers the preflight of a page that watches with a token; it tells nothing and needs none. */
export function openToWatchers(_request: Request, response: Response): void {
  response
    .status(204)
    .setHeader('Access-Control-Allow-Origin', '*')
    .setHeader('Access-Control-Allow-Methods', 'GET')
    .setHeader('Access-Control-Allow-Headers', 'If-None-Match, Last-Event-ID, Prefer')
    .setHeader('Access-Control-Max-Age', '7200')
    .end();
}

/**
 * The tenant whose generation `{id}` the call's `watch_token` opens; null without one, when a key is needed. Only such
 * answers, the refusal included, may be read from other origins. @throws Problem 401 for a token that is not valid.
 */
export function watchingTenant(
  ctx: Pick<ServiceContext, 'keyring' | 'nowMs'>,
  { params, query }: Call,
  response: Response,
): string | null {
  const token = query['watch_token'];
  if (token === undefined) return null;
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  const id = params['id'] ?? '';
  const tenantId =
    typeof token === 'string' && GENERATION_ID.test(id)
      ? verifyWatchToken(ctx.keyring, token, id, ctx.nowMs())
      : null;
  if (tenantId === null) {
    throw new Problem(
      'watch_token_invalid',
      'Take a fresh token from the Watch-Token header of an answer about this generation.',
      { headers: { 'WWW-Authenticate': 'Bearer realm="darkroom", error="invalid_token"' } },
    );
  }
  return tenantId;
}

/** `Watch-Token` for an answer that shows one generation to a tenant's key; none for who watches, or when it is over. */
export function watchTokenHeader(
  ctx: Pick<ServiceContext, 'keyring' | 'nowMs'>,
  { tenantId, actor }: Pick<TenantCall, 'tenantId' | 'actor'>,
  generation: { readonly id: string; readonly deadline_at: string },
): Record<string, string> {
  if (actor === WATCHER) return {};
  const { id, deadline_at: deadlineAt } = generation;
  const token = makeWatchToken(ctx.keyring, { tenantId, id, deadlineAt }, ctx.nowMs());
  return token === null ? {} : { 'Watch-Token': token };
}
