import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonBody, type Exchange } from './http.ts';
import type { JobRequest } from './jobs.ts';
import type { ApiError } from './protocol.ts';

const MODELS: Readonly<Record<string, JobRequest['media']>> = {
  'ray-3.2': 'video',
  'uni-1': 'image',
  'uni-1-max': 'image',
};
const VIDEO_RATIOS = ['16:9', '1:1', '21:9', '3:4', '4:3', '9:16'];
const IMAGE_RATIOS = ['1:1', '1:2', '1:3', '16:9', '2:1', '2:3', '3:1', '3:2', '9:16'];

/** Its client lets null stand for what is not given. */
const given = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const ref = z.strictObject({
  url: given(z.url({ protocol: /^https?$/ })),
  data: given(z.string()),
  media_type: given(z.string()),
  generation_id: given(z.uuid()),
  file_id: given(z.uuid()),
});
type Ref = z.infer<typeof ref>;

/** The members that luma-agents 0.5.0 knows for `image` and `video`; edits and layers are left out. */
const request = z.strictObject({
  prompt: z.string(),
  model: z.string().default('uni-1'),
  type: z.string().default('image'),
  aspect_ratio: given(z.string()),
  image_ref: z.array(ref).optional(),
  source: given(ref),
  output_format: given(z.enum(['png', 'jpeg'])),
  style: z.enum(['auto', 'manga']).optional(),
  web_search: z.boolean().optional(),
  user_id: given(z.string()),
  video: given(
    z.strictObject({
      duration: given(z.enum(['5s', '10s'])),
      resolution: given(z.enum(['360p', '540p', '720p', '1080p'])),
      start_frame: given(ref),
      end_frame: given(ref),
      loop: given(z.boolean()),
      hdr: given(z.boolean()),
      exr_export: given(z.boolean()),
    }),
  ),
});

function refProblem(
  name: string,
  { url, data, media_type: type, generation_id, file_id }: Ref,
): string | null {
  const sources = [url, data, generation_id, file_id].filter((source) => source !== undefined);
  if (url !== undefined && data !== undefined) return `${name}: provide either 'url' or 'data', not both`;
  if (sources.length !== 1)
    return `${name}: provide exactly one of 'url', 'data', 'generation_id', 'file_id'`;
  return data !== undefined && type === undefined ? `${name}: 'media_type' is required with 'data'` : null;
}

/** What is wrong with a request, in the words of the error handling page; null when nothing is. */
function problemOf({
  prompt,
  model,
  type,
  aspect_ratio: ratio,
  image_ref,
  source,
  video,
}: z.infer<typeof request>) {
  const media = Object.hasOwn(MODELS, model) ? MODELS[model] : undefined;
  if (media === undefined) return `Unknown model: ${model}`;
  if (type !== media) return `Type '${type}' is not supported for model '${model}'`;
  if (prompt.length < 1 || prompt.length > 6_000) return 'Prompt must be between 1 and 6000 characters';
  const ratios = media === 'video' ? VIDEO_RATIOS : IMAGE_RATIOS;
  if (ratio !== undefined && !ratios.includes(ratio)) {
    return `Invalid aspect_ratio '${ratio}'. Valid: ${ratios.join(', ')}`;
  }
  if (source !== undefined) return "source is only valid for type 'image_edit'";
  if (media === 'image' && video !== undefined) return "video is only valid for type 'video'";
  const { start_frame: start, end_frame: end, duration, loop, hdr } = video ?? {};
  if (duration === '10s' && (start !== undefined || end !== undefined || loop === true || hdr === true)) {
    return 'duration 10s is not supported with start_frame, end_frame, loop or hdr';
  }
  const refs = [
    ...(image_ref ?? []).map((one, index) => [`image_ref[${index}]`, one] as const),
    ...(start === undefined ? [] : [['video.start_frame', start] as const]),
    ...(end === undefined ? [] : [['video.end_frame', end] as const]),
  ];
  return refs.map(([name, one]) => refProblem(name, one)).find((problem) => problem !== null) ?? null;
}

/** The job that a submit asks for, or what is wrong with it. */
export function readLumaSubmit(
  exchange: Exchange,
): { readonly job: JobRequest } | { readonly error: ApiError } {
  if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    return { error: { kind: 'unsupported_media_type' } };
  }
  const parsed = request.safeParse(jsonBody(exchange));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { error: { kind: 'invalid', message: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}` } };
  }
  const problem = problemOf(parsed.data);
  if (problem !== null) return { error: { kind: 'invalid', message: problem } };
  const { model, prompt, video } = parsed.data;
  const start = video?.start_frame;
  const inline = start?.data === undefined ? undefined : `data:${start.media_type};base64,${start.data}`;
  return {
    job: {
      id: randomUUID(),
      model,
      prompt,
      media: MODELS[model] ?? 'image',
      outputCount: 1,
      durationSeconds: video?.duration === '10s' ? 10 : 5,
      webhookUrl: null,
      idempotencyKey: null,
      externalId: null,
      inputUrl: start?.url ?? inline,
    },
  };
}
