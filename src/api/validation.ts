import type { ParsedUrlQuery } from 'node:querystring';
import { z } from 'zod';
import { fieldErrors, type FieldError } from '../services/issue-paths.ts';
import type { JsonObject } from '../domain/json.ts';
import { Problem } from './problems.ts';

/** The query as the schema reads it; unknown and repeated parameters are refused. @throws Problem 400. */
export function parseQuery<T>(schema: z.ZodType<T>, query: ParsedUrlQuery): T {
  const parsed = schema.safeParse({ ...query }, { reportInput: true });
  if (parsed.success) return parsed.data;
  const errors = fieldErrors(parsed.error).map(({ path, message }) => ({
    path,
    message: Array.isArray(query[path.slice(1)]) ? 'Give this parameter once.' : message,
  }));
  throw invalidQuery(errors);
}

export function invalidQuery(errors: readonly FieldError[]): Problem {
  return new Problem('invalid_query', 'Correct the query parameters listed in "errors".', { errors });
}

/** The body as the schema reads it; every wrong field is named. @throws Problem 400. */
export function parseBody<T>(schema: z.ZodType<T>, body: JsonObject): T {
  const parsed = schema.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalidRequest(fieldErrors(parsed.error));
}

export function invalidRequest(errors: readonly FieldError[]): Problem {
  return new Problem('invalid_request', 'Correct the fields listed in "errors".', { errors });
}

/** Some words for the record, as many as it keeps; NUL is refused by the JSON reader. */
export const reasonText = z
  .string()
  .max(500)
  .refine((text) => /\S/.test(text), 'Write some text; white space alone is not enough.')
  .meta({ minLength: 1 });
