import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { parseKeyring, type Keyring } from '../../src/domain/keyring.ts';
import { createPayloadCodec, PayloadKeyError } from '../../src/temporal/payload-codec.ts';

const key = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const ONE = parseKeyring(key('k1', 1));
const TWO = parseKeyring(`${key('k2', 2)},${key('k1', 1)}`);
const VALUE = { generationId: 'gen_1', plan: { provider: 'infro' } };
const PLAIN = defaultPayloadConverter.toPayload(VALUE);

function codec(keys: Keyring | null) {
  const told: string[] = [];
  const made = createPayloadCodec(keys, (problem) => told.push(problem));
  const encode = (payloads: Payload[]) => made.encode(payloads);
  const decode = (payloads: Payload[]) => made.decode(payloads);
  const read = async (payload: Payload): Promise<unknown> => {
    const [decoded] = await decode([payload]);
    return defaultPayloadConverter.fromPayload(decoded!);
  };
  const write = async (payload: Payload = PLAIN): Promise<Payload> => (await encode([payload]))[0]!;
  return { told, read, write, encode, decode };
}

const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('latin1');

describe('the payload codec', () => {
  it('hides the value and its form, names the key, and reads it back', async () => {
    const payload = await codec(ONE).write();
    expect(Object.keys(payload.metadata ?? {}).sort()).toEqual(['encoding', 'encryption-key-id']);
    expect(text(payload.metadata?.['encoding'])).toBe('binary/encrypted');
    expect(text(payload.metadata?.['encryption-key-id'])).toBe('k1');
    expect(text(payload.data)).not.toMatch(/gen_1|json|infro/);
    expect(await codec(ONE).read(payload)).toEqual(VALUE);
  });

  it('never makes the same bytes twice', async () => {
    const { write } = codec(ONE);
    expect((await write()).data).not.toEqual((await write()).data);
  });

  it('keeps order and number, also of none', async () => {
    const { encode, decode } = codec(ONE);
    expect(await encode([])).toEqual([]);
    const values = [1, 'two', null, { three: 3 }];
    const decoded = await decode(
      await encode(values.map((value) => defaultPayloadConverter.toPayload(value))),
    );
    expect(decoded.map((payload) => defaultPayloadConverter.fromPayload(payload))).toEqual(values);
  });

  it('rotation: the first key encodes, every key of the ring decodes', async () => {
    const old = await codec(ONE).write();
    const { read, write } = codec(TWO);
    expect(await read(old)).toEqual(VALUE);
    expect(text((await write()).metadata?.['encryption-key-id'])).toBe('k2');
  });

  it('what was stored before there was a key is still read, and without keys nothing changes', async () => {
    expect(await codec(ONE).read(PLAIN)).toEqual(VALUE);
    expect(await codec(null).write()).toEqual(PLAIN);
    expect(await codec(null).read(PLAIN)).toEqual(VALUE);
  });

  it.each([
    ['without any key', null],
    ['without this key', ONE],
  ])('%s: says which is missing, once, and throws each time', async (_name, keys) => {
    const payload = await codec(TWO).write();
    const { read, told } = codec(keys);
    const problem = 'TEMPORAL_CODEC_KEYS has no key "k2": add it';
    await expect(read(payload)).rejects.toThrow(new PayloadKeyError(problem));
    await expect(read(payload)).rejects.toThrow(problem);
    expect(told).toEqual([problem]);
  });

  it('another key under the same id, changed bytes and a changed id do not open', async () => {
    const payload = await codec(TWO).write();
    const data = Buffer.from(payload.data ?? []);
    const at = (place: number) => {
      const bytes = Buffer.from(data);
      bytes[place]! ^= 1;
      return { ...payload, data: bytes };
    };
    const renamed = { ...payload, metadata: { ...payload.metadata, 'encryption-key-id': Buffer.from('k1') } };
    const other = parseKeyring(key('k2', 9));
    await expect(codec(other).read(payload)).rejects.toThrow(/does not open with key "k2".*same key/);
    for (const changed of [at(0), at(15), at(data.length - 1), { ...payload, data: data.subarray(0, 20) }])
      await expect(codec(TWO).read(changed)).rejects.toThrow(/does not open with key "k2"/);
    await expect(codec(TWO).read({ ...payload, data: null })).rejects.toThrow(/does not open/);
    await expect(codec(TWO).read(renamed)).rejects.toThrow(/does not open with key "k1"/);
  });

  it('the id is part of what is authenticated: two names of one key are two keys', async () => {
    const bytes = Buffer.alloc(32, 1).toString('base64');
    const payload = await codec(parseKeyring(`a:${bytes}`)).write();
    const renamed = { ...payload, metadata: { ...payload.metadata, 'encryption-key-id': Buffer.from('b') } };
    await expect(codec(parseKeyring(`b:${bytes}`)).read(renamed)).rejects.toThrow(
      /does not open with key "b"/,
    );
  });
});
