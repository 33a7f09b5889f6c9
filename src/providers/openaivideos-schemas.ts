import { z } from 'zod';
import { jobId } from './job-id.ts';

/** OpenRouter's codes are numbers; '' and 0 say nothing. */
const code = z
  .union([z.string(), z.number().transform(String)])
  .transform((text) => (text === '' || text === '0' ? null : text))
  .nullish()
  .catch(null);

/** A time in seconds, or milliseconds (New API shows both), or as ISO text; null for all else. */
const time = z
  .union([
    z
      .number()
      .positive()
      .max(8e15)
      .transform((value) => new Date(value > 1e11 ? value : value * 1_000)),
    z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
  ])
  .nullish()
  .catch(null);

/** Percent, as a number or as text like `45%`; null for all else. */
const percent = z
  .union([z.number(), z.string().regex(/^\d{1,3}(\.\d+)?%?$/)])
  .transform((value) => (typeof value === 'number' ? value : Number.parseFloat(value)))
  .pipe(z.number().min(0).max(100))
  .nullish()
  .catch(null);

/** `id` of OpenAI's shape; older answers of New API have `task_id` only. */
const withId = z.union([
  z.looseObject({ id: jobId }),
  z.looseObject({ task_id: jobId }).transform(({ task_id: id, ...rest }) => ({ ...rest, id })),
]);

/** The answer to a create. */
export const videoAccepted = withId.pipe(z.object({ id: jobId, status: z.string().catch('not_given') }));

/** A video job; only id and status are sure. Members with URLs are read by name. */
export const video = withId.pipe(
  z.looseObject({
    id: jobId,
    status: z.string().min(1).max(64),
    progress: percent,
    created_at: time,
    expires_at: time,
    url_expires_at: time,
    usage: z
      .looseObject({ cost: z.union([z.number(), z.string()]).nullish().catch(null) })
      .nullish()
      .catch(null),
  }),
);
export type Video = z.infer<typeof video>;

/** `{id, type, data: {id}}`, as OpenAI and its like announce an end. */
export const videoEvent = z.object({ type: z.string().min(1).max(64), data: z.object({ id: jobId }) });

/** `{error: {code, type}}`; `{code, message, data}` of New API's task routes; `{detail: [{loc, msg, type}]}` of FastAPI. */
const error = z.object({
  error: z.object({ code, type: code }).nullish().catch(null),
  code,
  detail: z
    .array(z.object({ loc: z.array(z.unknown()), msg: z.string() }))
    .min(1)
    .nullish()
    .catch(null),
});

/** Whether a body is an error as these APIs write it; a proxy's page is none. */
export function isVideosError(body: unknown): boolean {
  const found = error.safeParse(body).data;
  return (found?.error ?? null) !== null || (found?.code ?? null) !== null;
}

/** The code and type of an error body, null for what is not there. */
export function videosError(body: unknown): { readonly code: string | null; readonly type: string | null } {
  const found = error.safeParse(body).data;
  const type = found?.error?.type ?? ((found?.detail ?? null) === null ? null : 'validation_error');
  return { code: found?.error?.code ?? found?.code ?? null, type };
}

/** `code` left out or null beside a text; New API's 0 and '' say that there is no error. */
const wordedError = z.object({ code: z.null().optional(), message: z.string().regex(/\S/) });
const errorText = z.string().regex(/\S/);

/** Whether an error stands in a job: a code, or where there is none, a text. */
export function hasJobError(job: Video): boolean {
  const { error: told } = job;
  const isWorded = wordedError.safeParse(told).success || errorText.safeParse(told).success;
  return isWorded || (error.safeParse(job).data?.error?.code ?? null) !== null;
}
