import { z } from 'zod';

const prompt = z.string().min(1).max(3_072);
const settings = {
  multi_shot: z.boolean().optional(),
  audio: z.enum(['native', 'off']).optional(),
  resolution: z.enum(['720p', '1080p', '4k']).optional(),
  duration: z.int().min(3).max(15).default(5),
};
const options = z
  .strictObject({
    callback_url: z.union([z.url({ protocol: /^https?$/ }), z.literal('')]).optional(),
    external_task_id: z.string().max(128).optional(),
    watermark_info: z.strictObject({ enabled: z.boolean() }).optional(),
  })
  .prefault({});

const textToVideo = z.strictObject({
  prompt,
  settings: z
    .strictObject({ ...settings, aspect_ratio: z.enum(['16:9', '9:16', '1:1']).optional() })
    .prefault({}),
  options,
});
const imageToVideo = z.strictObject({
  contents: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('prompt'), text: prompt }),
        z.strictObject({ type: z.literal(['first_frame', 'last_frame']), url: z.string().min(1) }),
        z.strictObject({ type: z.literal('element'), element_id: z.string(), id: z.string() }),
      ]),
    )
    .refine((contents) => contents.some(({ type }) => type === 'first_frame'), 'first_frame is missing'),
  settings: z.strictObject(settings).prefault({}),
  options,
});

/** The body of `POST /tasks`. */
export const listRequest = z.strictObject({
  start_time: z.coerce.number().optional(),
  end_time: z.coerce.number().optional(),
  cursor: z
    .string()
    .default('')
    .transform((text) => (text === '' ? null : text)),
  limit: z.int().min(1).max(500).default(100),
  filters: z
    .array(z.strictObject({ key: z.enum(['status', 'product_type']), values: z.array(z.string()) }))
    .default([]),
});

/** What a valid request asks for. */
export interface KlingRequest {
  readonly prompt: string;
  readonly durationSeconds: number;
  readonly callbackUrl: string | null;
  readonly externalId: string | null;
  /** The first frame; undefined for text to video. */
  readonly imageUrl: string | undefined;
}

/** Reads the body of a submit; `problem` names the first member that is wrong. */
export function klingRequest(method: string, body: unknown): KlingRequest | { readonly problem: string } {
  const parsed = (method === 'text-to-video' ? textToVideo : imageToVideo).safeParse(body);
  if (!parsed.success) {
    return { problem: `Invalid parameter: ${parsed.error.issues[0]?.path.join('.') || 'body'}` };
  }
  const { settings: output, options: given } = parsed.data;
  const text =
    'prompt' in parsed.data
      ? parsed.data.prompt
      : parsed.data.contents
          .flatMap((content) => (content.type === 'prompt' ? [content.text] : []))
          .join(' ');
  return {
    prompt: text,
    durationSeconds: output.duration,
    callbackUrl: given.callback_url || null,
    externalId: given.external_task_id || null,
    imageUrl:
      'contents' in parsed.data
        ? parsed.data.contents.flatMap((content) => (content.type === 'first_frame' ? [content.url] : []))[0]
        : undefined,
  };
}
