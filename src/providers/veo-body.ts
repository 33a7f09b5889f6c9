import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { SubmitJob, SubmitRequest } from '../domain/provider.ts';
import { inlineParts } from './frozen-submit.ts';
import { modelInput } from './model-fields.ts';
import { methodsOf, type MethodFields } from './submit-body.ts';
import { VEO_MODEL } from './veo-schemas.ts';

/** Members of `parameters`. `seed` and sound are Vertex AI's only: Google's SDK refuses both here. */
const PARAMETERS = {
  negative_prompt: 'negativePrompt',
  duration_seconds: 'durationSeconds',
  resolution: 'resolution',
  aspect_ratio: 'aspectRatio',
  count: 'sampleCount',
} as const;

const FIELDS = {
  'text-to-video': { prompt: 'prompt', ...PARAMETERS },
  'image-to-video': { image_url: 'image', prompt: 'prompt', ...PARAMETERS },
} as const satisfies MethodFields;

/** What Veo offers; which of the fields a model takes is Google's own list, so the catalogue names them. */
export const VEO_METHODS = methodsOf(FIELDS);

/**
 * `POST /{version}/models/{model}:predictLongRunning`. A route's `params` go into `parameters`; their `$fields` write a
 * field in another way (model-fields.ts). An image stands in the body as bare base64 with its type: links are not taken.
 * @param asksForCallback whether the callback URL is sent with this request
 * @throws on a model that is no name, a method or field that is not offered, and params that set what the input has set
 */
export function buildVeoSubmit(job: SubmitJob, version: string, asksForCallback: boolean): SubmitRequest {
  const { providerModel: model, input, callbackUrl } = job;
  if (!VEO_MODEL.test(model)) {
    throw new Error('veo: providerModel is no name of a model: write it like veo-3.1-generate-preview');
  }
  const { prompt, image, ...parameters } = modelInput('veo', job, VEO_METHODS, {
    ...FIELDS['image-to-video'],
  });
  if (prompt !== input['prompt'] || image !== input['image_url']) {
    throw new Error('veo: the catalogue route’s params may not set "prompt" or "image": the input does');
  }
  const body: JsonObject = {
    instances: [
      {
        ...(prompt === undefined ? {} : { prompt }),
        ...(typeof image === 'string' ? { image: imageOf(image) } : {}),
      },
    ],
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(callbackUrl === null || !asksForCallback ? {} : { webhookConfig: { uris: [callbackUrl] } }),
  };
  return {
    method: 'POST',
    path: `/${version}/models/${model}:predictLongRunning`,
    contentType: 'application/json',
    body: canonicalJson(body),
  };
}

function imageOf(url: string): JsonObject {
  const { base64, mediaType } = inlineParts(url);
  return { bytesBase64Encoded: base64, mimeType: mediaType };
}
