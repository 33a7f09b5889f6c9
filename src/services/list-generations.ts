import { listGenerations as readGenerations } from '../db/index.ts';
import type { State } from '../domain/generation.ts';
import { viewGeneration, type GenerationView } from '../domain/generation-view.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import type { ServiceContext } from './context.ts';
import { generationFacts } from './generation-facts.ts';

export interface ListGenerationsInput {
  readonly tenantId: string;
  readonly account?: string | undefined;
  readonly state?: State | undefined;
  readonly model?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface GenerationPage {
  readonly data: readonly GenerationView[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Newest first; one row more than asked for tells whether there is another page. */
export async function listGenerations(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  input: ListGenerationsInput,
): Promise<GenerationPage> {
  const rows = await readGenerations(ctx.db, { ...input, limit: input.limit + 1 });
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  const hasMore = rows.length > page.length;
  return {
    data: page.map((row) => viewGeneration(generationFacts(row, ctx.links))),
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? encodeCursor(last) : null,
  };
}
