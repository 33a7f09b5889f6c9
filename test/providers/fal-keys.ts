import { createHash, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { ScriptedAnswer } from './scripted-server.ts';

export const USER_ID = 'github|12345678';

const pairs = new Map<string, KeyObject>();

/** A key pair per name, made once. */
function privateKey(name: string): KeyObject {
  const known = pairs.get(name) ?? generateKeyPairSync('ed25519').privateKey;
  pairs.set(name, known);
  return known;
}

/** The key set with the public keys of these pairs, beside one of another kind. */
export function keySet(names: readonly string[]): ScriptedAnswer {
  const other = { kty: 'RSA', n: 'AQAB', e: 'AQAB' };
  const keys = names.map((name) => createPublicKey(privateKey(name)).export({ format: 'jwk' }));
  return { status: 200, body: JSON.stringify({ keys: [other, ...keys] }) };
}

/** Headers as fal's documents describe them, signed with the key pair of this name. */
export function signedHeaders(
  body: Buffer,
  name: string,
  t: string | number,
  { requestId, userId = USER_ID }: { readonly requestId: string; readonly userId?: string },
) {
  const digest = createHash('sha256').update(body).digest('hex');
  const message = Buffer.from(`${requestId}\n${userId}\n${t}\n${digest}`);
  return {
    'x-fal-webhook-request-id': requestId,
    'x-fal-webhook-user-id': userId,
    'x-fal-webhook-timestamp': String(t),
    'x-fal-webhook-signature': sign(null, message, privateKey(name)).toString('hex'),
  };
}
