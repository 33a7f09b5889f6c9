import type { InputField } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { bflSubmitPath } from './bfl-urls.ts';
import { inlineParts, isInlineMark } from './frozen-submit.ts';
import { modelInput } from './model-fields.ts';
import { methodsOf, withParams, type MethodFields } from './submit-body.ts';

const VIDEO = {
  prompt: 'prompt',
  duration_seconds: 'duration',
  resolution: 'resolution',
  aspect_ratio: 'aspect_ratio',
  audio: 'generate_audio',
} as const satisfies Partial<Record<InputField, string>>;

/** Which field becomes which member; a model with other names tells them in its route's `$fields`. */
const FIELDS = {
  'text-to-video': VIDEO,
  'image-to-video': { image_url: 'keyframes', ...VIDEO },
  // With an image it is an edit of that image.
  'text-to-image': {
    prompt: 'prompt',
    image_url: 'input_image',
    resolution: 'resolution',
    aspect_ratio: 'aspect_ratio',
    seed: 'seed',
  },
} as const satisfies MethodFields;

/** What BFL offers; which of the fields a model takes is BFL's own list, so the catalogue names them. */
export const BFL_METHODS = methodsOf(FIELDS);

/** What FLUX 3 video makes of what. */
const VIDEO_MODES: Readonly<Partial<Record<SubmitJob['method'], string>>> = {
  'text-to-video': 't2v',
  'image-to-video': 'i2v',
};

/** FLUX.2 takes a size and no shape: multiples of 16, about one megapixel, which is what its price is per. */
const SIZES: Readonly<Record<string, readonly [width: number, height: number]>> = {
  '1:1': [1024, 1024],
  '16:9': [1344, 768],
  '9:16': [768, 1344],
  '4:3': [1152, 864],
  '3:4': [864, 1152],
  '3:2': [1248, 832],
  '2:3': [832, 1248],
  '21:9': [1536, 656],
};

/** The input without a shape that the model has no member for, and the size that stands for it. */
function withSize({ providerModel, input }: SubmitJob): { input: JsonObject; size: JsonObject } {
  const { aspect_ratio: shape, ...others } = input;
  if (shape === undefined || !providerModel.startsWith('flux-2-')) return { input, size: {} };
  const size = typeof shape === 'string' && Object.hasOwn(SIZES, shape) ? SIZES[shape] : undefined;
  if (size === undefined) {
    throw new Error(
      `bfl: ${providerModel} takes no aspect_ratio of ${canonicalJson(shape)}: correct the catalogue`,
    );
  }
  return { input: others, size: { width: size[0], height: size[1] } };
}

/**
 * `POST /v1/{model}`. A route's `params` add what only the model has (`output_format`, `safety_tolerance`, `width`).
 * @throws on a method or field that BFL does not take, and on params that set what the input or we have set
 */
export function buildBflSubmit(job: SubmitJob): SubmitRequest {
  const { method, callbackUrl, callbackSecret } = job;
  const { input: shaped, size } = withSize(job);
  const { image_url: image } = shaped;
  const isMark = typeof image === 'string' && isInlineMark(image);
  const input = isMark ? { ...shaped, image_url: inlineParts(image).base64 } : shaped;
  const names = Object.hasOwn(FIELDS, method) ? FIELDS[method as keyof typeof FIELDS] : {};
  const fields = modelInput('bfl', { ...job, input }, BFL_METHODS, names);
  const mode = VIDEO_MODES[method];
  const own = {
    ...size,
    ...(mode === undefined ? {} : { mode }),
    ...(callbackUrl === null ? {} : { webhook_url: callbackUrl }),
    ...(callbackUrl === null || callbackSecret === undefined ? {} : { webhook_secret: callbackSecret }),
  };
  return {
    method: 'POST',
    path: bflSubmitPath(job.providerModel),
    contentType: 'application/json',
    body: canonicalJson(withParams('bfl', own, fields)),
  };
}
