import type { NextFunction, Request, Response } from 'express';
import type { GenerationView } from '../../../domain/generation-view.ts';
import { Problem } from '../../problems.ts';
import { retryAfter } from '../generations/parts.ts';

/**
 * One answer for malformed, unknown, deleted and another tenant's ids, and for generations that are no videos.
 * @param path of the parameter that names it, where it is not the path of the call
 */
export function videoNotFound(path?: string): Problem {
  return new Problem(
    'video_not_found',
    'Check the id; GET /v1/videos lists yours. One that was deleted is gone.',
    path === undefined ? {} : { errors: [{ path, message: 'No video of yours has this id.' }] },
  );
}

/** When to look again, for every kind of client; nothing once it has ended. */
export function pollHeaders(generation: GenerationView): Record<string, string> {
  const after = retryAfter(generation);
  const seconds = after['Retry-After'];
  // The name that the official Python client's poll() reads (openai-python resources/videos.py).
  return seconds === undefined ? {} : { ...after, 'OpenAI-Poll-After-Ms': String(Number(seconds) * 1_000) };
}

const OTHER_CALLS = /^\/v1\/videos\/(?:edits|extensions|characters(?:\/[^/]*)?|[^/]+\/remix)$/;

/** What that API has and this one has not, some of it on paths that look like a video's. @throws Problem 404 */
export function refuseOtherVideoCalls(request: Request, _response: Response, next: NextFunction): void {
  if (OTHER_CALLS.test(request.path)) {
    throw new Problem(
      'not_found',
      'Edits, extensions, remixes and characters are not offered here: create a new video with POST /v1/videos.',
    );
  }
  next();
}
