import type { InputField, Method } from '../domain/input-fields.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { modelInput, type FieldRules } from './model-fields.ts';
import { withParams } from './submit-body.ts';

const VIDEO = ['prompt', 'duration_seconds', 'resolution', 'aspect_ratio', 'mode'] as const;

export const AIGENWAY_METHODS = {
  'text-to-video': VIDEO,
  'image-to-video': ['image_url', ...VIDEO],
  'text-to-image': ['prompt', 'resolution', 'aspect_ratio'],
} as const satisfies Partial<Record<Method, readonly InputField[]>>;

const RULES: FieldRules = {
  prompt: 'prompt',
  duration_seconds: 'duration',
  resolution: 'resolution',
  aspect_ratio: 'aspect_ratio',
  mode: 'mode',
};

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * `POST /v1/generations`. The route's params name the upstream as `provider`, may hold `params` for the model beside our
 * input, and `$fields` for models that name a field otherwise (model-fields.ts). The image is `input_images[0]`.
 * @throws on a method or field that is not offered, without `provider`, and on params that the adapter sets itself
 */
export function buildAigenwaySubmit(job: SubmitJob): SubmitRequest {
  const { method, providerModel: model, input, callbackUrl } = job;
  const { params: inner = {}, $fields, ...outer } = job.params;
  if (typeof outer['provider'] !== 'string' || outer['provider'] === '') {
    throw new Error('aigenway: the catalogue route\'s params need "provider", the name of the upstream');
  }
  if (!isObject(inner)) throw new Error('aigenway: "params" of the catalogue route\'s params is no object');
  const { image_url: image, ...others } = input;
  const takesImage = method === 'image-to-video' && image !== undefined;
  const images: JsonObject = takesImage ? { input_images: [image] } : {};
  const fields = takesImage ? others : input;
  const names = $fields === undefined ? {} : { $fields };
  const params = modelInput(
    'aigenway',
    { method, input: fields, params: { ...inner, ...names } },
    AIGENWAY_METHODS,
    RULES,
  );
  const own = {
    model,
    method: method.replaceAll('-', '_'),
    params: withParams('aigenway', images, params),
    ...(callbackUrl === null ? {} : { callback_url: callbackUrl }),
  };
  return {
    method: 'POST',
    path: '/v1/generations',
    contentType: 'application/json',
    body: canonicalJson(withParams('aigenway', own, outer)),
  };
}
