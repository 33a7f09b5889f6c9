import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { jsonBody, type Exchange } from './http.ts';
import type { JobRequest } from './jobs.ts';
import type { ApiError } from './protocol.ts';

/** The only one in which 1080p and 4k are made. */
const DEFAULT_DURATION_SECONDS = 8;

const image = z.strictObject({
  bytesBase64Encoded: z.base64().min(4),
  mimeType: z.string().regex(/^image\/(png|jpeg|webp)$/),
});

/** The body of a submit, with the members that Google's SDK sends by the Gemini API; others are refused as Google does. */
const predictRequest = z.strictObject({
  instances: z
    .array(
      z
        .strictObject({
          prompt: z.string().min(1).optional(),
          image: image.optional(),
          lastFrame: image.optional(),
          video: z.strictObject({ uri: z.string(), encoding: z.string().optional() }).optional(),
        })
        .refine((instance) => Object.keys(instance).length > 0, 'needs a prompt, an image or a video'),
    )
    .length(1),
  parameters: z
    .strictObject({
      sampleCount: z.int().min(1).max(4).optional(),
      durationSeconds: z.literal([4, 6, 8]).optional(),
      aspectRatio: z.enum(['16:9', '9:16']).optional(),
      resolution: z.enum(['720p', '1080p', '4k']).optional(),
      negativePrompt: z.string().optional(),
      personGeneration: z.enum(['dont_allow', 'allow_adult', 'allow_all']).optional(),
      enhancePrompt: z.boolean().optional(),
    })
    .refine(
      ({ resolution = '720p', durationSeconds = DEFAULT_DURATION_SECONDS }) =>
        resolution === '720p' || durationSeconds === DEFAULT_DURATION_SECONDS,
      'only 720p has other lengths than eight seconds',
    )
    .optional(),
  webhookConfig: z
    .strictObject({
      uris: z.array(z.url({ protocol: /^https?$/ })).length(1),
      userMetadata: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

/** The job that a submit asks for, or what is wrong with it. `staticUri`: the webhook of the project, if there is one. */
export function readVeoSubmit(
  exchange: Exchange,
  model: string,
  staticUri: string | null,
): { readonly job: JobRequest } | { readonly error: ApiError } {
  if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    return { error: { kind: 'unsupported_media_type' } };
  }
  const parsed = predictRequest.safeParse(jsonBody(exchange));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const message = `Invalid value at '${issue?.path.join('.') ?? ''}': ${issue?.message ?? ''}`;
    return { error: { kind: 'invalid', message } };
  }
  const { instances, parameters, webhookConfig } = parsed.data;
  const [instance] = instances;
  const given = instance?.image;
  const dynamicUri = webhookConfig?.uris[0] ?? null;
  return {
    job: {
      id: `models/${model}/operations/${randomBytes(6).toString('hex')}`,
      model,
      prompt: instance?.prompt ?? '',
      media: 'video',
      outputCount: parameters?.sampleCount ?? 1,
      durationSeconds: parameters?.durationSeconds ?? DEFAULT_DURATION_SECONDS,
      // A webhook of the request replaces the one of the project.
      webhookUrl: dynamicUri ?? staticUri,
      idempotencyKey: null,
      externalId: null,
      inputUrl: given === undefined ? undefined : `data:${given.mimeType};base64,${given.bytesBase64Encoded}`,
      extra: { dynamic: dynamicUri !== null, userMetadata: webhookConfig?.userMetadata },
    },
  };
}

/** What `POST /v1beta/webhooks` asks for; null when it is none. */
export function readWebhook(exchange: Exchange): { readonly uri: string } | null {
  const schema = z.object({
    uri: z.url({ protocol: /^https?$/ }),
    subscribed_events: z.array(z.string()).min(1),
  });
  const found = schema.safeParse(jsonBody(exchange)).data;
  return found?.subscribed_events.includes('video.generated') === true ? { uri: found.uri } : null;
}
