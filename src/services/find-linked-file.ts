import { findInputFile, findOutputFile, type LinkedRow, type ServedFile } from '../db/index.ts';
import type { LinkedFile } from '../domain/file-links.ts';
import type { ServiceContext } from './context.ts';

export interface FoundFile {
  readonly outcome: 'found';
  readonly linked: LinkedFile;
  readonly tenantId: string;
  readonly file: ServedFile;
  readonly linkExpiresAt: Date;
}

export type LinkedFileOutcome =
  | FoundFile
  | { readonly outcome: 'link_invalid' | 'link_expired' | 'not_found' };

export interface LinkedFileInput {
  /** null = of no id that could be ours. */
  readonly file: LinkedFile | null;
  /** As they were sent. */
  readonly path: string;
  readonly query: string;
}

/**
 * The file that a link opens. Without a valid link a file that never was, one that is deleted and one of any tenant are
 * the same answer; the row decides, so a link is dead as soon as its file is deleted.
 */
export async function findLinkedFile(
  ctx: Pick<ServiceContext, 'db' | 'links'>,
  { file, path, query }: LinkedFileInput,
): Promise<LinkedFileOutcome> {
  const row = file === null ? null : await findRow(ctx, file);
  const link = ctx.links.verify(row?.signer ?? null, path, query);
  if (link.verdict !== 'valid') return { outcome: `link_${link.verdict}` };
  if (file === null || row === null || row.file === null) return { outcome: 'not_found' };
  const { tenantId } = row.signer;
  return { outcome: 'found', linked: file, tenantId, file: row.file, linkExpiresAt: link.expiresAt };
}

/** Whether the file is still there, for whoever could not read it. */
export async function isStored(ctx: Pick<ServiceContext, 'db'>, file: LinkedFile): Promise<boolean> {
  return ((await findRow(ctx, file))?.file ?? null) !== null;
}

function findRow({ db }: Pick<ServiceContext, 'db'>, file: LinkedFile): Promise<LinkedRow | null> {
  return file.kind === 'output'
    ? findOutputFile(db, file.generationId, file.index)
    : findInputFile(db, file.inputId);
}
