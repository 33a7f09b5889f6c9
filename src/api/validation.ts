import type { ParsedUrlQuery } from 'node:querystring';
import type { z } from 'zod';
import { fieldErrors } from '../services/issue-paths.ts';
import { Problem } from './problems.ts';

/** The query as the schema reads it; unknown and repeated parameters are refused. @throws Problem 400. */
export function parseQuery<T>(schema: z.ZodType<T>, query: ParsedUrlQuery): T {
  const parsed = schema.safeParse({ ...query }, { reportInput: true });
  if (parsed.success) return parsed.data;
  const errors = fieldErrors(parsed.error).map(({ path, message }) => ({
    path,
    message: Array.isArray(query[path.slice(1)]) ? 'Give this parameter once.' : message,
  }));
  throw new Problem('invalid_query', 'Correct the query parameters listed in "errors".', { errors });
}
