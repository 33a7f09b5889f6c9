import { z } from 'zod';
import { STATES, type State } from './generation.ts';
import type { Method } from './input-fields.ts';
import { sizeOf } from './video-sizes.ts';

/** The methods whose generations are videos. */
export const VIDEO_METHODS = ['text-to-video', 'image-to-video'] as const satisfies readonly Method[];

/** Whether generations of this method are videos. */
export function isVideoMethod(method: Method): boolean {
  return (VIDEO_METHODS as readonly Method[]).includes(method);
}

export const VIDEO_STATUSES = ['queued', 'in_progress', 'completed', 'failed'] as const;

const STATUS_OF: Readonly<Record<State, (typeof VIDEO_STATUSES)[number]>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
};

/** The one end that a generation has no error for, and that shape no status. */
const CANCELLED = { code: 'cancelled', message: 'The video was cancelled, and its credits were released.' };

function seconds(description: string) {
  return z.int().min(0).meta({ description, example: 1_796_040_000 });
}

/** A generation in the shape of the OpenAI Videos API (openai-node resources/videos.ts). */
export const videoSchema = z
  .object({
    id: z.string().meta({
      description: 'Id of the generation: the same in both shapes.',
      example: 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4',
    }),
    object: z.literal('video').meta({ description: 'Always `video`.' }),
    model: z.string().meta({ description: 'Id of the model.' }),
    status: z.enum(VIDEO_STATUSES).meta({
      description: 'Branch on this. A cancelled or expired generation is `failed`, with a code in `error`.',
    }),
    progress: z.int().min(0).max(100).meta({
      description: 'In percent, as the provider tells it; 100 once completed.',
    }),
    created_at: seconds('When it was taken, in seconds since 1970.'),
    completed_at: seconds('When it ended, in seconds since 1970.').nullable(),
    expires_at: seconds('When its file is deleted, in seconds since 1970.').nullable(),
    seconds: z.string().nullable().meta({
      description: 'Length in seconds; null while neither request nor file tell it.',
      example: '8',
    }),
    size: z.string().nullable().meta({
      description: 'Width and height in pixels; null while neither request nor file tell them.',
      example: '1280x720',
    }),
    prompt: z.string().nullable().meta({ description: 'As asked for; null where there was none.' }),
    error: z
      .object({
        code: z.string().meta({
          description: 'A code of a generation’s `error`, or `cancelled`.',
          example: 'content_rejected',
        }),
        message: z.string().meta({ description: 'What happened and what to do, safe to show.' }),
      })
      .nullable()
      .meta({ description: 'Why it is `failed`; else null.' }),
    remixed_from_video_id: z.null().meta({ description: 'Always null: there are no remixes here.' }),
  })
  .meta({ id: 'Video' });
export type VideoView = z.infer<typeof videoSchema>;

/**
 * What of a generation makes a video, and no more: stored answers are read by it, also those of other versions, which have
 * other members beside these.
 */
export const videoFactsSchema = z.object({
  id: z.string(),
  model: z.string(),
  state: z.enum(STATES),
  progress: z.number().nullable(),
  input: z.record(z.string(), z.unknown()),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  outputs: z.array(
    z.object({
      width: z.number().nullable(),
      height: z.number().nullable(),
      duration_seconds: z.number().nullable(),
      expires_at: z.string().nullable(),
    }),
  ),
  created_at: z.string(),
  completed_at: z.string().nullable(),
});
export type VideoFacts = z.infer<typeof videoFactsSchema>;

const NO_FILE = { width: null, height: null, duration_seconds: null, expires_at: null };

function unixSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The generation as a video. The file tells size and length better than what was asked for. */
export function viewVideo(generation: VideoFacts): VideoView {
  const { input, state, outputs } = generation;
  const file = outputs[0] ?? NO_FILE;
  const failed = STATUS_OF[state] === 'failed';
  const rendered = file.duration_seconds === null ? null : Math.round(file.duration_seconds);
  const length = input['duration_seconds'] ?? rendered;
  const ofFile = file.width === null || file.height === null ? null : `${file.width}x${file.height}`;
  const { completed_at: completedAt } = generation;
  return {
    id: generation.id,
    object: 'video',
    model: generation.model,
    status: STATUS_OF[state],
    progress: state === 'succeeded' ? 100 : Math.floor((generation.progress ?? 0) * 100),
    created_at: unixSeconds(generation.created_at),
    completed_at: completedAt === null ? null : unixSeconds(completedAt),
    expires_at: file.expires_at === null ? null : unixSeconds(file.expires_at),
    seconds: typeof length === 'number' ? String(length) : null,
    size: ofFile ?? sizeOf(textOf(input['resolution']), textOf(input['aspect_ratio'])),
    prompt: textOf(input['prompt']) ?? null,
    error: failed ? errorOf(generation) : null,
    remixed_from_video_id: null,
  };
}

function errorOf({ error }: VideoFacts): NonNullable<VideoView['error']> {
  return error === null ? CANCELLED : { code: error.code, message: error.message };
}
