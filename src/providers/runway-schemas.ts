import { z } from 'zod';

/** Runway's task ids are UUIDs; never a slash or dot, since an id goes into a path. */
const taskId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const credits = z.object({ credits: z.number().nonnegative() }).nullish().catch(null);

/** The answer to a submit. `estimatedCost` is newer than the first clients of this API, so it may be missing. */
export const runwayAccepted = z.object({ id: taskId, estimatedCost: credits });

/** A task as `GET /v1/tasks/{id}` shows it. Only `id` and `status` are sure; the rest depends on the status. */
export const runwayTask = z.object({
  id: taskId,
  status: z.string().min(1),
  progress: z.number().nullish().catch(null),
  output: z.array(z.unknown()).nullish().catch(null),
  failureCode: z.string().nullish().catch(null),
  cost: credits,
});
export type RunwayTask = z.infer<typeof runwayTask>;

/** Error envelope: `error` is a text for people; `issues` name what is wrong with a body. */
export const runwayError = z.object({
  error: z.string(),
  issues: z
    .array(z.object({ code: z.string().nullish().catch(null) }))
    .nullish()
    .catch(null),
});
