import { TERMINAL_STATES } from '../domain/generation.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Db } from './client.ts';
import { Prisma } from './generated/client.ts';

/** A stored file of a generation, or one that was. */
export interface OutputRow {
  readonly index: number;
  readonly state: 'stored' | 'deleting' | 'deleted';
  readonly path: string | null;
  readonly bytes: number | null;
  /** Hex. */
  readonly sha256: string | null;
  readonly mediaType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  readonly expiresAt: Date | null;
}

/** A generation as it is read for an answer: its row, hold, account name and outputs that were stored. */
export interface GenerationRow {
  readonly id: string;
  readonly tenantId: string;
  readonly linkVersion: number;
  readonly account: string;
  readonly model: string;
  readonly provider: string;
  readonly input: JsonObject;
  readonly metadata: JsonObject;
  /** As it is stored. */
  readonly plan: unknown;
  readonly state: string;
  readonly stage: string;
  readonly delivery: string;
  readonly progress: number | null;
  readonly errorCode: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly cancelRequestedBy: string | null;
  readonly cancelOutcome: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
  readonly deadlineAt: Date;
  readonly completedAt: Date | null;
  readonly erasedAt: Date | null;
  readonly hold: {
    readonly amount: number;
    readonly captured: number;
    readonly refunded: number;
    readonly state: string;
  } | null;
  readonly outputs: readonly OutputRow[];
}

type ReadRow = Omit<GenerationRow, 'outputs'> & {
  readonly outputs: readonly (Omit<OutputRow, 'expiresAt'> & { readonly expiresAt: string | null })[];
};

/** What is read of each row of `g`, which is cut to what is shown before anything is joined. */
const COLUMNS = `g.id, g.tenant_id AS "tenantId", g.model, g.provider, g.input, g.metadata, g.plan, g.state, g.stage,
  g.delivery, g.progress, g.error_code AS "errorCode", g.cancel_requested_at AS "cancelRequestedAt",
  g.cancel_requested_by AS "cancelRequestedBy", g.cancel_outcome AS "cancelOutcome", g.created_at AS "createdAt",
  g.updated_at AS "updatedAt", g.started_at AS "startedAt", g.deadline_at AS "deadlineAt",
  g.completed_at AS "completedAt", g.erased_at AS "erasedAt",
  t.link_version AS "linkVersion", a.name AS account,
  (SELECT json_build_object('amount', h.amount, 'captured', h.captured, 'refunded', h.refunded, 'state', h.state)
    FROM hold h WHERE h.generation_id = g.id) AS hold,
  coalesce((SELECT json_agg(json_build_object('index', o.index, 'state', o.state, 'path', o.path, 'bytes', o.bytes,
      'sha256', encode(o.sha256, 'hex'), 'mediaType', o.media_type, 'width', o.width, 'height', o.height,
      'durationSeconds', o.duration_seconds, 'expiresAt', o.expires_at) ORDER BY o.index)
    FROM output o WHERE o.generation_id = g.id AND o.state IN ('stored', 'deleting', 'deleted')), '[]') AS outputs`;

/** These generations, newest first. @param which the rest of a SELECT from generation */
async function read(db: Db, which: string, values: readonly unknown[]): Promise<GenerationRow[]> {
  // Joined, not looked up for each row: of a small table that would be a scan each time.
  const rows = await db.query<ReadRow>(
    `SELECT ${COLUMNS} FROM (SELECT * FROM generation ${which}) AS g
      JOIN tenant t ON t.id = g.tenant_id JOIN ledger_account a ON a.id = g.account_id
      ORDER BY g.created_at DESC, g.id DESC`,
    values,
  );
  return rows.map((row) => ({
    ...row,
    outputs: row.outputs.map((output) => ({
      ...output,
      expiresAt: output.expiresAt === null ? null : new Date(output.expiresAt),
    })),
  }));
}

/** One generation of this tenant, or null; another tenant's id is null like an unknown one. */
export async function findGeneration(db: Db, tenantId: string, id: string): Promise<GenerationRow | null> {
  const rows = await read(db, 'WHERE id = $1 AND tenant_id = $2', [id, tenantId]);
  return rows[0] ?? null;
}

/** Those of these ids that are this tenant's, newest first. */
export function readGenerationsById(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<GenerationRow[]> {
  return read(db, 'WHERE tenant_id = $1 AND id = ANY($2)', [tenantId, ids]);
}

export interface GenerationFilter {
  readonly tenantId: string;
  readonly account?: string | undefined;
  readonly state?: string | undefined;
  readonly model?: string | undefined;
  readonly createdAfter?: Date | undefined;
  /** Up to `limit` rows after this one, newest first. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
}

const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC';

/** Newest first, by (created_at, id): stable under inserts and equal times. */
export async function listGenerations(db: Db, filter: GenerationFilter): Promise<GenerationRow[]> {
  const { tenantId, account, state, model, createdAfter, after, limit } = filter;
  if (account === undefined && state === undefined && model === undefined) {
    const values: unknown[] = [tenantId, limit];
    const bind = (value: unknown) => `$${values.push(value)}`;
    const where = ['tenant_id = $1'];
    if (createdAfter !== undefined) where.push(`created_at > ${bind(createdAfter)}`);
    if (after !== undefined)
      where.push(`(created_at, id) < (${bind(after.createdAt)}::timestamptz, ${bind(after.id)})`);
    return read(db, `WHERE ${where.join(' AND ')} ${NEWEST_FIRST} LIMIT $2`, values);
  }
  // One that moves on in between is shown as it is then; left out, it would end the page.
  const ids = await listIds(db, filter);
  return read(db, 'WHERE id = ANY($1)', [ids]);
}

/**
 * The ids of a narrowed page. Each part is the range of one index, so that what is rare is found without reading what is not:
 * of ended rows generation_ended_state, _account or _model, of an account's rows hold_history; open rows are few.
 */
async function listIds(db: Db, filter: GenerationFilter): Promise<string[]> {
  const { tenantId, account, state, model, createdAfter, after, limit } = filter;
  const accountId =
    account === undefined
      ? undefined
      : (
          await db.prisma.ledgerAccount.findFirst({
            where: { tenantId, name: account },
            select: { id: true },
          })
        )?.id;
  if (account !== undefined && accountId === undefined) return [];
  const since = (time: Prisma.Sql, id: Prisma.Sql) => [
    ...(createdAfter === undefined ? [] : [Prisma.sql`${time} > ${createdAfter}`]),
    ...(after === undefined ? [] : [Prisma.sql`(${time}, ${id}) < (${after.createdAt}, ${after.id})`]),
  ];
  const ofModel = model === undefined ? [] : [Prisma.sql`g.model = ${model}`];
  if (accountId !== undefined && state === undefined) {
    const where = [
      Prisma.sql`h.account_id = ${accountId}`,
      ...since(Prisma.sql`h.created_at`, Prisma.sql`h.generation_id`),
      ...ofModel,
    ];
    const rows = await db.prisma.$queryRaw<{ id: string }[]>`
      SELECT g.id FROM hold h JOIN generation g ON g.id = h.generation_id
      WHERE ${Prisma.join(where, ' AND ')} ORDER BY h.created_at DESC, h.generation_id DESC LIMIT ${limit}`;
    return rows.map(({ id }) => id);
  }
  const where = Prisma.join(
    [
      Prisma.sql`g.tenant_id = ${tenantId}`,
      ...(accountId === undefined ? [] : [Prisma.sql`g.account_id = ${accountId}`]),
      ...(state === undefined ? [] : [Prisma.sql`g.state = ${state}`]),
      ...since(Prisma.sql`g.created_at`, Prisma.sql`g.id`),
      ...ofModel,
    ],
    ' AND ',
  );
  const part = (
    which: Prisma.Sql,
  ) => Prisma.sql`(SELECT g.id, g.created_at FROM generation g WHERE ${which} AND ${where}
    ORDER BY g.created_at DESC, g.id DESC LIMIT ${limit})`;
  const ended = (TERMINAL_STATES as readonly string[]).includes(state ?? '');
  const parts = [
    ...(state === undefined || ended ? [part(Prisma.sql`g.completed_at IS NOT NULL`)] : []),
    ...(ended ? [] : [part(Prisma.sql`g.completed_at IS NULL`)]),
  ];
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM (${Prisma.join(parts, ' UNION ALL ')}) AS page ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  return rows.map(({ id }) => id);
}
