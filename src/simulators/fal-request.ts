import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jsonBody, type Exchange } from './http.ts';
import type { JobRequest } from './jobs.ts';
import type { MediaKind } from './media/kinds.ts';
import type { ApiError } from './protocol.ts';

const DEFAULT_DURATION_SECONDS = 5;
const SEGMENT = '[A-Za-z0-9][\\w.-]*';
const SUBMIT = new RegExp(`^/((?:(?:workflows|comfy)/)?${SEGMENT}/${SEGMENT})((?:/${SEGMENT})*)$`);
const REQUEST = new RegExp(
  `^/((?:(?:workflows|comfy)/)?${SEGMENT}/${SEGMENT})/requests/([^/]+)(/status|/cancel)?$`,
);

/** The body of a submit is the model's own input; here every model takes any input with a text in it. */
const modelInput = z
  .looseObject({
    prompt: z.string().min(1).optional(),
    text: z.string().min(1).optional(),
    /** `"5"`, `"5s"` or 5, by model. */
    duration: z.union([z.int().min(1).max(60), z.string().regex(/^\d{1,2}s?$/)]).optional(),
    num_images: z.int().min(1).max(8).optional(),
  })
  .refine(({ prompt, text }) => (prompt ?? text) !== undefined, {
    path: ['prompt'],
    error: 'Field required',
  });

/** `owner/app` and the subpath of a submit; null for any other path. */
export function submitPath(pathname: string): { readonly app: string; readonly model: string } | null {
  const [, app, subpath] = SUBMIT.exec(pathname) ?? [];
  return app === undefined ? null : { app, model: `${app}${subpath ?? ''}` };
}

/** The parts of a path about one request; null for any other path. */
export function requestPath(
  pathname: string,
): { readonly app: string; readonly id: string; readonly action: 'status' | 'cancel' | 'result' } | null {
  const [, app, id, action] = REQUEST.exec(pathname) ?? [];
  if (app === undefined || id === undefined) return null;
  return { app, id, action: action === undefined ? 'result' : action === '/status' ? 'status' : 'cancel' };
}

function mediaOf(model: string, input: { readonly text?: string | undefined }): MediaKind {
  if (input.text !== undefined) return 'audio';
  return /flux|image|sdxl|diffusion|banana/i.test(model) ? 'image' : 'video';
}

/** The job that a submit asks for, or what is wrong with it. `fal_webhook` is a parameter of the query. */
export function readSubmit(
  exchange: Exchange,
  { app, model }: { readonly app: string; readonly model: string },
): { readonly job: JobRequest } | { readonly error: ApiError } {
  if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    return { error: { kind: 'unsupported_media_type' } };
  }
  const webhook = exchange.url.searchParams.get('fal_webhook');
  if (webhook !== null && !URL.canParse(webhook)) {
    return { error: { kind: 'invalid', code: 'url_parsing', message: 'fal_webhook is no URL' } };
  }
  const parsed = modelInput.safeParse(jsonBody(exchange));
  if (!parsed.success) return { error: { kind: 'invalid', code: 'missing' } };
  const { prompt, text, duration, num_images: images } = parsed.data;
  return {
    job: {
      id: randomUUID(),
      model,
      prompt: prompt ?? text ?? '',
      media: mediaOf(model, parsed.data),
      outputCount: images ?? 1,
      durationSeconds: Number.parseInt(String(duration ?? DEFAULT_DURATION_SECONDS), 10),
      webhookUrl: webhook,
      idempotencyKey: null,
      externalId: null,
      extra: { app },
    },
  };
}
