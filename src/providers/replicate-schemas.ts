import { z } from 'zod';

/** Ids are 26 letters and digits; checked because they go into URLs. */
const jobId = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/);

/** A prediction as submit, get, cancel, list and callbacks show it. Only `id` and `status` are sure. */
export const replicatePrediction = z.object({
  id: jobId,
  status: z.string().min(1).max(255),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  logs: z.string().nullish().catch(null),
  data_removed: z.boolean().catch(false),
  metrics: z.object({ predict_time: z.unknown() }).nullish().catch(null),
  completed_at: z.string().nullish().catch(null),
  webhook: z.string().nullish().catch(null),
});
export type ReplicatePrediction = z.infer<typeof replicatePrediction>;

/** The answer to a submit. */
export const replicateAccepted = z.object({ id: jobId, status: z.string().catch('not_given') });

/** Error envelope: `detail` is documented; `title`, `invalid_fields` and `retry_after` are seen (unverified). */
export const replicateError = z.object({
  detail: z.unknown().refine((detail) => detail !== undefined),
  title: z.string().nullish().catch(null),
  retry_after: z.number().nonnegative().max(86_400).nullish().catch(null),
});

/** A page of predictions, newest first; `next` is an absolute URL with a cursor. */
export const replicatePage = z.object({
  results: z.array(replicatePrediction),
  next: z.string().nullish(),
});
