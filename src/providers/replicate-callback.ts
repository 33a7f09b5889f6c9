import type { CallbackVerdict } from '../domain/provider.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { isReplicateEnd } from './replicate-observation.ts';
import { replicatePrediction } from './replicate-schemas.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';

/**
 * Verifies a callback by Standard Webhooks; its body is the bare prediction. The secret is the account's, from
 * `GET /v1/webhooks/default/secret`. The event's id is the signed `webhook-id`: the body has none.
 */
export function verifyReplicateCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): CallbackVerdict {
  const eventId = verifyStandardWebhook(headers, rawBody, secrets, nowMs);
  if (eventId === null) return { ok: false, reason: 'unverified' };
  const prediction = replicatePrediction.safeParse(parseJsonBytes(rawBody));
  if (!prediction.success) return { ok: false, reason: 'malformed' };
  const { id, status } = prediction.data;
  return {
    ok: true,
    jobId: id,
    eventId,
    type: `prediction.${safeCode(status)}`,
    terminal: isReplicateEnd(status),
    progress: null,
  };
}
