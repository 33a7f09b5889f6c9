import type { InputField } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { formData } from './form-data.ts';
import { modelInput, type FieldRules } from './model-fields.ts';
import { methodsOf, withParams, type MethodFields } from './submit-body.ts';

const NAME = 'openaivideos';

/** OpenAI takes prompt, seconds, size and the image only; the others are what aggregators add, under usual names. */
const VIDEO = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  duration_seconds: 'seconds',
  resolution: 'size',
  aspect_ratio: 'aspect_ratio',
  audio: 'generate_audio',
  seed: 'seed',
} as const satisfies Partial<Record<InputField, string>>;
const FIELDS = {
  'text-to-video': VIDEO,
  'image-to-video': { image_url: 'input_reference', ...VIDEO },
} satisfies MethodFields;

export const VIDEOS_METHODS = methodsOf(FIELDS);

const RULES: FieldRules = {
  ...FIELDS['image-to-video'],
  duration_seconds: { name: 'seconds', text: '{}' },
};

/** Sizes by resolution and shape: OpenAI's four, and 1080p of others. */
const SIZES = new Map([
  ['720p 16:9', '1280x720'],
  ['720p 9:16', '720x1280'],
  ['1024p 16:9', '1792x1024'],
  ['1024p 9:16', '1024x1792'],
  ['1080p 16:9', '1920x1080'],
  ['1080p 9:16', '1080x1920'],
]);
const DEFAULT_RESOLUTION = '720p';
const DEFAULT_SHAPE = '16:9';
const SIZE = /^\d{2,5}x\d{2,5}$/;

export interface VideosBody {
  readonly format: 'multipart' | 'json';
  readonly path: string;
  /** `object`: `{image_url}`, as OpenAI takes it; `text`: the URL itself. */
  readonly inputReference: 'object' | 'text';
  readonly callbackMember: string | null;
}

const wordOf = (value: JsonValue): string => (typeof value === 'string' ? value : canonicalJson(value));

/** The size that resolution and shape stand for; null for neither. @throws where the table has none */
function sizeOf(resolution: JsonValue | undefined, shape: JsonValue | undefined): string | null {
  if (resolution === undefined && shape === undefined) return null;
  const [size, other] = [resolution, shape].filter((value) => value !== undefined);
  if (other === undefined && typeof size === 'string' && SIZE.test(size)) return size;
  const wanted = `${wordOf(resolution ?? DEFAULT_RESOLUTION)} ${wordOf(shape ?? DEFAULT_SHAPE)}`;
  const found = SIZES.get(wanted);
  if (found === undefined) {
    throw new Error(
      `${NAME} has no size for ${wanted}: correct the catalogue (a resolution like 1280x720 without aspect_ratio, or params.$fields)`,
    );
  }
  return found;
}

/** The fields that the route writes in a way of its own. */
function ownFields({ $fields }: JsonObject): readonly string[] {
  return typeof $fields === 'object' && $fields !== null ? Object.keys($fields) : [];
}

/** Resolution and shape as one size, unless the route has names for them. */
function sized(input: JsonObject, own: readonly string[]): JsonObject {
  if (own.includes('resolution') || own.includes('aspect_ratio')) return input;
  const { resolution, aspect_ratio: shape, ...others } = input;
  const size = sizeOf(resolution, shape);
  return size === null ? others : { ...others, resolution: size };
}

/**
 * `POST /v1/videos`. A route's `params` add what only its model has; their `$fields` write a field in another way
 * (model-fields.ts). @throws on a method or field that is not offered, and on params that the adapter sets itself
 */
export function buildVideosSubmit(job: SubmitJob, body: VideosBody): SubmitRequest {
  const own = ownFields(job.params);
  const input = modelInput(NAME, { ...job, input: sized(job.input, own) }, VIDEOS_METHODS, RULES);
  const { input_reference: image } = input;
  const asObject =
    body.inputReference === 'object' && job.input['image_url'] !== undefined && !own.includes('image_url');
  const given: JsonObject = asObject ? { ...input, input_reference: { image_url: image ?? '' } } : input;
  const { callbackMember } = body;
  const callback =
    callbackMember === null || job.callbackUrl === null ? {} : { [callbackMember]: job.callbackUrl };
  const all = withParams(NAME, { model: job.providerModel, ...callback }, given);
  const encoded =
    body.format === 'json'
      ? { contentType: 'application/json', body: canonicalJson(all) }
      : formData(all, job.idempotencyKey);
  return { method: 'POST', path: body.path, ...encoded };
}
