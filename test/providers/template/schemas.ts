import { z } from 'zod';
import { jobId } from '../../../src/providers/job-id.ts';

/** A job as `GET /v1/jobs/{id}` returns it. Only `id` and `status` are sure; the rest is read if usable. */
// [change] the members of its answers
export const tidewaterJob = z.object({
  id: jobId,
  status: z.string().min(1),
  output: z.array(z.unknown()).nullish().catch(null),
  expires_at: z.number().nullish().catch(null),
  cost: z.unknown().optional(),
  error: z
    .object({ code: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
});
export type TidewaterJob = z.infer<typeof tidewaterJob>;

/** The answer to a submit. */
export const tidewaterAccepted = z.object({ id: jobId, status: z.string().catch('not_given') });

/** Error envelope. */
export const tidewaterError = z.object({ error: z.object({ code: z.string().nullish().catch(null) }) });

// <signed, unsigned>
/** A callback: the bare job; its id is missing on types that we do not know. */
// [change] the members of a callback
export const tidewaterEvent = z.object({ id: jobId.nullish(), status: z.string().min(1).max(64) });
// </signed, unsigned>
