import type { CallbackVerdict } from '../../../src/domain/provider.ts';
import { parseJsonBytes, safeCode } from '../../../src/providers/json-answer.ts';
import {
  anyDigestMatches,
  hmacSha256,
  isFreshTimestamp,
  parseTimestampedSignatures,
  sha256FromLowerHex,
  usableSecrets,
} from '../../../src/providers/signatures.ts';
import { isTidewaterEnd } from './observation.ts';
import { tidewaterEvent } from './schemas.ts';

// [change] how it signs: standard-webhooks.ts and raw-hmac.ts have the two other usual ways
const SIGNATURE_HEADER = 'tidewater-signature';
const TOLERANCE_SECONDS = 300;

/**
 * Verifies `Tidewater-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…]` over the raw bytes: lower-case hex HMAC-SHA256 of
 * `"{t}." + body`, keyed with the secret as it stands. Header names must be lower case. The body is read only after that;
 * a body that is then no event is `malformed`.
 */
export function verifyTidewaterCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): CallbackVerdict {
  const presented = parseTimestampedSignatures(headers[SIGNATURE_HEADER]);
  if (presented === null || !isFreshTimestamp(presented.timestamp, TOLERANCE_SECONDS, nowMs)) {
    return { ok: false, reason: 'unverified' };
  }
  const expected = usableSecrets(secrets).map((secret) =>
    hmacSha256(secret, [`${presented.timestamp}.`, rawBody]),
  );
  const digests = presented.signatures.flatMap((signature) => sha256FromLowerHex(signature) ?? []);
  if (!anyDigestMatches(expected, digests)) return { ok: false, reason: 'unverified' };

  const event = tidewaterEvent.safeParse(parseJsonBytes(rawBody)).data;
  if (event === undefined) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: event.id ?? null,
    // [change] its event id, where the signed body has one: null makes the body's hash the identity
    eventId: null,
    type: `job.${safeCode(event.status)}`,
    terminal: isTidewaterEnd(event.status),
    progress: null,
  };
}
