import { z } from 'zod';
import {
  bflModel,
  imageCredits,
  inlinePixels,
  megapixels,
  videoCredits,
  type BflModel,
} from './bfl-models.ts';
import type { JobRequest } from './jobs.ts';

const DEFAULT_DURATION_SECONDS = 5;

const webhook = {
  webhook_url: z.url({ protocol: /^https?$/ }).nullish(),
  webhook_secret: z.string().min(1).nullish(),
};
const shape = z.string().regex(/^(auto|\d{1,2}:\d{1,2})$/);
/** A side in pixels: at least 64, and of the step that the vendor names. */
const side = z.int().min(64).multipleOf(16);

const imageMembers = {
  prompt: z.string().min(1),
  input_image: z.string().min(1).nullish(),
  seed: z.int().min(0).nullish(),
  output_format: z.enum(['jpeg', 'png', 'webp']).optional(),
  safety_tolerance: z.int().min(0).max(6).optional(),
  ...webhook,
};
/** BFL drops what a model does not know; refused here, so that an image of another shape than was asked for is seen. */
const absent = z.never().optional();

/** FLUX.2 and FLUX 1.1; members of single models are let through. Up to four megapixels. */
const sizedRequest = z
  .looseObject({
    ...imageMembers,
    width: side.optional(),
    height: side.optional(),
    aspect_ratio: absent,
    resolution: absent,
  })
  .refine(({ width = 64, height = 64 }) => width * height <= 4 * 1024 * 1024, 'more than 4 megapixels');

/** FLUX.1 Kontext and FLUX 1.1 [pro] Ultra. */
const shapedRequest = z.looseObject({
  ...imageMembers,
  aspect_ratio: shape.optional(),
  width: absent,
  height: absent,
  resolution: absent,
});

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

type Problems = { readonly problems: readonly { type: string; loc: readonly string[]; msg: string }[] };
type Read = Omit<JobRequest, 'id' | 'idempotencyKey' | 'externalId' | 'model'>;

const problemsOf = ({ issues }: z.ZodError): Problems => ({
  problems: issues.map(({ code, path, message }) => ({
    type: code,
    loc: ['body', ...path.map(String)],
    msg: message,
  })),
});

const fileOf = (input: unknown) => (typeof input === 'string' ? inputUrl(input) : undefined);

function readVideo(model: BflModel, body: unknown): Read | Problems {
  const parsed = videoRequest.safeParse(body);
  if (!parsed.success) return problemsOf(parsed.error);
  const request = parsed.data;
  const { duration, resolution } = request;
  const durationSeconds = typeof duration === 'number' ? duration : DEFAULT_DURATION_SECONDS;
  return {
    prompt: request.prompt,
    media: 'video',
    outputCount: 1,
    durationSeconds,
    webhookUrl: request.webhook_url ?? null,
    inputUrl: fileOf('keyframes' in request ? request.keyframes : undefined),
    extra: {
      webhookSecret: request.webhook_secret ?? null,
      credits: videoCredits(model, durationSeconds, resolution === 'fhd'),
    },
  };
}

/** Without a size one megapixel is made, or as much as was given. */
function readImage(model: BflModel, body: unknown): Read | Problems {
  const parsed = (model.form === 'sized' ? sizedRequest : shapedRequest).safeParse(body);
  if (!parsed.success) return problemsOf(parsed.error);
  const { prompt, input_image: input, width, height, ...others } = parsed.data;
  const files = [
    input,
    ...Object.entries(others).map(([name, value]) => /^input_image_\d$/.test(name) && value),
  ];
  const pixels = files.filter((file) => typeof file === 'string').map(inlinePixels);
  const isKnown = pixels.every((of) => of !== null);
  const inputMp = isKnown ? pixels.reduce((sum, of) => sum + megapixels(of ?? 0), 0) : null;
  const isSized = width !== undefined && height !== undefined;
  const outputMp = isSized ? megapixels(width * height) : pixels.length === 0 ? 1 : inputMp;
  return {
    prompt,
    media: 'image',
    outputCount: 1,
    durationSeconds: DEFAULT_DURATION_SECONDS,
    webhookUrl: parsed.data.webhook_url ?? null,
    inputUrl: fileOf(input),
    extra: {
      webhookSecret: parsed.data.webhook_secret ?? null,
      credits: imageCredits(model, outputMp ?? 1, inputMp),
      inputMp,
      outputMp,
    },
  };
}

/** What the body of `POST /v1/{model}` asks for, or FastAPI's list of what is wrong with it; null = no such model. */
export function bflRequest(name: string, body: unknown): Read | Problems | null {
  const model = bflModel(name);
  if (model === undefined) return null;
  return model.form === 'video' ? readVideo(model, body) : readImage(model, body);
}
