import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { OutboundHttp } from '../net/types.ts';
import { parseJsonBytes } from './json-answer.ts';
import { KeySet, type SignatureVerdict } from './key-set.ts';

/** Header, claims and the signature of an RSA key of 2048 to 4096 bits; also bounds what a stranger makes us read. */
const COMPACT = /^([A-Za-z0-9_-]{2,1024})\.([A-Za-z0-9_-]{2,8192})\.([A-Za-z0-9_-]{342,683})$/;
const MIN_MODULUS_BITS = 2_048;
/** How far two clocks may be apart. */
const LEEWAY_SECONDS = 60;

/**
 * Only RS256: `none` and HS256 (with a public key as its secret) are the classic forgeries. `crit` asks for what we
 * don't know.
 */
const jwtHeader = z.object({
  alg: z.literal('RS256'),
  kid: z.string().min(1).max(255),
  crit: z.undefined().optional(),
  b64: z.undefined().optional(),
});
const jwtClaims = z.looseObject({
  aud: z.union([z.string(), z.array(z.string()).max(16)]),
  exp: z.number(),
  iat: z.number(),
  nbf: z.number().optional(),
});
const rsaKey = z.object({
  kty: z.literal('RSA'),
  kid: z.string().min(1).max(255),
  alg: z.literal('RS256').optional(),
  use: z.literal('sig').optional(),
  n: z.string().regex(/^[A-Za-z0-9_-]{342,1366}$/),
  e: z.string().regex(/^[A-Za-z0-9_-]{1,8}$/),
});

/** One RSA key of a set. */
interface RsaKey {
  readonly kid: string;
  readonly key: KeyObject;
}

/** The RS256 keys of the set at this URL (RFC 7517); those of other kinds, or too short, are passed over. */
export function rsaKeys(http: OutboundHttp, url: string): KeySet<RsaKey> {
  return new KeySet(http, url, (entry) => {
    const jwk = rsaKey.safeParse(entry).data;
    if (jwk === undefined) return null;
    try {
      const { kid, n, e } = jwk;
      const key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
      return bits >= MIN_MODULUS_BITS ? { kid, key } : null;
    } catch {
      return null;
    }
  });
}

/** What a verified token says. `digest`: of what is signed, so it is the same for whoever sends the token again. */
export interface VerifiedJwt {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly digest: string;
}

/** True for three parts of base64url with dots between, whatever they hold. */
export const looksLikeJwt = (text: string): boolean => COMPACT.test(text);

/**
 * Verifies a JSON Web Token in compact form (RFC 7519, RFC 8725): RS256 by the key that its `kid` names; `aud` is one of
 * ours, `exp` not over, `iat` and `nbf` not ahead, with a minute for clocks. Tokens for others lead to no fetch of keys.
 */
export async function verifyJwt(
  keys: KeySet<RsaKey>,
  token: string,
  isOurs: (audience: string) => boolean,
  nowMs: number,
): Promise<VerifiedJwt | Exclude<SignatureVerdict, 'verified'>> {
  const [, head, body, signature] = COMPACT.exec(token) ?? [];
  if (head === undefined || body === undefined || signature === undefined) return 'unverified';
  const header = jwtHeader.safeParse(parseJsonBytes(Buffer.from(head, 'base64url'))).data;
  const claims = jwtClaims.safeParse(parseJsonBytes(Buffer.from(body, 'base64url'))).data;
  if (header === undefined || claims === undefined) return 'unverified';
  const { aud, exp, iat, nbf = iat } = claims;
  const now = nowMs / 1_000;
  // Written so that a NaN refuses.
  const isNow = now < exp + LEEWAY_SECONDS && Math.max(iat, nbf) <= now + LEEWAY_SECONDS;
  if (!isNow || ![aud].flat().some(isOurs)) return 'unverified';

  const signed = Buffer.from(`${head}.${body}`);
  const bytes = Buffer.from(signature, 'base64url');
  const fits = ({ kid, key }: RsaKey) => kid === header.kid && verify('RSA-SHA256', signed, key, bytes);
  const verdict = await keys.verify(fits, nowMs);
  if (verdict !== 'verified') return verdict;
  return { claims, digest: createHash('sha256').update(signed).digest('hex') };
}
