import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

interface Rs256Keys {
  readonly privateKey: KeyObject;
  /** The public half as a JSON Web Key, with its `kid`. */
  readonly jwk: Readonly<Record<string, string>>;
}

const pairs = new Map<string, Rs256Keys>();

/** An RSA key pair for a text, so that a simulator's secret can be any text: the same as long as this process lives. */
export function rs256Keys(secret: string): Rs256Keys {
  const known = pairs.get(secret);
  if (known !== undefined) return known;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(n).digest('hex').slice(0, 40);
  const made = { privateKey, jwk: { kty: 'RSA', alg: 'RS256', use: 'sig', kid, n, e } };
  pairs.set(secret, made);
  return made;
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** These claims as a JSON Web Token, signed with the key pair of this text. */
export function rs256Token(claims: Readonly<Record<string, unknown>>, secret: string): string {
  const { privateKey, jwk } = rs256Keys(secret);
  const signed = `${part({ alg: 'RS256', kid: jwk['kid'], typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`;
}
