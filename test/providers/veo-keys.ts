import { createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { ScriptedAnswer } from './scripted-server.ts';

export const AUDIENCE = 'projects/ours';

const pairs = new Map<string, KeyObject>();

/** An RSA key pair per name, made once; its `kid` is the name. */
export function privateKey(name: string, modulusLength = 2_048): KeyObject {
  const known = pairs.get(name) ?? generateKeyPairSync('rsa', { modulusLength }).privateKey;
  pairs.set(name, known);
  return known;
}

/** A pair's public half as it stands in a key set. */
export const jwkOf = (name: string, more: object = {}) => ({
  ...createPublicKey(privateKey(name)).export({ format: 'jwk' }),
  kid: name,
  alg: 'RS256',
  use: 'sig',
  ...more,
});

/** The key set with the public keys of these pairs, beside one of another kind. */
export const rsaKeySet = (names: readonly string[]): ScriptedAnswer => ({
  status: 200,
  body: JSON.stringify({
    keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }, ...names.map((name) => jwkOf(name))],
  }),
});

export const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A token of these claims, signed by the pair of this name; `header` replaces members of its header. */
export function token(claims: unknown, name: string, header: object = {}): string {
  const signed = `${base64url({ alg: 'RS256', kid: name, typ: 'JWT', ...header })}.${base64url(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey(name)).toString('base64url')}`;
}
