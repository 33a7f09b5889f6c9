import { canonicalJson, type JsonValue } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { modelInput, type FieldRules } from './model-fields.ts';
import { methodsOf, withParams, type MethodFields } from './submit-body.ts';

const OUTPUT = { duration_seconds: 'duration', resolution: 'resolution' } as const;

/** Which field becomes which member of MiniMax's body; prompt and image go into `content`. */
const FIELDS = {
  'text-to-video': { prompt: 'prompt', ...OUTPUT, aspect_ratio: 'ratio' },
  // The shape is the image's own: `ratio` is always `adaptive` there, so that it is left out.
  'image-to-video': { image_url: 'image_url', prompt: 'prompt', ...OUTPUT },
} as const satisfies MethodFields;

export const MINIMAX_METHODS = methodsOf(FIELDS);

const TIERS = ['480P', '768P', '2K'];
/** Its own spelling, or ours in lower case. */
const RESOLUTION = {
  name: 'resolution',
  values: Object.fromEntries(TIERS.flatMap((tier) => [tier, tier.toLowerCase()].map((key) => [key, tier]))),
};

/**
 * `POST /v2/video_generation`: `content` holds a text (the prompt) and, for image to video, the image as `first_frame`.
 * MiniMax cannot be without resolution and duration, nor text to video without ratio: by input or by the route's params.
 * @throws on a method, field or resolution that it does not take, and on params that set what the adapter sets
 */
export function buildMinimaxSubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel, callbackUrl } = job;
  const names: FieldRules | undefined =
    method === 'text-to-video' || method === 'image-to-video' ? FIELDS[method] : undefined;
  const rules = { ...names, resolution: RESOLUTION };
  const { prompt, image_url: url, ...output } = modelInput('minimax', job, MINIMAX_METHODS, rules);
  const content: JsonValue[] = [
    ...(prompt === undefined ? [] : [{ type: 'text', text: prompt }]),
    ...(url === undefined ? [] : [{ type: 'image_url', image_url: { url }, role: 'first_frame' }]),
  ];
  const callback = callbackUrl === null ? {} : { callback_url: callbackUrl };
  const own = { model: providerModel, content, ...callback };
  return {
    method: 'POST',
    path: '/v2/video_generation',
    contentType: 'application/json',
    body: canonicalJson(withParams('minimax', own, output)),
  };
}
