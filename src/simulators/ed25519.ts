import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** What precedes the 32 bytes of a raw Ed25519 private key in PKCS #8 (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A key pair that follows from a text, so that a simulator's secret can be any text and still sign with Ed25519. */
export function ed25519Keys(secret: string): {
  readonly privateKey: KeyObject;
  /** The public half as a JSON Web Key: kty OKP, crv Ed25519, x. */
  readonly jwk: { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string };
} {
  const seed = createHash('sha256').update(secret).digest();
  const key = Buffer.concat([PKCS8_PREFIX, seed]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { privateKey, jwk: { kty: 'OKP', crv: 'Ed25519', x } };
}
