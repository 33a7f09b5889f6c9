import type { ParsedUrlQuery } from 'node:querystring';
import { z } from 'zod';
import { fieldErrors, type FieldError } from '../services/issue-paths.ts';
import type { JsonObject } from '../domain/json.ts';
import { writtenText } from '../domain/text-schema.ts';
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

/** Some words for the record, as many as it keeps. */
export const reasonText = writtenText(500);

const FROM_1970_TO_9998 = '(?!0|1[0-8]|19[0-6]|9999)';

/** An ISO 8601 time with its zone that the database can keep. */
export const timeText = z.iso
  .datetime({
    offset: true,
    abort: true,
    error: 'Use an ISO 8601 time with its zone, like 2026-11-29T12:00:00Z.',
  })
  .regex(new RegExp(`^${FROM_1970_TO_9998}`), 'Use a time between 1970 and 9999.')
  .meta({
    override: {
      format: 'date-time',
      pattern: `^${FROM_1970_TO_9998}${z.regexes.datetime({ offset: true }).source.slice(1)}`,
      allOf: undefined,
    },
  });
