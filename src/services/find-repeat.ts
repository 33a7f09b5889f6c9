import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { ServiceContext } from './context.ts';
import { findStoredAnswer } from './find-stored-answer.ts';

export type Repeat =
  | { readonly outcome: 'replayed'; readonly generationId: string; readonly responseBody: string }
  | { readonly outcome: 'key_reuse' };

/** What a request is told from another by under the same key: route and canonical body; lower-case hex. */
export function requestDigest(route: string, request: JsonObject): string {
  return createHash('sha256')
    .update(`${route}\n${canonicalJson(request)}`)
    .digest('hex');
}

/** The answer that the key already stands for, or that it stands for another request; null when it is free. */
export async function findRepeat(
  { db }: Pick<ServiceContext, 'db'>,
  asked: {
    readonly tenantId: string;
    readonly route: string;
    readonly key: string;
    readonly request: JsonObject;
  },
): Promise<Repeat | null> {
  const { tenantId, route, key, request } = asked;
  const stored = await findStoredAnswer(db, { tenantId, idempotencyRoute: route, idempotencyKey: key });
  if (stored === null) return null;
  if (stored.requestSha256 !== requestDigest(route, request)) return { outcome: 'key_reuse' };
  return { outcome: 'replayed', generationId: stored.generationId, responseBody: stored.responseBody };
}
