import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deriveKey, type Keyring } from './keyring.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A secret as it is stored: AES-256-GCM (NIST SP 800-38D) of iv, ciphertext and tag, and the ring key that sealed it. */
export interface SealedSecret {
  readonly sealed: Buffer;
  readonly keyId: string;
}

/** Seals under the current key. `purpose` (whose secret it is) is authenticated: it opens nowhere else. */
export function sealSecret(keyring: Keyring, secret: Uint8Array, purpose: string): SealedSecret {
  const [key] = keyring.keys;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(key, 'secret-at-rest'), iv);
  cipher.setAAD(Buffer.from(purpose));
  const text = Buffer.concat([cipher.update(secret), cipher.final()]);
  return { sealed: Buffer.concat([iv, text, cipher.getAuthTag()]), keyId: key.id };
}

/** The secret, or null when its key has left the ring, or the bytes were changed or belong elsewhere. */
export function openSecret(
  keyring: Keyring,
  { sealed, keyId }: { readonly sealed: Uint8Array; readonly keyId: string },
  purpose: string,
): Buffer | null {
  const key = keyring.keys.find(({ id }) => id === keyId);
  if (key === undefined || sealed.length < IV_BYTES + TAG_BYTES) return null;
  const bytes = Buffer.from(sealed);
  const decipher = createDecipheriv(
    'aes-256-gcm',
    deriveKey(key, 'secret-at-rest'),
    bytes.subarray(0, IV_BYTES),
  );
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(IV_BYTES, bytes.length - TAG_BYTES)),
      decipher.final(),
    ]);
  } catch {
    return null;
  }
}
