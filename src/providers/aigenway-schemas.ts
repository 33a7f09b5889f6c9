import { z } from 'zod';
import { jobId } from './job-id.ts';

const code = z.string().nullish().catch(null);

/** The error envelope of every refusal: `{success: false, error: {code, message, details?, request_id?}}`. */
export const aigenwayError = z.object({
  error: z.object({
    code,
    details: z.object({ retryAfterSeconds: z.number().nonnegative().nullish() }).nullish().catch(null),
  }),
});

/** The 202 of a submit. */
export const aigenwayAccepted = z.object({
  task_id: jobId,
  status: z.string().catch('not_given'),
  reserved_amount: z.unknown().optional(),
  currency: z.string().nullish().catch(null),
});

const file = z.object({ url: z.unknown().optional(), available_until: z.string().nullish().catch(null) });

/** A task as `GET /v1/tasks/{id}` shows it. Only id and status are sure; the rest is read if usable. */
const task = z.object({
  id: jobId,
  status: z.string().min(1),
  reserved_amount: z.unknown().optional(),
  result: file
    .extend({ files: z.array(file).nullish().catch(null) })
    .nullish()
    .catch(null),
  result_files: z.array(file).nullish().catch(null),
  error_code: code,
});
export type AigenwayTask = z.infer<typeof task>;

/** The task itself, or inside `{success, task}`: Aigenway's pages show the first, its service sends the second. */
export const aigenwayTask = z.union([z.object({ task }).transform((body) => body.task), task]);

/** A webhook: the same task with `task_id` and a lower-case status. */
export const aigenwayEvent = z.object({ task_id: jobId, status: z.string().min(1).max(64) });
