import type { CallbackVerdict } from '../domain/provider.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { looksLikeJwt, verifyJwt, type rsaKeys } from './jwt.ts';
import { isFreshTimestamp } from './signatures.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';
import { operationPath, veoEvent } from './veo-schemas.ts';

const TOLERANCE_SECONDS = 300;
const JTI = /^[\x21-\x7e]{1,200}$/;

/** What callbacks are verified with; see the head of veo.ts. */
export interface VeoCallbackProofs {
  /** Whom a webhook of a request is for, as its token says; null = none are asked for. */
  readonly isOurs: ((audience: string) => boolean) | null;
  readonly keys: ReturnType<typeof rsaKeys>;
  /** Whether the webhook of the project is expected. */
  readonly isStatic: boolean;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** An event as a hint. Its id counts only when it is an operation's whole name: nothing else finds a job of ours. */
function verdictOf(event: unknown, eventId: string): Extract<CallbackVerdict, { ok: true }> | null {
  const parsed = veoEvent.safeParse(event).data;
  if (parsed === undefined) return null;
  const { type, data } = parsed;
  return {
    ok: true,
    jobId: operationPath(data.id) === null ? null : data.id,
    eventId,
    type: safeCode(type),
    terminal: type.startsWith('video.'),
    progress: null,
  };
}

/**
 * The webhook of one request. Only the token is signed, so the body is not read: the job and the type come from its
 * claims, where it has them; else the token in our path names the submission, and that it came is hint enough.
 */
async function verifyDynamic(
  { isOurs, keys }: VeoCallbackProofs & { readonly isOurs: (audience: string) => boolean },
  headers: Headers,
  nowMs: number,
): Promise<CallbackVerdict> {
  if (!isFreshTimestamp(headers['webhook-timestamp'] ?? '', TOLERANCE_SECONDS, nowMs)) {
    return { ok: false, reason: 'unverified' };
  }
  const jwt = await verifyJwt(keys, headers['webhook-signature'] ?? '', isOurs, nowMs);
  if (typeof jwt === 'string') return { ok: false, reason: jwt };
  const { jti } = jwt.claims;
  const eventId = typeof jti === 'string' && JTI.test(jti) ? `jti:${jti}` : `jwt:${jwt.digest}`;
  return (
    verdictOf(jwt.claims, eventId) ?? {
      ok: true,
      jobId: null,
      eventId,
      type: 'unspecified',
      terminal: true,
      progress: null,
    }
  );
}

/** Verifies a callback of either way, by the form of its signature (webhooks page of the Gemini API). */
export async function verifyVeoCallback(
  proofs: VeoCallbackProofs,
  headers: Headers,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): Promise<CallbackVerdict> {
  const { isOurs, isStatic } = proofs;
  if (isOurs !== null && looksLikeJwt(headers['webhook-signature'] ?? '')) {
    return verifyDynamic({ ...proofs, isOurs }, headers, nowMs);
  }
  const eventId = isStatic ? verifyStandardWebhook(headers, rawBody, secrets, nowMs) : null;
  if (eventId === null) return { ok: false, reason: 'unverified' };
  return verdictOf(parseJsonBytes(rawBody), eventId) ?? { ok: false, reason: 'malformed' };
}
