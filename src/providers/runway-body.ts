import type { InputField } from '../domain/input-fields.ts';
import { canonicalJson } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { modelInput, type FieldRules } from './model-fields.ts';
import { methodsOf, withParams, type MethodFields } from './submit-body.ts';

const VIDEO = {
  prompt: 'promptText',
  negative_prompt: 'negativePrompt',
  duration_seconds: 'duration',
  resolution: 'resolution',
  aspect_ratio: 'ratio',
  audio: 'audio',
  seed: 'seed',
} as const satisfies Partial<Record<InputField, string>>;

/** Which field becomes which member of Runway's body. */
const FIELDS = {
  'text-to-video': VIDEO,
  'image-to-video': { image_url: 'promptImage', ...VIDEO },
  'text-to-image': { prompt: 'promptText', aspect_ratio: 'ratio', count: 'outputCount', seed: 'seed' },
  'text-to-speech': { text: 'promptText', voice: 'voice', seed: 'seed' },
} as const satisfies MethodFields;

/** What Runway offers; which of the fields a model takes is Runway's own list, so the catalogue names them. */
export const RUNWAY_METHODS = methodsOf(FIELDS);

const VIDEO_SIZES = { '16:9': '1280:720', '9:16': '720:1280' };
const FRAME_SIZES = {
  ...VIDEO_SIZES,
  '1:1': '960:960',
  '4:3': '1104:832',
  '3:4': '832:1104',
  '21:9': '1584:672',
};
const IMAGE_SIZES = { '16:9': '1920:1080', '9:16': '1080:1920', '1:1': '1024:1024' };

/** Models whose `ratio` is a size in pixels, by the types of the SDK; all others take the shape itself. */
const SIZES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'gen4.5': FRAME_SIZES,
  gen4_turbo: FRAME_SIZES,
  'veo3.1': VIDEO_SIZES,
  'veo3.1_fast': VIDEO_SIZES,
  gen4_image: IMAGE_SIZES,
  gen4_image_turbo: IMAGE_SIZES,
};

/** A shape as the size that the model has for it; a size stays as it is. */
function sizeRule(model: string): FieldRules {
  const sizes = SIZES[model];
  if (sizes === undefined) return {};
  const asTheyAre = Object.fromEntries(Object.values(sizes).map((size) => [size, size]));
  return { aspect_ratio: { name: 'ratio', values: { ...asTheyAre, ...sizes } } };
}

/**
 * `POST /v1/text_to_video` and the like. A route's `params` add what only Runway has, or a `ratio` that no field gives;
 * their `$fields` write a field in another way (model-fields.ts).
 * @throws on a method or field that Runway does not take, and on params that set what the input has set
 */
export function buildRunwaySubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel } = job;
  const names: FieldRules | undefined = Object.hasOwn(FIELDS, method) ? FIELDS[method] : undefined;
  const input = modelInput('runway', job, RUNWAY_METHODS, { ...names, ...sizeRule(providerModel) });
  const { voice } = input;
  const own =
    typeof voice === 'string' ? { ...input, voice: { type: 'runway-preset', presetId: voice } } : input;
  return {
    method: 'POST',
    path: `/v1/${method.replaceAll('-', '_')}`,
    contentType: 'application/json',
    body: canonicalJson(withParams('runway', { model: providerModel }, own)),
  };
}
