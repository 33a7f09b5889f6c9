import type { CallbackVerdict } from '../domain/provider.ts';
import { bflProgress, bflStatus, isBflEnd } from './bfl-observation.ts';
import { bflTask } from './bfl-schemas.ts';
import { parseJsonBytes } from './json-answer.ts';
import { verifyRawHmac } from './raw-hmac.ts';

/**
 * Verifies `sha256=` and the HMAC over the raw bytes, keyed with the secret that the submit named. There is no event id
 * and no time: the body's hash is the identity, and an old one sent again is a hint like any other.
 */
export function verifyBflCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  header: string,
): CallbackVerdict {
  const signed = headers[header]?.startsWith('sha256=') === true;
  if (!signed || !verifyRawHmac(headers, rawBody, secrets, { header, encoding: 'hex' })) {
    return { ok: false, reason: 'unverified' };
  }
  const task = bflTask.safeParse(parseJsonBytes(rawBody)).data;
  if (task?.id === undefined || task.id === null) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: task.id,
    eventId: null,
    type: bflStatus(task.status),
    terminal: isBflEnd(task.status),
    progress: bflProgress(task),
  };
}
