import { z } from 'zod';
import { jobId } from './job-id.ts';

const text = z.string().nullish().catch(null);

/** The answer to a submit: the id is all of it. */
export const minimaxAccepted = z.object({ task_id: jobId });
/** A body that names a task, readable for us or not; '' and 0 name none. */
export const minimaxNamed = z.object({ task_id: z.union([z.string().min(1), z.number().positive()]) });

/** A task as the query and callbacks show it. Only `id` and `status` are sure; the rest depends on the status. */
const minimaxTask = z.object({
  id: jobId,
  status: z.string().min(1),
  content: z.object({ url: z.unknown().optional() }).nullish().catch(null),
  /** Seconds that were metered, of input videos and output together; told of a success only. */
  usage: z
    .object({ total_seconds: z.number().nullish().catch(null) })
    .nullish()
    .catch(null),
  error: z
    .object({
      code: z
        .union([z.string(), z.number().transform(String)])
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
});
export type MinimaxTask = z.infer<typeof minimaxTask>;

/** The answer to a query, and the body of a callback. */
export const minimaxTaskAnswer = z.object({ task: minimaxTask });

/** The body of a callback as version 1 shows it. */
export const minimaxOldCallback = z.object({ task_id: jobId, status: text });

/** The answer to a DELETE: what was done to the task. */
export const minimaxDeleted = z.object({ task_id: jobId, action: z.string() });

const errorAnswer = z.object({
  error: z.object({ type: text, message: text }),
});
const baseResp = z.object({
  base_resp: z.object({ status_code: z.int(), status_msg: text }),
});

/** What is wrong, in MiniMax's words; a number in text as `code`. */
interface MinimaxFault {
  readonly code: string | null;
  readonly type: string | null;
  readonly message: string;
}

/** The fault in version 2's error envelope, whose code stands at the end of the message: `… (1004)`. */
export function minimaxError(body: unknown): MinimaxFault | null {
  const error = errorAnswer.safeParse(body).data?.error;
  if (error === undefined) return null;
  const message = error.message ?? '';
  return { code: /\((\d{1,6})\)\s*$/.exec(message)?.[1] ?? null, type: error.type ?? null, message };
}

/** The fault that version 1 puts into an answer of HTTP 200; null also for code 0. */
export function minimaxBaseFault(body: unknown): MinimaxFault | null {
  const found = baseResp.safeParse(body).data?.base_resp;
  if (found === undefined || found.status_code === 0) return null;
  return { code: String(found.status_code), type: null, message: found.status_msg ?? '' };
}
