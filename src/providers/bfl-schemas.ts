import { z } from 'zod';
import { jobId } from './job-id.ts';

const status = z.string().min(1).max(64);

/** The answer to a submit: with a webhook it may have a status and no polling URL (AsyncResponse, AsyncWebhookResponse). */
export const bflAccepted = z.object({
  id: jobId,
  polling_url: z.string().max(2_048).nullish().catch(null),
  status: z.string().catch('not_given'),
  /** An estimate; null where the price depends on what comes out. */
  cost: z.unknown().optional(),
});

/** A task as `get_result` and webhooks show it. Its id is missing in some examples; `state` is an older name. */
export const bflTask = z
  .object({
    id: jobId.nullish(),
    status: status.nullish(),
    state: status.nullish(),
    /** 0 to 1, in the older schema. */
    progress: z.number().nullish().catch(null),
    result: z.object({ sample: z.unknown().optional() }).nullish().catch(null),
    /** A code or a text, with `Error`. */
    error: z.string().nullish().catch(null),
    /** The settled price. */
    cost: z.unknown().optional(),
  })
  .transform(({ state, ...task }) => ({ ...task, status: task.status ?? state ?? '' }))
  .refine((task) => task.status !== '', 'has neither status nor state');
export type BflTask = z.infer<typeof bflTask>;

/** Both shapes of an error: `{detail}`, a text or what is wrong with each member, and `{error, message, details?}`. */
export const bflError = z.union([
  z.object({
    error: z.string().min(1),
    retry_after: z.number().nonnegative().nullish().catch(null),
  }),
  z.object({
    detail: z.union([z.string(), z.array(z.object({ type: z.string().nullish().catch(null) }))]),
    retry_after: z.number().nonnegative().nullish().catch(null),
  }),
]);
