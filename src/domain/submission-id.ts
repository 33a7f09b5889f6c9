import { createHash } from 'node:crypto';

/** The one namespace of all our UUIDv5 keys; changing it would change every provider key. */
const NAMESPACE = Buffer.from('6f0c1d0e8f5b4d6aa3f2d8f1c95a7e42', 'hex');

/** The id of the nth try of a generation: a function of both, so that every retry names the same row. */
export function submissionId(generationId: string, ordinal: number): string {
  return `sub_${generationId.slice(4)}_${ordinal}`;
}

/** The shape of a submission id, as it stands in a callback path. */
export const SUBMISSION_ID = /^sub_[0-9a-hjkmnp-tv-z]{26}_[1-9]\d{0,3}$/;

/** The key sent to the provider: UUIDv5 (RFC 9562 §5.5) of the submission id, the same at every re-send. */
export function providerIdempotencyKey(id: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(id).digest().subarray(0, 16);
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
