import type { CallbackVerdict } from '../../../src/domain/provider.ts';
import { parseJsonBytes, safeCode } from '../../../src/providers/json-answer.ts';
import { isTidewaterEnd } from './observation.ts';
import { tidewaterEvent } from './schemas.ts';

/** A callback of Tidewater. Nothing signs it: only the token in our own URL vouches for it, and it is no more than a hint. */
export function verifyTidewaterCallback(
  _headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
): CallbackVerdict {
  const event = tidewaterEvent.safeParse(parseJsonBytes(rawBody)).data;
  if (event === undefined) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: event.id ?? null,
    eventId: null,
    type: `job.${safeCode(event.status)}`,
    terminal: isTidewaterEnd(event.status),
    progress: null,
  };
}
