import type { InputField, Method } from '../domain/input-fields.ts';
import { canonicalJson } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { falSubmitPath } from './fal-urls.ts';
import { modelInput, type FieldRules } from './model-fields.ts';

const VIDEO = [
  'prompt',
  'negative_prompt',
  'duration_seconds',
  'resolution',
  'aspect_ratio',
  'audio',
  'seed',
] as const satisfies readonly InputField[];

/** Every model has its own input schema; these are the fields that its usual names exist for. */
export const FAL_METHODS: Readonly<Partial<Record<Method, readonly InputField[]>>> = {
  'text-to-video': VIDEO,
  'image-to-video': ['image_url', ...VIDEO],
  'text-to-image': ['prompt', 'negative_prompt', 'resolution', 'aspect_ratio', 'count', 'seed'],
  'text-to-speech': ['text', 'voice'],
};

/** The usual names; a route of a model with other ones tells them in `params.$fields` (model-fields.ts). */
const FIELDS: FieldRules = {
  prompt: 'prompt',
  negative_prompt: 'negative_prompt',
  text: 'text',
  image_url: 'image_url',
  duration_seconds: { name: 'duration', text: '{}' },
  resolution: 'resolution',
  aspect_ratio: 'aspect_ratio',
  voice: 'voice',
  audio: 'generate_audio',
  count: 'num_images',
  seed: 'seed',
};

/** What is known to be otherwise at single models; fal ignores members that a model does not know. */
const MODELS: readonly { readonly model: RegExp; readonly fields: FieldRules }[] = [
  { model: /^fal-ai\/veo/, fields: { duration_seconds: { name: 'duration', text: '{}s' } } },
  {
    model: /^fal-ai\/flux\/(schnell|dev)$/,
    fields: {
      aspect_ratio: {
        name: 'image_size',
        values: {
          '1:1': 'square_hd',
          '4:3': 'landscape_4_3',
          '3:4': 'portrait_4_3',
          '16:9': 'landscape_16_9',
          '9:16': 'portrait_16_9',
        },
      },
    },
  },
];

/** The frozen bytes of a submit: the body is the model's input, the callback URL a query parameter. */
export function buildFalSubmit(job: SubmitJob): SubmitRequest {
  const path = falSubmitPath(job.providerModel);
  const own = MODELS.find(({ model }) => model.test(job.providerModel))?.fields ?? {};
  const input = modelInput('fal', job, FAL_METHODS, { ...FIELDS, ...own });
  const query = job.callbackUrl === null ? '' : `?fal_webhook=${encodeURIComponent(job.callbackUrl)}`;
  return {
    method: 'POST',
    path: `${path}${query}`,
    contentType: 'application/json',
    body: canonicalJson(input),
  };
}
