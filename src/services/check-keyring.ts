import { liveCallbackKeyIds, liveSecretKeyIds } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import type { Keyring } from '../domain/keyring.ts';

/**
 * Refuses to start without a key under which a live submission expects its callback, or under which a secret is sealed
 * that signs webhooks.
 * @throws Error naming the key ids, never a key
 */
export async function checkKeyring(ctx: { readonly db: Db; readonly keyring: Keyring }): Promise<void> {
  const known = new Set(ctx.keyring.keys.map(({ id }) => id));
  const lacking = (ids: readonly string[]) => ids.filter((id) => !known.has(id)).join(', ');
  const callbacks = lacking(await liveCallbackKeyIds(ctx.db));
  if (callbacks !== '') {
    throw new Error(
      `KEYRING lacks the key ${callbacks}, under which jobs still expect callbacks: put it back behind the current one until they have ended.`,
    );
  }
  const secrets = lacking(await liveSecretKeyIds(ctx.db));
  if (secrets !== '') {
    throw new Error(
      `KEYRING lacks the key ${secrets}, under which webhook secrets are sealed: put it back behind the current one until those secrets are rotated and their overlap is over.`,
    );
  }
}
