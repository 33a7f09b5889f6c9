import { z } from 'zod';
import { sendJson, type Exchange } from './http.ts';

/** INFRO's error envelope; branch on `error.code`, not on the status. */
export function sendError(
  exchange: Exchange,
  status: number,
  code: string,
  message: string,
  type = 'invalid_request_error',
  headers?: Readonly<Record<string, string>>,
): void {
  sendJson(exchange, status, { error: { type, code, message } }, headers);
}

/** The body of `POST /v1/videos`. */
export const videoRequest = z.strictObject({
  model: z.string().regex(/^m-[a-z0-9-]{1,60}$/),
  prompt: z.string().min(1).max(4_000),
  duration_seconds: z.int().min(1).max(60).optional(),
  webhook: z.strictObject({ url: z.url({ protocol: /^https?$/ }) }).optional(),
});

/** The first thing wrong with a body, as INFRO would name it. */
export function validationError(error: z.ZodError): { readonly code: string; readonly message: string } {
  const [issue] = error.issues;
  const member = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys') {
    return { code: 'unknown_parameter', message: `Unknown parameter: ${issue.keys.join(', ')}.` };
  }
  if (member === 'model') return { code: 'model_not_found', message: 'This model does not exist.' };
  return { code: 'invalid_parameter', message: `Parameter ${member || 'body'} is missing or invalid.` };
}
