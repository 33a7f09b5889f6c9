import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { jsonBody, type Exchange } from './http.ts';
import type { JobRequest } from './jobs.ts';
import type { MediaKind } from './media/kinds.ts';
import type { ApiError } from './protocol.ts';

const DEFAULT_DURATION_SECONDS = 5;
const ID_LETTERS = 'abcdefghjkmnpqrstvwxyz0123456789';
const ID_LENGTH = 26;

const EVENTS = ['start', 'output', 'logs', 'completed'] as const;
/** What Replicate sends when no filter is given. */
const DEFAULT_EVENTS: readonly string[] = ['output', 'completed'];

/** The body of a submit. Models have schemas of their own; here every model takes any input with a text in it. */
const predictionRequest = z.object({
  version: z.string().min(1).optional(),
  input: z
    .looseObject({
      prompt: z.string().min(1).optional(),
      text: z.string().min(1).optional(),
      duration: z.int().min(1).max(60).optional(),
      num_outputs: z.int().min(1).max(8).optional(),
    })
    .refine(({ prompt, text }) => (prompt ?? text) !== undefined, { path: ['prompt'], error: 'is required' }),
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  webhook_events_filter: z.array(z.enum(EVENTS)).min(1).optional(),
  stream: z.boolean().optional(),
});

function newId(): string {
  return Array.from(randomBytes(ID_LENGTH), (byte) => ID_LETTERS[byte % ID_LETTERS.length]).join('');
}

/** By what is asked for: a text is spoken, a model with a name of images makes images, all else is video. */
function mediaOf(model: string, input: { readonly text?: string | undefined }): MediaKind {
  if (input.text !== undefined) return 'audio';
  return /flux|image|sdxl|diffusion|banana/i.test(model) ? 'image' : 'video';
}

/** What the path of a submit asks for: `owner/name`, with the body's version where it has one. */
export interface SubmitPath {
  readonly model: string;
  /** `POST /v1/predictions` only. */
  readonly needsVersion: boolean;
}

/** The model behind a submit's path; null for any other path. */
export function submitPath(pathname: string): SubmitPath | null {
  if (pathname === '/v1/predictions') return { model: '', needsVersion: true };
  const [, model] = /^\/v1\/(?:models|deployments)\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(pathname) ?? [];
  return model === undefined ? null : { model, needsVersion: false };
}

/** The job that a submit asks for, or what is wrong with it, in Replicate's words. */
export function readSubmit(
  exchange: Exchange,
  { model, needsVersion }: SubmitPath,
): { readonly job: JobRequest } | { readonly error: ApiError } {
  if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    return { error: { kind: 'unsupported_media_type' } };
  }
  const parsed = predictionRequest.safeParse(jsonBody(exchange));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const message = `- ${issue?.path.join('.') ?? 'input'}: ${issue?.message ?? 'is invalid'}`;
    return { error: { kind: 'invalid', message } };
  }
  const { version, input, webhook, webhook_events_filter: events } = parsed.data;
  if (needsVersion && version === undefined) {
    return { error: { kind: 'invalid', message: '- version is required' } };
  }
  return {
    job: {
      id: newId(),
      model: needsVersion ? 'simulated/model' : model,
      prompt: input.prompt ?? input.text ?? '',
      media: mediaOf(model, input),
      outputCount: input.num_outputs ?? 1,
      durationSeconds: input.duration ?? DEFAULT_DURATION_SECONDS,
      webhookUrl: webhook ?? null,
      idempotencyKey: null,
      externalId: null,
      extra: { input, version: version ?? 'hidden', events: events ?? DEFAULT_EVENTS },
    },
  };
}
