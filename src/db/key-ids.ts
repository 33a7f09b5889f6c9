import type { Db } from './client.ts';

/** Ids of the keys under which live submissions expect their callbacks. */
export async function liveCallbackKeyIds(db: Db): Promise<string[]> {
  const rows = await db.prisma.submission.findMany({
    where: {
      callbackKeyId: { not: null },
      endedAt: null,
      state: { in: ['prepared', 'sending', 'unknown', 'accepted'] },
    },
    select: { callbackKeyId: true },
    distinct: ['callbackKeyId'],
  });
  return rows.flatMap(({ callbackKeyId }) => (callbackKeyId === null ? [] : [callbackKeyId]));
}
