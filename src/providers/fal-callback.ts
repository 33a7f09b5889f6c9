import { createHash, verify } from 'node:crypto';
import type { CallbackVerdict } from '../domain/provider.ts';
import type { FalKeys } from './fal-keys.ts';
import { falCallback } from './fal-schemas.ts';
import { parseJsonBytes } from './json-answer.ts';
import { equalsConstantTime, isFreshTimestamp, usableSecrets } from './signatures.ts';

const TOLERANCE_SECONDS = 300;
const ENDS: ReadonlySet<string> = new Set(['OK', 'ERROR']);
const VISIBLE = /^[\x21-\x7e]{1,255}$/;
const UNVERIFIED = { ok: false, reason: 'unverified' } as const;

/** fal signs for all its customers with the same keys: only our own user id makes a callback ours. */
function isOurs(userId: string, userIds: readonly string[]): boolean {
  const presented = Buffer.from(userId);
  return usableSecrets(userIds).some((own) => equalsConstantTime(Buffer.from(own), presented));
}

/**
 * Verifies a callback of fal (providers.md §5): hex Ed25519 over request id, user id, timestamp and the SHA-256 of the
 * raw body, a line each; ±5 minutes. `userIds` are our accounts' ids at fal. Header names must be lower case.
 */
export async function verifyFalCallback(
  keys: FalKeys,
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  userIds: readonly string[],
  nowMs: number,
): Promise<CallbackVerdict> {
  const requestId = headers['x-fal-webhook-request-id'] ?? '';
  const userId = headers['x-fal-webhook-user-id'] ?? '';
  const timestamp = headers['x-fal-webhook-timestamp'] ?? '';
  const signature = headers['x-fal-webhook-signature'] ?? '';
  if (!VISIBLE.test(requestId) || !VISIBLE.test(userId) || !/^[0-9a-f]{128}$/.test(signature))
    return UNVERIFIED;
  if (!isFreshTimestamp(timestamp, TOLERANCE_SECONDS, nowMs) || !isOurs(userId, userIds)) return UNVERIFIED;

  const digest = createHash('sha256').update(rawBody).digest('hex');
  const message = Buffer.from([requestId, userId, timestamp, digest].join('\n'));
  const bytes = Buffer.from(signature, 'hex');
  const verdict = await keys.verify((key) => verify(null, message, key, bytes), nowMs);
  if (verdict !== 'verified') return { ok: false, reason: verdict };

  const event = falCallback.safeParse(parseJsonBytes(rawBody));
  if (!event.success || event.data.request_id !== requestId) return { ok: false, reason: 'malformed' };
  const { status } = event.data;
  return {
    ok: true,
    jobId: requestId,
    // One request ends once, so that a re-send is known also when its body differs.
    eventId: `${requestId}.${status}`,
    type: status,
    terminal: ENDS.has(status),
    progress: null,
  };
}
