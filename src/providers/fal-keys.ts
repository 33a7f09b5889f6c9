import { createPublicKey, type KeyObject } from 'node:crypto';
import type { OutboundHttp } from '../net/types.ts';
import { falKey } from './fal-schemas.ts';
import { KeySet } from './key-set.ts';

/** fal's public keys: the Ed25519 ones of its set. */
export type FalKeys = KeySet<KeyObject>;

/** fal's key set at this URL. */
export function falKeys(http: OutboundHttp, url: string): FalKeys {
  return new KeySet(http, url, (entry) => {
    const jwk = falKey.safeParse(entry).data;
    return jwk === undefined ? null : createPublicKey({ key: jwk, format: 'jwk' });
  });
}
