import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { INPUT_MEDIA_TYPES } from '../../src/domain/media-limits.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { createFileDelivery } from '../../src/services/file-delivery.ts';
import { REAL_FILES, realFile } from '../storage/containers-files.ts';
import { box, ftyp, glb, moov, png, wav } from '../storage/media.ts';
import { check } from '../storage/sniff.ts';
import { startApi, testKeyring } from './api.ts';
import { send } from './client.ts';
import { INFECTED, newFiles, PICTURE, UNSCANNABLE, upload, useFiles, type Upload } from './inputs.ts';
import { codeOf, useApi } from './suite.ts';
import { get, newTenant, type TestTenant } from './tenants.ts';

const room = useFiles();
const suite = useApi(room.parts);

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const sent = (tenant: TestTenant, file: Upload = {}) => upload(suite.api.url, tenant, file);
const rowsOf = (tenant: TestTenant) =>
  suite.db.prisma.storedInput.findMany({ where: { tenantId: tenant.id } });

describe('POST /v1/inputs', () => {
  it('stores the bytes as they came and tells what they are; GET tells the same', async () => {
    const tenant = await newTenant(suite.db);
    const answer = await sent(tenant);
    expect(answer.status).toBe(201);
    const input = answer.json();
    expect(input).toEqual({
      id: expect.stringMatching(/^inp_[0-9a-z]{26}$/) as string,
      object: 'input',
      media_type: 'image/png',
      bytes: PICTURE.length,
      sha256: sha256(PICTURE),
      width: 640,
      height: 360,
      duration_seconds: null,
      created_at: expect.stringMatching(/Z$/) as string,
      expires_at: expect.stringMatching(/Z$/) as string,
    });
    const days = Date.parse(String(input['expires_at'])) - Date.parse(String(input['created_at']));
    expect(days).toBe(30 * 86_400_000);
    expect(answer.headers['location']).toBe(`/v1/inputs/${String(input['id'])}`);
    const read = await get(suite.api.url, tenant, String(answer.headers['location']));
    expect([read.status, read.text]).toEqual([200, answer.text]);
    expect((await room.files()).get(`${String(input['id'])}/0-1`)).toEqual(PICTURE);
  });

  // The real one is smaller than what is taken.
  const gif = realFile('animated GIF');
  gif.writeUInt16LE(64, 6);
  gif.writeUInt16LE(48, 8);
  const KINDS: readonly (readonly [string, Buffer])[] = [
    ...(Object.keys(REAL_FILES) as (keyof typeof REAL_FILES)[]).flatMap((name) => {
      const file = realFile(name);
      const verdict = check(file);
      return verdict.ok ? [[verdict.mediaType, file] as const] : [];
    }),
    ['video/mp4', Buffer.concat([ftyp('isom'), moov(1_280, 720, 4), box('mdat', Buffer.alloc(64))])],
    ['audio/wav', wav(8_000)],
    ['image/png', PICTURE],
    ['image/gif', gif],
  ];
  it('takes every kind of file on its list, whatever Content-Type says, and no other', async () => {
    const tenant = await newTenant(suite.db);
    const taken = new Set<string>();
    for (const [mediaType, body] of [...KINDS, ['model/gltf-binary', glb()] as const]) {
      const answer = await sent(tenant, { body, headers: { 'Content-Type': 'application/pdf' } });
      if (answer.status !== 201) continue;
      expect(answer.json()).toMatchObject({ media_type: mediaType, sha256: sha256(body) });
      taken.add(mediaType);
    }
    expect([...taken].sort()).toEqual([...INPUT_MEDIA_TYPES].sort());
  });

  it('comes in pieces as well, without a length and without a type', async () => {
    const tenant = await newTenant(suite.db);
    const { port } = new URL(suite.api.url);
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${tenant.key}`, 'Idempotency-Key': 'pieces' };
      const outgoing = httpRequest({ port, method: 'POST', path: '/v1/inputs', headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      outgoing.on('error', reject);
      for (let at = 0; at < PICTURE.length; at += 7) outgoing.write(PICTURE.subarray(at, at + 7));
      outgoing.end();
    });
    expect(status).toBe(201);
    expect(await rowsOf(tenant)).toMatchObject([{ bytes: BigInt(PICTURE.length), source: 'upload' }]);
  });

  it.each<[string, number, string, Upload]>([
    ['no key', 400, 'idempotency_key_invalid', { key: ',' }],
    ['nothing', 400, 'empty_body', { body: Buffer.alloc(0) }],
    [
      'a form',
      415,
      'unsupported_media_type',
      { headers: { 'Content-Type': 'multipart/form-data; boundary=x' } },
    ],
    ['compressed', 415, 'unsupported_content_encoding', { headers: { 'Content-Encoding': 'gzip' } }],
    ['a page', 415, 'unsupported_media_type', { body: Buffer.from('<html><body>hello</body></html>') }],
    [
      'a vector image',
      415,
      'unsupported_media_type',
      { body: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') },
    ],
    ['a part of a picture', 422, 'input_unusable', { body: PICTURE.subarray(0, PICTURE.length - 13) }],
    ['too small a picture', 422, 'input_unusable', { body: png(15, 400) }],
    ['too long a picture', 422, 'input_unusable', { body: png(400, 8_193) }],
    ['a decompression bomb', 422, 'input_unusable', { body: png(8_192, 8_192) }],
    ['a virus', 422, 'input_unusable', { body: INFECTED }],
    ['a file that no scanner saw', 503, 'scan_unavailable', { body: UNSCANNABLE }],
  ])('%s is %s %s, and nothing is kept', async (_name, status, code, file) => {
    const tenant = await newTenant(suite.db);
    const left = await newFiles(room, async () => {
      const answer = await sent(tenant, file);
      expect(codeOf(answer)).toEqual([status, code]);
      expect(answer.headers['retry-after']).toBe(status === 503 ? '10' : undefined);
    });
    expect([left, await rowsOf(tenant)]).toEqual([[], []]);
  });

  it('says what to do', async () => {
    const tenant = await newTenant(suite.db);
    const detail = async (file: Upload) => (await sent(tenant, file)).json()['detail'];
    expect(await detail({ headers: { 'Content-Type': 'multipart/form-data; boundary=x' } })).toMatch(
      /not a form/,
    );
    expect(await detail({ body: Buffer.from('%PDF-1.7 and more of it') })).toMatch(/use one of image\/png, /);
    const small = await sent(tenant, { body: png(10, 20) });
    expect(small.json()['errors']).toEqual([
      { path: '', message: 'Is 10 × 20 pixels: each side must have 16 to 8192.' },
    ]);
  });

  it('needs a key with the scope, before a byte is read', async () => {
    const tenant = await newTenant(suite.db, { scopes: ['credits:grant'] });
    expect(codeOf(await sent(tenant))).toEqual([403, 'scope_missing']);
    expect(codeOf(await sent({ ...tenant, key: 'dk_wrong' }))).toEqual([401, 'api_key_invalid']);
  });
});

describe('the key of an upload', () => {
  it('IDEM-1 the same bytes again are the same input; other bytes are refused, and leave nothing', async () => {
    const tenant = await newTenant(suite.db);
    const first = await sent(tenant, { key: 'one' });
    const left = await newFiles(room, async () => {
      const again = await sent(tenant, { key: 'one', headers: { 'Content-Type': 'text/plain' } });
      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.headers['location']).toBe(first.headers['location']);
      expect(codeOf(await sent(tenant, { key: 'one', body: png(64, 64) }))).toEqual([
        422,
        'idempotency_key_reuse',
      ]);
    });
    expect(left).toEqual([]);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(await rowsOf(tenant)).toHaveLength(1);
  });

  it('IDEM-3 eight at once: one input, one file, one that is no replay', async () => {
    const tenant = await newTenant(suite.db);
    const left = await newFiles(room, async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => sent(tenant, { key: 'eight' })));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    });
    expect(left).toEqual([PICTURE]);
    expect(await rowsOf(tenant)).toHaveLength(1);
  });

  it('is the tenant’s own', async () => {
    const [one, other] = [await newTenant(suite.db), await newTenant(suite.db)];
    const ids = await Promise.all(
      [one, other].map(async (tenant) => (await sent(tenant, { key: 'k' })).json()['id']),
    );
    expect(new Set(ids).size).toBe(2);
  });

  it('of a file that was deleted is told as such', async () => {
    const tenant = await newTenant(suite.db);
    const { id } = (await sent(tenant, { key: 'gone' })).json() as { id: string };
    await suite.db.prisma.storedInput.update({ where: { id }, data: { state: 'deleting' } });
    expect(codeOf(await sent(tenant, { key: 'gone' }))).toEqual([404, 'input_not_found']);
    expect(codeOf(await get(suite.api.url, tenant, `/v1/inputs/${id}`))).toEqual([404, 'input_not_found']);
  });
});

describe('the link that a provider gets', () => {
  it('is answered by us, never by a redirect, with the type and the length that providers ask for', async () => {
    const tenant = await newTenant(suite.db);
    const { id } = (await sent(tenant)).json() as { id: string };
    const { url } = createFileLinks(testKeyring(), null).link(
      { tenantId: tenant.id, linkVersion: 1 },
      { kind: 'input', inputId: id },
    )!;
    const api = await startApi(suite.db, {
      ...room.parts,
      storage: { ...room.parts.storage, presign: async () => 'https://s3.example/' },
      fileDelivery: createFileDelivery({ mode: 'presigned' }),
    });
    for (const method of ['HEAD', 'GET']) {
      const { status, headers } = await send(api.url, { method, path: url });
      expect([status, headers['content-type'], headers['content-length']]).toEqual([
        200,
        'image/png',
        String(PICTURE.length),
      ]);
    }
    await api.close();
  });
});

describe('GET /v1/inputs/{id}', () => {
  it('TEN-1 answers malformed, unknown and another tenant’s ids alike', async () => {
    const [one, other] = [await newTenant(suite.db), await newTenant(suite.db)];
    const { id } = (await sent(other)).json() as { id: string };
    const paths = [id, 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4', 'inp_1', 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4', '%00'];
    const answers = await Promise.all(
      paths.map((path) => get(suite.api.url, one, `/v1/inputs/${path}`, { 'X-Request-Id': 'same' })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(codeOf(answers[0]!)).toEqual([404, 'input_not_found']);
  });
});
