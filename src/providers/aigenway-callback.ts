import type { CallbackVerdict } from '../domain/provider.ts';
import { isAigenwayEnd } from './aigenway-observation.ts';
import { aigenwayEvent } from './aigenway-schemas.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { verifyRawHmac, type RawHmacScheme } from './raw-hmac.ts';

const TASK_HEADER = 'x-aggregator-task-id';

/**
 * Verifies `X-Aggregator-Signature` over the raw bytes; the unsigned task id header must name the same task as the
 * signed body. There is no event id and no time: the body's hash is the identity.
 */
export function verifyAigenwayCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  scheme: RawHmacScheme,
): CallbackVerdict {
  if (!verifyRawHmac(headers, rawBody, secrets, scheme)) return { ok: false, reason: 'unverified' };
  const event = aigenwayEvent.safeParse(parseJsonBytes(rawBody)).data;
  if (event === undefined) return { ok: false, reason: 'malformed' };
  const named = headers[TASK_HEADER];
  if (named !== undefined && named !== event.task_id) return { ok: false, reason: 'unverified' };
  return {
    ok: true,
    jobId: event.task_id,
    eventId: null,
    type: `generation.${safeCode(event.status)}`,
    terminal: isAigenwayEnd(event.status),
    progress: null,
  };
}
