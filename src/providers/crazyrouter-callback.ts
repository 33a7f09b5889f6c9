import type { CallbackVerdict } from '../domain/provider.ts';
import { isCrazyrouterEnd, type CrazyrouterReading } from './crazyrouter-observation.ts';
import { crazyrouterTask } from './crazyrouter-schemas.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { verifyRawHmac, type RawHmacScheme } from './raw-hmac.ts';

/** A callback with the task as body; `signature` null = only the token in our URL vouches for it. */
export function verifyCrazyrouterCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  { signature, reading }: { readonly signature: RawHmacScheme | null; readonly reading: CrazyrouterReading },
): CallbackVerdict {
  if (signature !== null && !verifyRawHmac(headers, rawBody, secrets, signature)) {
    return { ok: false, reason: 'unverified' };
  }
  const task = crazyrouterTask.safeParse(parseJsonBytes(rawBody)).data;
  if (task === undefined) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: task.id,
    eventId: null,
    type: `video.${safeCode(task.status)}`,
    terminal: isCrazyrouterEnd(task.status, reading),
    progress: null,
  };
}
