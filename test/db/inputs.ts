import { recordInput } from '../../src/db/index.ts';
import type { Db, NewInput } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Tenant } from './fixtures.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** An uploaded picture that nobody uses yet. */
export function inputOf(tenant: Tenant, over: Partial<NewInput> = {}): NewInput {
  const inputId = over.inputId ?? newId('inp');
  return {
    inputId,
    tenantId: tenant.id,
    source: 'upload',
    path: `${inputId}/0-1`,
    bytes: 100,
    sha256: 'ab'.repeat(32),
    mediaType: 'image/png',
    width: 8,
    height: 8,
    durationSeconds: null,
    idempotencyKey: null,
    keepMs: 30 * DAY_MS,
    ...over,
  };
}

/** Its id. */
export async function newInput(db: Db, tenant: Tenant, over: Partial<NewInput> = {}): Promise<string> {
  const { outcome, inputId } = await recordInput(db, inputOf(tenant, over));
  if (outcome !== 'created') throw new Error(`record_input said ${outcome}`);
  return inputId;
}

export function inputRow(db: Db, id: string) {
  return db.prisma.storedInput.findUniqueOrThrow({ where: { id } });
}

/** What `inputs` of a new generation looks like. */
export const uses = (...ids: readonly string[]) => ({
  inputs: ids.map((inputId, i) => ({ field: `image_url_${i}`, inputId })),
});
