import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { formBody } from './form.ts';
import { jsonBody, type Exchange } from './http.ts';
import type { JobRequest } from './jobs.ts';
import type { ApiError } from './protocol.ts';

/**
 * `openai`: the API as it was; `aggregator`: one that adds a URL, callbacks and idempotency keys; `retrying`: one that asks
 * a second upstream, which has no room, after a 5xx of the first, and shows the second's answer alone, as New API does.
 */
export type VideosShape = 'openai' | 'aggregator' | 'retrying';

const DEFAULT_SECONDS = '4';
const DEFAULT_SIZE = '720x1280';
const SIZES = ['720x1280', '1280x720', '1024x1792', '1792x1024', '1080x1920', '1920x1080'];

const file = z.custom<{ readonly mediaType: string; readonly bytes: Buffer }>(
  (value) => typeof value === 'object' && value !== null && 'bytes' in value,
);
const imageUrl = z.url({ protocol: /^(https?|data)$/ });

const openai = {
  prompt: z.string().min(1).max(32_000),
  model: z.string().min(1).default('sora-2'),
  // A text, and one of three, as OpenAI insists.
  seconds: z.enum(['4', '8', '12']).default(DEFAULT_SECONDS),
  size: z.enum(SIZES).default(DEFAULT_SIZE),
  input_reference: z
    .union([file, z.strictObject({ image_url: imageUrl }), z.strictObject({ file_id: z.string() })])
    .optional(),
};
const SCHEMAS = {
  openai: z.strictObject(openai),
  retrying: z.strictObject(openai),
  aggregator: z.strictObject({
    ...openai,
    seconds: z
      .string()
      .regex(/^[1-9]\d?$/)
      .default(DEFAULT_SECONDS),
    input_reference: z.union([openai.input_reference, imageUrl]),
    callback_url: z.url({ protocol: /^https?$/ }).optional(),
  }),
};

/** `a[b]` of a form as the member `b` of `a`, as the openai SDK writes objects. */
function nested(parts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parts)) {
    const [, outer, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (outer === undefined || inner === undefined) body[name] = value;
    else body[outer] = { ...(body[outer] as object | undefined), [inner]: value };
  }
  return body;
}

/** The members of a submit, from a form or from JSON; a text where a field is too large, undefined when it is neither. */
export function videosBody(exchange: Exchange): unknown {
  const form = formBody(exchange);
  if (form !== undefined) return typeof form === 'string' ? form : nested(form);
  return exchange.headers['content-type']?.startsWith('application/json') === true
    ? jsonBody(exchange)
    : undefined;
}

/** The image as a URL or `data:` URI. */
function imageOf(reference: unknown): string | undefined {
  if (typeof reference === 'string') return reference;
  const sent = file.safeParse(reference).data;
  if (sent !== undefined) return `data:${sent.mediaType};base64,${sent.bytes.toString('base64')}`;
  return z.object({ image_url: z.string() }).safeParse(reference).data?.image_url;
}

/** The job that a submit asks for, or what is wrong with it. */
export function readVideosSubmit(
  exchange: Exchange,
  shape: VideosShape,
): { readonly job: JobRequest } | { readonly error: ApiError } {
  const body = videosBody(exchange);
  if (body === undefined) return { error: { kind: 'unsupported_media_type' } };
  if (body === 'field_too_large') {
    return { error: { kind: 'invalid', message: 'Field exceeded maximum size of 1024KB.' } };
  }
  const parsed = SCHEMAS[shape].safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const message = `Invalid value for '${issue?.path.join('.') ?? ''}': ${issue?.message ?? 'is invalid'}`;
    return { error: { kind: 'invalid', message } };
  }
  const { prompt, model, seconds, size, input_reference: reference, ...more } = parsed.data;
  const key = shape === 'aggregator' ? exchange.headers['idempotency-key'] : undefined;
  return {
    job: {
      id: `video_${randomBytes(20).toString('hex')}`,
      model,
      prompt,
      media: 'video',
      outputCount: 1,
      durationSeconds: Number(seconds),
      webhookUrl: ('callback_url' in more ? more.callback_url : undefined) ?? null,
      idempotencyKey: typeof key === 'string' ? key : null,
      externalId: null,
      inputUrl: imageOf(reference),
      extra: { size },
    },
  };
}
