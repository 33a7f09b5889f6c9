import type { CallbackVerdict } from '../domain/provider.ts';
import { infroEvent } from './infro-schemas.ts';
import { parseJsonBytes } from './json-answer.ts';
import {
  anyDigestMatches,
  hmacSha256,
  isFreshTimestamp,
  parseTimestampedSignatures,
  sha256FromLowerHex,
  usableSecrets,
} from './signatures.ts';

const SIGNATURE_HEADER = 'infro-signature';
const TOLERANCE_SECONDS = 300;
const TERMINAL_TYPES: ReadonlySet<string> = new Set(['job.succeeded', 'job.failed', 'job.canceled']);

/**
 * Verifies `INFRO-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…]` over the raw bytes: lower-case hex HMAC-SHA256 of
 * `"{t}." + body`, keyed with the whole secret including `whsec_` (providers.md §2). Header names must be lower case.
 * The body is read only after that; a body that is then no event is `malformed`.
 */
export function verifyInfroCallback(
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

  const event = infroEvent.safeParse(parseJsonBytes(rawBody));
  if (!event.success) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: event.data.data.id ?? null,
    eventId: event.data.id ?? null,
    type: event.data.type,
    terminal: TERMINAL_TYPES.has(event.data.type),
    progress: null,
  };
}
