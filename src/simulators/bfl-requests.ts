import { z } from 'zod';
import type { JobRequest } from './jobs.ts';

const DEFAULT_DURATION_SECONDS = 5;

const webhook = {
  webhook_url: z.url({ protocol: /^https?$/ }).nullish(),
  webhook_secret: z.string().min(1).nullish(),
};
const shape = z.string().regex(/^(auto|\d{1,2}:\d{1,2})$/);
/** A side in pixels: at least 64, and of the step that the vendor names. */
const side = z.int().min(64).multipleOf(16);

/** FLUX.1 and FLUX.2; members of single models are let through. Up to four megapixels. */
const imageRequest = z
  .looseObject({
    prompt: z.string().min(1),
    input_image: z.string().min(1).nullish(),
    width: side.optional(),
    height: side.optional(),
    aspect_ratio: shape.optional(),
    seed: z.int().min(0).nullish(),
    output_format: z.enum(['jpeg', 'png', 'webp']).optional(),
    safety_tolerance: z.int().min(0).max(6).optional(),
    ...webhook,
  })
  .refine(({ width = 64, height = 64 }) => width * height <= 4 * 1024 * 1024, 'more than 4 megapixels');

const videoMembers = {
  prompt: z.string().min(1),
  aspect_ratio: shape.optional(),
  resolution: z.enum(['hd', 'fhd']).optional(),
  duration: z.union([z.literal('auto'), z.int().min(5).max(20)]).optional(),
  generate_audio: z.boolean().optional(),
  safety_tolerance: z.int().min(0).max(6).optional(),
  version: z.string().optional(),
  ...webhook,
};

/** FLUX 3 video is strict: an unknown member, or one of another mode, is refused. */
const videoRequest = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('t2v'), ...videoMembers }),
  z.strictObject({
    mode: z.literal('i2v'),
    keyframes: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(10)]),
    ...videoMembers,
  }),
]);

/** A link as it is; bare base64 as the `data:` URI that it stands for. */
function inputUrl(input: string): string {
  return /^https?:/.test(input) ? input : `data:application/octet-stream;base64,${input}`;
}

/** What the body of `POST /v1/{model}` asks for, or FastAPI's list of what is wrong with it. */
export function bflRequest(
  model: string,
  body: unknown,
):
  | Omit<JobRequest, 'id' | 'idempotencyKey' | 'externalId' | 'model'>
  | { readonly problems: readonly { type: string; loc: readonly string[]; msg: string }[] } {
  const isVideo = model === 'flux-3-video';
  const parsed = (isVideo ? videoRequest : imageRequest).safeParse(body);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ code, path, message }) => ({
      type: code,
      loc: ['body', ...path.map(String)],
      msg: message,
    }));
    return { problems };
  }
  const request = parsed.data;
  const { prompt, webhook_url: webhookUrl, webhook_secret: webhookSecret } = request;
  const keyframes = 'keyframes' in request ? request.keyframes : undefined;
  const input = 'input_image' in request ? request.input_image : keyframes;
  const duration = 'duration' in request ? request.duration : undefined;
  return {
    prompt,
    media: isVideo ? 'video' : 'image',
    outputCount: 1,
    durationSeconds: typeof duration === 'number' ? duration : DEFAULT_DURATION_SECONDS,
    webhookUrl: webhookUrl ?? null,
    inputUrl: typeof input === 'string' ? inputUrl(input) : undefined,
    extra: { webhookSecret: webhookSecret ?? null },
  };
}
