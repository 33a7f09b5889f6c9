import { z } from 'zod';

/** Kling's ids are digits in text. Never a comma: the query takes lists; never a slash or dot. */
const jobId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const text = z.string().nullish().catch(null);

/** Unix milliseconds; some answers of the older API carry them as text. */
const milliseconds = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{10,16}$/)
      .transform(Number),
  ])
  .nullish()
  .catch(null);

/** One line of `billing`: money from the balance (`cash`) or units from a resource package (`unit`). */
const charge = z.object({
  charge_type: text,
  amount: z.union([z.string(), z.number()]).nullish().catch(null),
  currency: text,
});
export type KlingCharge = z.infer<typeof charge>;

/** A task as `GET /tasks`, `POST /tasks` and callbacks show it. Only `id` and `status` are sure. */
export const klingTask = z.object({
  id: jobId,
  status: z.string().min(1),
  external_id: text,
  message: text,
  update_time: milliseconds,
  outputs: z
    .array(z.object({ type: text, url: text }).catch({}))
    .nullish()
    .catch(null),
  billing: z.array(charge.catch({})).nullish().catch(null),
});
export type KlingTask = z.infer<typeof klingTask>;

/** Every answer of the API, whatever its HTTP status: `code` 0 is success, all else an error. */
export const klingEnvelope = z.object({ code: z.int(), message: text, data: z.unknown().optional() });

/** `data` of an accepted submit. */
export const klingAccepted = z.object({ id: jobId, status: z.string().catch('not_given') });

/** `data` of a query by ids. A task of which not even id and status can be read makes the whole unreadable. */
export const klingTasks = z.array(klingTask);

/** `data` of the list. */
export const klingPage = z.object({
  result: z.array(klingTask),
  has_more: z.boolean(),
  next_cursor: z.string().min(1).max(1_000).nullish().catch(null),
});

/** A callback: the bare task. The older API wraps names as `task_id` and `task_status`; both are only a hint. */
export const klingCallback = z.object({
  id: jobId.optional(),
  task_id: jobId.optional(),
  status: z.string().optional().catch(undefined),
  task_status: z.string().optional().catch(undefined),
});
