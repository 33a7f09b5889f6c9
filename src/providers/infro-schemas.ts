import { z } from 'zod';
import { jobId } from './job-id.ts';

/** A job as `GET /v1/jobs/{id}` and cancel return it. Only `id` and `status` are sure; the rest is read if usable. */
export const infroJob = z.object({
  id: jobId,
  status: z.string().min(1),
  output: z.unknown().optional(),
  expires_at: z.number().nullish().catch(null),
  usage: z.object({ cost: z.unknown().optional() }).nullish().catch(null),
  error: z.object({ code: z.string().nullish() }).nullish().catch(null),
});
export type InfroJob = z.infer<typeof infroJob>;

/** The 202 of a submit, or a stored one replayed. */
export const infroAccepted = z.object({ id: jobId, status: z.string().catch('not_given') });

/** Error envelope: only `error.code` is documented. */
export const infroError = z.object({
  error: z.object({ code: z.string().nullish().catch(null), type: z.string().nullish().catch(null) }),
});

export const infroPage = z.object({
  data: z.array(z.object({ id: jobId, status: z.string() })),
  has_more: z.boolean(),
  next_cursor: z.string().min(1).nullish(),
});

/** A webhook event; the id of the job is missing on types that we do not know. */
export const infroEvent = z.object({
  id: z.string().min(1).max(255).nullish(),
  type: z.string().min(1).max(64),
  data: z.object({ id: jobId.nullish() }),
});
