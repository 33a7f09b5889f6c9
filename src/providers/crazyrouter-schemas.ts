import { z } from 'zod';
import { jobId } from './job-id.ts';

const code = z.string().nullish().catch(null);

/** The answer to a create. */
export const crazyrouterAccepted = z.object({ id: jobId, status: z.string().catch('not_given') });

/** A task: only id and status are sure; the members with its result differ by model and are read by name. */
export const crazyrouterTask = z.looseObject({ id: jobId, status: z.string().min(1).max(64) });
export type CrazyrouterTask = z.infer<typeof crazyrouterTask>;

/** Both forms of an error: `{error: {message, type, code}}`, and `{code, message, data}` of the task routes. */
const error = z.object({
  error: z.object({ code, type: code }).nullish().catch(null),
  code,
});

/** The code and type of an error body, null for what is not there. */
export function crazyrouterError(body: unknown): {
  readonly code: string | null;
  readonly type: string | null;
} {
  const found = error.safeParse(body).data;
  return { code: found?.error?.code ?? found?.code ?? null, type: found?.error?.type ?? null };
}
