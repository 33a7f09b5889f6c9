import { z } from 'zod';
import type { Db } from './client.ts';

/** A file that a tenant gave, as it was stored. */
export interface NewInput {
  readonly inputId: string;
  readonly tenantId: string;
  readonly source: 'upload' | 'url';
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly mediaType: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationSeconds: number | null;
  /** Of the upload; null for a file fetched from its URL. */
  readonly idempotencyKey: string | null;
  /** How long it stays when no generation uses it; an upload's own tenant may have another retention. */
  readonly keepMs: number;
}

const recorded = z.object({ outcome: z.enum(['created', 'replayed', 'key_reuse']), inputId: z.string() });

/** Makes a stored file an input; on `replayed` and `key_reuse` another file stands and the caller removes its own. */
export function recordInput(db: Db, input: NewInput): Promise<z.infer<typeof recorded>> {
  return db.call('record_input', { ...input }, recorded);
}

/** Inputs of this tenant that are there, in any order; ids of others are left out. */
export function findInputs(db: Db, tenantId: string, ids: readonly string[]) {
  return db.prisma.storedInput.findMany({ where: { tenantId, id: { in: [...ids] }, state: 'stored' } });
}
export type InputRow = Awaited<ReturnType<typeof findInputs>>[number];

/** Lets go, soon, of files that were fetched for a generation that was refused; what something uses stays. */
export async function dropFetchedInputs(db: Db, tenantId: string, ids: readonly string[]): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE stored_input i SET expires_at = now() WHERE i.tenant_id = ${tenantId} AND i.id = ANY (${[...ids]})
      AND i.source = 'url' AND i.state = 'stored' AND NOT EXISTS (SELECT 1 FROM generation_input u WHERE u.input_id = i.id)`;
}

/** One input of a generation, with the version of its tenant's key that links are signed with. */
export interface GenerationInput {
  readonly field: string;
  readonly linkVersion: number;
  /** Of the generation. */
  readonly deadlineAt: Date;
  readonly input: InputRow;
}

/** The inputs of a generation by field, for its submit; also those whose file is deleted. */
export async function findGenerationInputs(db: Db, generationId: string): Promise<GenerationInput[]> {
  const rows = await db.prisma.generationInput.findMany({
    where: { generationId },
    include: {
      generation: { select: { deadlineAt: true } },
      input: { include: { tenant: { select: { linkVersion: true } } } },
    },
  });
  return rows.map(({ field, generation, input: { tenant, ...input } }) => ({
    field,
    linkVersion: tenant.linkVersion,
    deadlineAt: generation.deadlineAt,
    input,
  }));
}
