import { liveCallbackKeyIds } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import type { Keyring } from '../domain/keyring.ts';

/**
 * Refuses to start without a key under which a live submission expects its callback.
 * @throws Error naming the key ids, never a key
 */
export async function checkKeyring(ctx: { readonly db: Db; readonly keyring: Keyring }): Promise<void> {
  const known = new Set(ctx.keyring.keys.map(({ id }) => id));
  const missing = (await liveCallbackKeyIds(ctx.db)).filter((id) => !known.has(id));
  if (missing.length > 0) {
    throw new Error(
      `KEYRING lacks the key ${missing.join(', ')}, under which jobs still expect callbacks: put it back behind the current one until they have ended.`,
    );
  }
}
