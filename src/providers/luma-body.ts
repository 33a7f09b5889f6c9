import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { inlineParts, isInlineMark } from './frozen-submit.ts';
import { modelInput, type FieldRules } from './model-fields.ts';
import { methodsOf, withParams, type MethodFields } from './submit-body.ts';

const VIDEO = {
  prompt: 'prompt',
  duration_seconds: 'duration',
  resolution: 'resolution',
  aspect_ratio: 'aspect_ratio',
} as const;

/** Which field becomes which member; those of VIDEO_OPTIONS stand inside `video`. There is no seed, no negative prompt. */
const FIELDS = {
  'text-to-video': VIDEO,
  'image-to-video': { image_url: 'start_frame', ...VIDEO },
  'text-to-image': { prompt: 'prompt', aspect_ratio: 'aspect_ratio' },
} as const satisfies MethodFields;

const TYPES = { 'text-to-video': 'video', 'image-to-video': 'video', 'text-to-image': 'image' } as const;

const RULES: FieldRules = {
  ...FIELDS['image-to-video'],
  duration_seconds: { name: 'duration', values: { 5: '5s', 10: '10s' } },
};

/** What Luma offers; which values a model takes is Luma's own list, so the catalogue names them. */
export const LUMA_METHODS = methodsOf(FIELDS);

/** A media reference: a link, or the file itself as bare base64 with its type. */
function mediaRef(url: JsonValue): JsonValue {
  if (typeof url !== 'string') return url;
  if (!isInlineMark(url)) return { url };
  const { base64, mediaType } = inlineParts(url);
  return { data: base64, media_type: mediaType };
}

function videoOptions(members: JsonObject, extra: JsonValue | undefined): JsonObject {
  if (extra === undefined) return members;
  if (typeof extra !== 'object' || extra === null || Array.isArray(extra)) {
    throw new Error(
      'luma: the catalogue route\'s params.video must be an object, for example {"loop": true}',
    );
  }
  return withParams('luma', members, extra as JsonObject);
}

/**
 * `POST /v1/generations`. A route's `params` add what only Luma has (`style`, `output_format`, `video.loop`, `user_id`); their
 * `$fields` write a field in another way (model-fields.ts).
 * @throws on a method or field that Luma does not take, and on params that set what the adapter or the input has set
 */
export function buildLumaSubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel } = job;
  const { start_frame, duration, resolution, video, ...others } = modelInput(
    'luma',
    job,
    LUMA_METHODS,
    RULES,
  );
  const members = {
    ...(duration === undefined ? {} : { duration }),
    ...(resolution === undefined ? {} : { resolution }),
    ...(start_frame === undefined ? {} : { start_frame: mediaRef(start_frame) }),
  };
  const options = videoOptions(members, video);
  const own = {
    model: providerModel,
    type: TYPES[method as keyof typeof TYPES],
    ...(Object.keys(options).length === 0 ? {} : { video: options }),
  };
  return {
    method: 'POST',
    path: '/v1/generations',
    contentType: 'application/json',
    body: canonicalJson(withParams('luma', own, others)),
  };
}
