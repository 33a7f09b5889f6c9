import { listCallbacks as readCallbacks, readCallbackBody, type CallbackRow } from '../db/read-callbacks.ts';
import { encodeCursor, type Position } from '../domain/http/cursor.ts';
import type { CallbackView } from '../domain/operated-generation.ts';
import type { ServiceContext } from './context.ts';

/** Ids of callbacks: `cbk_` and the row's number. */
export const CALLBACK_ID = /^cbk_([1-9]\d{0,17})$/;

type Context = Pick<ServiceContext, 'db' | 'runUrl'>;

export interface ListCallbacksInput {
  readonly provider?: string | undefined;
  readonly submissionId?: string | undefined;
  readonly generationId?: string | undefined;
  readonly jobId?: string | undefined;
  readonly unmatched?: boolean | undefined;
  readonly unseen?: boolean | undefined;
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface CallbackPage {
  readonly data: readonly CallbackView[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** The inbox, newest first, without bodies. */
export async function listCallbacks(
  ctx: Context,
  { after, limit, ...filter }: ListCallbacksInput,
): Promise<CallbackPage> {
  const beforeId = after === undefined ? undefined : (numberOf(after.id) ?? undefined);
  const rows = await readCallbacks(ctx.db, { ...filter, beforeId, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > page.length && last !== undefined;
  return {
    data: page.map((row) => viewCallback(row, ctx.runUrl)),
    has_more: more,
    next_cursor: more ? encodeCursor({ createdAt: last.receivedAt, id: `cbk_${last.id}` }) : null,
  };
}

/** One callback, null when there is none; its body, as it came (without our token), only if it is asked for. */
export async function showCallback(
  ctx: Context,
  { id, body }: { readonly id: string; readonly body: boolean },
): Promise<{ readonly callback: CallbackView; readonly body: Uint8Array | null } | null> {
  const number = numberOf(id);
  if (number === null) return null;
  const [row] = await readCallbacks(ctx.db, { id: number, limit: 1 });
  if (row === undefined) return null;
  return {
    callback: viewCallback(row, ctx.runUrl),
    body: body ? await readCallbackBody(ctx.db, number) : null,
  };
}

export function viewCallback(row: CallbackRow, runUrl: ServiceContext['runUrl']): CallbackView {
  return {
    object: 'callback',
    id: `cbk_${row.id}`,
    provider: row.provider,
    credential: row.credential,
    submission: row.submissionId,
    generation: row.generationId,
    temporal_url: row.generationId === null ? null : runUrl(row.generationId),
    job_id: row.jobId,
    type: row.type,
    terminal: row.terminal,
    progress: row.progress,
    bytes: row.bytes,
    received_at: row.receivedAt.toISOString(),
    seen_at: row.seenAt?.toISOString() ?? null,
  };
}

function numberOf(id: string): bigint | null {
  const digits = CALLBACK_ID.exec(id)?.[1];
  return digits === undefined ? null : BigInt(digits);
}
