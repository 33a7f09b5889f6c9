import { z } from 'zod';
import { cursorPattern, decodeCursor, type Position } from '../domain/http/cursor.ts';
import { Problem } from './problems.ts';

const DEFAULT_LIMIT = 20;

const limit = z
  .string()
  .regex(/^([1-9]\d?|100)$/, 'Use a whole number from 1 to 100.')
  .optional()
  .meta({
    description: 'How many at most.',
    override: { type: 'integer', minimum: 1, maximum: 100, default: DEFAULT_LIMIT, pattern: undefined },
  });

/** The query parameters of every list. @param idForm of the ids of its rows */
export function pageQuery(idForm: RegExp) {
  const after = z
    .string()
    .max(200)
    .optional()
    .meta({
      description: '`next_cursor` of the page before.',
      // Told here, checked by `pageOf`, which has an answer of its own for it.
      override: { pattern: cursorPattern(idForm) },
    });
  return { limit, after };
}

/** One page of a list. */
export function pageSchema<T extends z.ZodType>(row: T) {
  return z.object({
    data: z.array(row).meta({ description: 'Newest first.' }),
    has_more: z.boolean().meta({ description: 'Whether there is another page.' }),
    next_cursor: z.string().nullable().meta({ description: 'Send it as `after` to get the next page.' }),
  });
}

interface Page {
  readonly limit: number;
  readonly after: Position | undefined;
}

/** The page asked for. @throws Problem 400 for a cursor that we did not make for this list. */
export function pageOf(
  query: { readonly limit?: string | undefined; readonly after?: string | undefined },
  idForm: RegExp,
): Page {
  const limit = query.limit === undefined ? DEFAULT_LIMIT : Number(query.limit);
  if (query.after === undefined) return { limit, after: undefined };
  const after = decodeCursor(query.after, idForm);
  if (after === null) {
    throw new Problem(
      'invalid_cursor',
      'Use next_cursor of the page before as it is, or begin without "after".',
    );
  }
  return { limit, after };
}
