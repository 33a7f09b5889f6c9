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

/** Ids of the keys under which secrets that sign webhooks are sealed. */
export async function liveSecretKeyIds(db: Db): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT key_id AS id FROM webhook_secret WHERE expires_at IS NULL OR expires_at > now() ORDER BY key_id`;
  return rows.map(({ id }) => id);
}
