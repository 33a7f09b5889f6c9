import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { namedInput, withParams, type MethodFields } from './submit-body.ts';

const VIDEO = {
  prompt: 'prompt',
  duration_seconds: 'duration',
  aspect_ratio: 'aspect_ratio',
  resolution: 'size',
} as const;

/** Crazyrouter's unified video format; `size` is like 1280x720. The image is `images[0]`. */
export const CRAZYROUTER_FIELDS = {
  'text-to-video': VIDEO,
  'image-to-video': { image_url: 'images', ...VIDEO },
} satisfies MethodFields;

/**
 * `POST /v1/video/create`; the callback URL is sent only where a member for it is configured.
 * @throws on a method or field that is not offered, and on params that the adapter sets itself
 */
export function buildCrazyrouterSubmit(job: SubmitJob, callbackMember: string | null): SubmitRequest {
  const { images, ...fields } = namedInput('crazyrouter', CRAZYROUTER_FIELDS, job);
  const callback: JsonObject =
    callbackMember === null || job.callbackUrl === null ? {} : { [callbackMember]: job.callbackUrl };
  const own: JsonObject = {
    ...fields,
    ...(images === undefined ? {} : { images: [images] }),
    model: job.providerModel,
    ...callback,
  };
  return {
    method: 'POST',
    path: '/v1/video/create',
    contentType: 'application/json',
    body: canonicalJson(withParams('crazyrouter', own, job.params)),
  };
}
