import type { CallbackVerdict } from '../domain/provider.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { isVideosEnd, type VideosReading } from './openaivideos-observation.ts';
import { video, videoEvent } from './openaivideos-schemas.ts';
import { verifyStandardWebhook } from './standard-webhooks.ts';

const PREFIX = /^video\./;

/** The job and the state that a body tells: an event like `video.completed`, or the job itself. */
function toldBy(body: unknown): { readonly jobId: string; readonly status: string } | null {
  const event = videoEvent.safeParse(body).data;
  if (event !== undefined) return { jobId: event.data.id, status: event.type.replace(PREFIX, '') };
  const job = video.safeParse(body).data;
  return job === undefined ? null : { jobId: job.id, status: job.status };
}

/** A callback; unsigned, only the token in our URL vouches for it, and nothing in it makes an identity. */
export function verifyVideosCallback(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
  { signed, reading }: { readonly signed: boolean; readonly reading: VideosReading },
): CallbackVerdict {
  const eventId = signed ? verifyStandardWebhook(headers, rawBody, secrets, nowMs) : null;
  if (signed && eventId === null) return { ok: false, reason: 'unverified' };
  const told = toldBy(parseJsonBytes(rawBody));
  if (told === null) return { ok: false, reason: 'malformed' };
  return {
    ok: true,
    jobId: told.jobId,
    eventId,
    type: `video.${safeCode(told.status)}`,
    terminal: isVideosEnd(told.status, reading),
    progress: null,
  };
}
