import type { Db } from './client.ts';

/**
 * Ids of the keys under which callbacks are still expected: of live submissions of open generations, of those that were
 * declared not accepted there, since the end plans looks for them, and of all that a late look will come to. After the last
 * look nothing is planned on a callback, so that its key may go.
 */
export async function liveCallbackKeyIds(db: Db): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT s.callback_key_id AS id FROM generation g JOIN submission s ON s.generation_id = g.id
    WHERE g.completed_at IS NULL AND s.ended_at IS NULL AND s.callback_key_id IS NOT NULL
      AND (s.state IN ('prepared', 'sending', 'unknown', 'accepted') OR s.state = 'abandoned' AND s.unknown_at IS NOT NULL)
    UNION SELECT callback_key_id FROM submission WHERE late_due_at IS NOT NULL AND callback_key_id IS NOT NULL ORDER BY id`;
  return rows.map(({ id }) => id);
}

/** Ids of the keys under which secrets that sign webhooks are sealed. */
export async function liveSecretKeyIds(db: Db): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT key_id AS id FROM webhook_secret WHERE expires_at IS NULL OR expires_at > now()::timestamptz(3) ORDER BY key_id`;
  return rows.map(({ id }) => id);
}
