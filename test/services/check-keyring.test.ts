import { describe, expect, it } from 'vitest';
import { parseKeyring } from '../../src/domain/keyring.ts';
import { checkKeyring } from '../../src/services/check-keyring.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, newTenant } from '../db/fixtures.ts';
import { newEndpoint, newDefaultSecret } from '../db/webhooks.ts';

const test = useDatabase();
const BYTES = Buffer.alloc(32, 1).toString('base64');
const check = (...ids: string[]) =>
  checkKeyring({ db: test.db, keyring: parseKeyring(ids.map((id) => `${id}:${BYTES}`).join(',')) });

describe('checkKeyring', () => {
  it('nothing is needed of an empty database', async () => {
    await expect(check('new')).resolves.toBeUndefined();
  });

  it('refuses without the key under which webhook secrets are sealed, by its id only', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant, { keyId: 'sealing' });
    await newDefaultSecret(test.db, tenant);
    const message = await check('new').catch((error: unknown) => (error as Error).message);
    expect(message).toBe(
      'KEYRING lacks the key k1, sealing, under which webhook secrets are sealed: put it back behind the current one until those secrets are rotated and their overlap is over.',
    );
    await expect(check('new', 'sealing', 'k1')).resolves.toBeUndefined();
    await expect(check('new', 'k1')).rejects.toThrow(/lacks the key sealing, under which webhook secrets/);
    await test.sql(`UPDATE webhook_secret SET expires_at = now() WHERE key_id = 'sealing'`);
    await expect(check('new', 'k1')).resolves.toBeUndefined();
    await test.sql('DELETE FROM webhook_secret');
  });

  it('refuses without the key under which jobs expect callbacks', async () => {
    await accepted(test.db, await newTenant(test.db));
    await expect(check('new')).rejects.toThrow(/lacks the key k1, under which jobs still expect callbacks/);
    await expect(check('new', 'k1')).resolves.toBeUndefined();
  });
});
