import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { deriveKey } from '../domain/keyring.ts';
import type { Keyring } from '../domain/keyring.ts';

const { Payload: ProtoPayload } = proto.temporal.api.common.v1;
/** The two names of Temporal's own encryption samples, so that their codec servers know such payloads. */
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A payload that can't be read here; nothing is lost, since Temporal gives the task out again. */
export class PayloadKeyError extends Error {
  override readonly name = 'PayloadKeyError';
}

/**
 * Encrypts what Temporal stores: AES-256-GCM (NIST SP 800-38D) under a key derived from the first of `keys`, its id
 * beside it and authenticated. Every key of the ring decodes, and so does what was stored before there was a key.
 * @param keys - null = nothing is encrypted; what is encrypted can't be read then
 * @param onUnreadable - told once for each key id, since the failure in Temporal is itself encrypted
 */
export function createPayloadCodec(
  keys: Keyring | null,
  onUnreadable: (problem: string) => void,
): PayloadCodec {
  const ring = (keys?.keys ?? []).map((key) => ({ id: key.id, bytes: deriveKey(key, 'temporal-payload') }));
  const [current] = ring;
  const told = new Set<string>();

  function unreadable(keyId: string, problem: string): PayloadKeyError {
    if (!told.has(keyId)) onUnreadable(problem);
    told.add(keyId);
    return new PayloadKeyError(problem);
  }

  function decodeOne(payload: Payload): Payload {
    if (textOf(payload.metadata?.['encoding']) !== ENCODING) return payload;
    const keyId = textOf(payload.metadata?.[KEY_ID]);
    const key = ring.find(({ id }) => id === keyId);
    if (key === undefined)
      throw unreadable(keyId, `TEMPORAL_CODEC_KEYS has no key ${JSON.stringify(keyId.slice(0, 64))}: add it`);
    const plain = open(key, Buffer.from(payload.data ?? []));
    if (plain === null)
      throw unreadable(
        keyId,
        `a payload does not open with key "${keyId}" of TEMPORAL_CODEC_KEYS: is it the same key?`,
      );
    return ProtoPayload.decode(plain);
  }

  return {
    encode: async (payloads) =>
      current === undefined ? payloads : payloads.map((one) => seal(current, one)),
    decode: async (payloads) => payloads.map(decodeOne),
  };
}

interface CodecKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Authenticated with each payload: it opens under no other id and as nothing else of ours. */
function boundTo(key: CodecKey): Buffer {
  return Buffer.from(`${ENCODING} ${key.id}`);
}

function seal(key: CodecKey, payload: Payload): Payload {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, iv);
  cipher.setAAD(boundTo(key));
  const text = [cipher.update(ProtoPayload.encode(payload).finish()), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(key.id) },
    data: Buffer.concat([iv, ...text, cipher.getAuthTag()]),
  };
}

/** null when the bytes were changed or sealed under another key. */
function open(key: CodecKey, data: Buffer): Buffer | null {
  if (data.length < IV_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, key.bytes, data.subarray(0, IV_BYTES));
  decipher.setAAD(boundTo(key));
  decipher.setAuthTag(data.subarray(data.length - TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(data.subarray(IV_BYTES, data.length - TAG_BYTES)),
      decipher.final(),
    ]);
  } catch {
    return null;
  }
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}
