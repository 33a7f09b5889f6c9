import type { Db } from '../db/index.ts';

export interface StoredAnswer {
  readonly generationId: string;
  /** Lower-case hex. */
  readonly requestSha256: string;
  readonly responseBody: string;
}

/** What an idempotency key already stands for, or null when it is free. */
export async function findStoredAnswer(
  db: Db,
  key: { readonly tenantId: string; readonly idempotencyRoute: string; readonly idempotencyKey: string },
): Promise<StoredAnswer | null> {
  const row = await db.prisma.generation.findFirst({
    where: key,
    select: { id: true, requestSha256: true, responseBody: true },
  });
  return row === null
    ? null
    : {
        generationId: row.id,
        requestSha256: Buffer.from(row.requestSha256).toString('hex'),
        responseBody: row.responseBody,
      };
}
