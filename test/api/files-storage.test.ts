import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { deleteOutputs } from '../../src/db/index.ts';
import { createFileDelivery } from '../../src/services/file-delivery.ts';
import type { Storage } from '../../src/storage/index.ts';
import { eventually } from '../simulators/control.ts';
import { send } from './client.ts';
import { CONTENT, countedSlots, fetchFile, oneLink, toWindowStart, useFiles } from './files.ts';
import { codeOf } from './suite.ts';

const suite = useFiles();

/** The files, read by what the test says. */
function storageThat(read: Storage['read'], more: Partial<Storage> = {}): Storage {
  return { ...suite.storage, read, ...more };
}

describe('a storage that fails', () => {
  const SECRET = 'https://bucket.example/x?X-Amz-Signature=SECRET123';
  const fails = async (): Promise<never> => {
    throw new Error(SECRET);
  };

  it.each<[string, Storage['read']]>([
    ['when it is opened', fails],
    [
      'at the first byte',
      async () =>
        Readable.from(
          (async function* none() {
            await fails();
            yield CONTENT;
          })(),
        ),
    ],
    ['by saying nothing', () => new Promise(() => {})],
    ['by opening and saying nothing', async () => new Readable({ read() {} })],
  ])('%s: 503, nothing of its words is told, and the place is given back', async (_when, read) => {
    const { link } = await oneLink(suite);
    const { streams, counted } = countedSlots(1);
    const api = await suite.start({
      storage: { ...suite.storage, read },
      fileDelivery: createFileDelivery({ streams, firstByteMs: 200 }),
    });
    const answer = await send(api.url, { path: link });
    expect([...codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'storage_unavailable', '5']);
    expect(answer.headers['content-length']).not.toBe('100');
    expect(counted.taken).toBe(0);
    const logged = api.logs.join('');
    expect(logged).toContain('"problem":"storage_unavailable"');
    expect(logged + answer.text + JSON.stringify(answer.headers)).not.toMatch(/SECRET123|bucket\.example/);
  });

  it.each<[string, Storage['read']]>([
    [
      'an error',
      async () =>
        Readable.from(
          (async function* half() {
            yield CONTENT.subarray(0, 50);
            await fails();
          })(),
        ),
    ],
    ['an early end', async () => Readable.from([CONTENT.subarray(0, 50), CONTENT.subarray(50, 99)])],
    ['more than there should be', async () => Readable.from([CONTENT, Buffer.from('x')])],
  ])('in the middle, by %s: the connection is cut, never a whole answer', async (_how, read) => {
    const { link } = await oneLink(suite);
    const { streams, counted } = countedSlots(1);
    const api = await suite.start({
      storage: { ...suite.storage, read },
      fileDelivery: createFileDelivery({ streams }),
    });
    await expect(fetchFile(api.url, link)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
    await eventually(async () => (counted.taken === 0 ? true : undefined));
    const logged = await eventually(async () => api.logs.find((line) => line.includes('"level":50')));
    expect(JSON.parse(logged)).toMatchObject({ problem: 'storage_unavailable' });
    expect(api.logs.join('')).not.toContain('SECRET123');
  });

  it('a file that is gone: 503 while its row says it is there, 404 when it was deleted in this moment', async () => {
    const { link, id, tenantId } = await oneLink(suite);
    const path = `${id}/0-1`;
    const api = await suite.start({
      storage: storageThat(async (asked, range) => {
        await suite.storage.remove(asked);
        return suite.storage.read(asked, range);
      }),
    });
    expect(codeOf(await send(api.url, { path: link }))).toEqual([503, 'storage_unavailable']);
    const deleting = await suite.start({
      storage: storageThat(async (asked, range) => {
        await deleteOutputs(suite.db, { generationId: id, tenantId });
        return suite.storage.read(asked, range);
      }),
    });
    expect(codeOf(await send(deleting.url, { path: link }))).toEqual([404, 'file_not_found']);
    expect(await suite.storage.stat(path)).toBeNull();
  });
});

describe('OUTPUT_LINKS=presigned', () => {
  const fileDelivery = createFileDelivery({ mode: 'presigned' });
  const presigning = () => {
    const presign = vi.fn<NonNullable<Storage['presign']>>(
      async (path) => `https://s3.example/${path}?X-Amz-Signature=x`,
    );
    return { presign, storage: storageThat((path, range) => suite.storage.read(path, range), { presign }) };
  };

  it('sends the reader to the storage, for an hour at most and never longer than the link works', async () => {
    toWindowStart(suite);
    const { link, id } = await oneLink(suite);
    const { presign, storage } = presigning();
    const api = await suite.start({ storage, fileDelivery });
    const answer = await send(api.url, { path: link });
    expect([answer.status, answer.headers.location, answer.headers['cache-control'], answer.text]).toEqual([
      302,
      `https://s3.example/${id}/0-1?X-Amz-Signature=x`,
      'no-store',
      '',
    ]);
    expect(presign).toHaveBeenLastCalledWith(`${id}/0-1`, {
      expiresInSeconds: 3_600,
      contentType: 'video/mp4',
      contentDisposition: `inline; filename="${id}-0.mp4"`,
    });
    const expiresMs = Number(/expires=(\d+)/.exec(link)![1]) * 1_000;
    suite.clock.aheadMs = expiresMs - Date.now() - 90_000;
    await send(api.url, { path: link });
    const [, { expiresInSeconds }] = presign.mock.lastCall!;
    expect(expiresInSeconds).toBeGreaterThan(60);
    expect(expiresInSeconds).toBeLessThanOrEqual(90);
    suite.clock.aheadMs = expiresMs - Date.now() + 1_000;
    expect(codeOf(await send(api.url, { path: link }))).toEqual([403, 'link_expired']);
    expect(api.logs.join('')).not.toContain('X-Amz-Signature');
  });

  it('answers itself what needs no bytes, and streams where the storage has no links', async () => {
    const { link } = await oneLink(suite);
    const { presign, storage } = presigning();
    const api = await suite.start({ storage, fileDelivery });
    const head = await send(api.url, { path: link, method: 'HEAD' });
    expect([head.status, head.headers['content-length']]).toEqual([200, '100']);
    expect(
      (await send(api.url, { path: link, headers: { 'If-None-Match': head.headers.etag! } })).status,
    ).toBe(304);
    expect(codeOf(await send(api.url, { path: `${link}x` }))).toEqual([403, 'link_invalid']);
    expect(presign).not.toHaveBeenCalled();
    const plain = await suite.start({ fileDelivery });
    expect((await fetchFile(plain.url, link)).bytes.equals(CONTENT)).toBe(true);
  });

  it('503 when the storage can’t sign', async () => {
    const { link } = await oneLink(suite);
    const { presign, storage } = presigning();
    presign.mockRejectedValue(new Error('no credentials'));
    const api = await suite.start({ storage, fileDelivery });
    expect(codeOf(await send(api.url, { path: link }))).toEqual([503, 'storage_unavailable']);
  });
});
