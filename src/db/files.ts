import { z } from 'zod';
import type { LinkSigner } from '../domain/file-links.ts';
import type { Db } from './client.ts';

/** A stored file as it is served. */
export interface ServedFile {
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly mediaType: string;
}

/** Whose links open a file now, and the file; null once it is deleted. */
export interface LinkedRow {
  readonly signer: LinkSigner;
  readonly file: ServedFile | null;
}

interface Row {
  tenantId: string;
  linkVersion: number;
  previousValid: boolean;
  state: string;
  path: string;
  bytes: bigint;
  sha256: Uint8Array;
  mediaType: string;
}

function linked(row: Row | undefined): LinkedRow | null {
  if (row === undefined) return null;
  const { tenantId, linkVersion, path, mediaType } = row;
  return {
    signer: { tenantId, linkVersions: row.previousValid ? [linkVersion, linkVersion - 1] : [linkVersion] },
    file:
      row.state === 'stored'
        ? { path, bytes: Number(row.bytes), sha256: Buffer.from(row.sha256).toString('hex'), mediaType }
        : null,
  };
}

/** An output, whosever it is: the caller checks the link. null = there never was one. */
export async function findOutputFile(db: Db, generationId: string, index: number): Promise<LinkedRow | null> {
  const rows = await db.prisma.$queryRaw<Row[]>`
    SELECT t.id AS "tenantId", t.link_version AS "linkVersion", coalesce(t.previous_links_until > now()::timestamptz(3), false) AS "previousValid",
      o.state, o.path, o.bytes, o.sha256, o.media_type AS "mediaType"
    FROM output o JOIN generation g ON g.id = o.generation_id JOIN tenant t ON t.id = g.tenant_id
    WHERE o.generation_id = ${generationId} AND o.index = ${index}`;
  return linked(rows[0]);
}

/** An input, whosever it is: the caller checks the link. null = there never was one. */
export async function findInputFile(db: Db, inputId: string): Promise<LinkedRow | null> {
  const rows = await db.prisma.$queryRaw<Row[]>`
    SELECT t.id AS "tenantId", t.link_version AS "linkVersion", coalesce(t.previous_links_until > now()::timestamptz(3), false) AS "previousValid",
      i.state, i.path, i.bytes, i.sha256, i.media_type AS "mediaType"
    FROM stored_input i JOIN tenant t ON t.id = i.tenant_id WHERE i.id = ${inputId}`;
  return linked(rows[0]);
}

const deleted = z.object({
  outcome: z.enum(['deleting', 'not_found', 'not_terminal']),
  count: z.int().optional(),
});

/** The tenant's wish to delete what was delivered; the files go soon after. */
export function deleteOutputs(db: Db, params: { readonly generationId: string; readonly tenantId: string }) {
  return db.call('delete_outputs', { ...params }, deleted);
}

export type Erasure =
  | { readonly generationId: string; readonly tenantId: string }
  /** By an operator, on record. */
  | {
      readonly generationId: string;
      readonly tenantId: null;
      readonly actor: string;
      readonly reason: string;
    };

/** Takes what was asked for out of every row, once the generation has ended; the same when it was erased before. */
export function eraseGeneration(
  db: Db,
  params: Erasure,
): Promise<{ outcome: 'erased' | 'not_found' | 'not_terminal' }> {
  return db.call(
    'erase_generation',
    { ...params },
    z.object({ outcome: z.enum(['erased', 'not_found', 'not_terminal']) }),
  );
}

const removal = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('output'), generationId: z.string(), index: z.int(), path: z.string() }),
  z.object({ kind: z.literal('input'), inputId: z.string(), path: z.string() }),
]);
/** A file to remove from the storage. */
export type FileRemoval = z.infer<typeof removal>;

/** Marks what has expired and hands out files to remove, each to one process until the lease ends. */
export function claimFileRemovals(
  db: Db,
  params: { readonly limit: number; readonly leaseMs: number },
): Promise<FileRemoval[]> {
  return db.call('claim_file_removals', { ...params }, z.array(removal));
}

/** The file is gone from the storage. */
export async function finishFileRemoval(db: Db, file: FileRemoval): Promise<void> {
  await db.call('finish_file_removal', { ...file }, z.boolean());
}

/** How many files wait to be removed, those of a failed removal included; counts to 100,000. */
export async function countFileRemovals(db: Db): Promise<number> {
  const [row] = await db.prisma.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) AS count FROM (
      (SELECT 1 FROM output WHERE state = 'deleting' LIMIT 100000)
      UNION ALL (SELECT 1 FROM stored_input WHERE state = 'deleting' LIMIT 100000)) AS waiting`;
  return Number(row?.count ?? 0);
}

const pruned = z.object({ callbacks: z.int(), events: z.int(), webhooks: z.int(), more: z.boolean() });
/** Rows that one pass removed, and whether its limit ended it. */
export type Pruned = z.infer<typeof pruned>;

/** One bounded pass over old history; `limit` counts callbacks, generations with their events, and webhooks. */
export function pruneHistory(
  db: Db,
  params: { readonly keepMs: number; readonly unmatchedKeepMs: number; readonly limit: number },
): Promise<Pruned> {
  return db.call('prune_history', { ...params }, pruned);
}

/** Who acts, and why: for the record of operators. */
interface OnRecord {
  readonly actor: string;
  readonly reason: string;
}

/**
 * How long outputs of a tenant are kept that are stored from now on, in hours (24 to 87600); null = the default.
 * @returns false for no such tenant
 */
export function setRetention(
  db: Db,
  params: OnRecord & { readonly tenantId: string; readonly retentionHours: number | null },
): Promise<boolean> {
  return db.call('set_retention', { ...params }, z.boolean());
}

/**
 * A new key for a tenant's links; those made under the one before work for `overlapMs` more.
 * @returns false for no such tenant
 */
export function rotateLinks(
  db: Db,
  params: OnRecord & { readonly tenantId: string; readonly overlapMs: number },
): Promise<boolean> {
  return db.call('rotate_links', { ...params }, z.boolean());
}
