import { CreateMultipartUploadCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { createStorage } from '../../src/storage/index.ts';
import { createS3Storage } from '../../src/storage/s3.ts';
import { parseS3Url } from '../../src/storage/s3-url.ts';
import { type Passing, s3Error } from '../support/fault-proxy.ts';
import { s3Url } from '../support/minio.ts';
import { PREFIX, useMinio } from './s3-bench.ts';
import { GENERATION, list, PATH, read, storageContract, store } from './storage.testsuite.ts';

const MB = 1_000_000;
const { bench, server } = useMinio();
const isPart = ({ query }: Passing) => query.has('partNumber');

storageContract('s3', async () => {
  const { bucket, url, proxy, everything } = await bench();
  const storage = createStorage(s3Url(server().endpoint, bucket, PREFIX));
  return {
    storage,
    located: `s3://${bucket}/${PREFIX}/${PATH}`,
    everything,
    async withRoomFor(room) {
      let left = room;
      proxy.use(({ method, bytes }) => {
        if (method === 'PUT') left -= bytes;
        return method === 'PUT' && left < 0 ? s3Error(400, 'XMinioAdminBucketQuotaExceeded') : undefined;
      });
      return createStorage(url);
    },
  };
});

describe('s3 storage', () => {
  it('two whole uploads of many parts to one path: one stands, the other is refused and leaves nothing', async () => {
    const { driver, everything } = await bench();
    const files = await Promise.all([driver.create(PATH), driver.create(PATH)]);
    await Promise.all(files.map((file, i) => file.write(Buffer.alloc(9 * MB, i))));
    const results = await Promise.allSettled(files.map((file) => file.commit()));
    const won = results.findIndex(({ status }) => status === 'fulfilled');
    expect(results[1 - won]).toMatchObject({ reason: { code: 'EEXIST' } });
    const stood = createHash('sha256')
      .update(Buffer.alloc(9 * MB, won))
      .digest('hex');
    expect(await driver.stat(PATH)).toEqual({ bytes: 9 * MB, sha256: stood });
    expect(await everything()).toEqual([PATH]);
  });

  it('holds three parts at most, however slow the server is', async () => {
    const { driver, proxy } = await bench();
    let letGo: () => void = () => {};
    const held = new Promise<void>((done) => {
      letGo = done;
    });
    proxy.use(async (passing) => {
      if (isPart(passing)) await held;
      return undefined;
    });
    const file = await driver.create(PATH);
    let taken = 0;
    const writing = (async () => {
      for (; taken < 30; taken += 1) await file.write(Buffer.alloc(MB));
    })();
    await vi.waitFor(() => expect(proxy.seen.filter(isPart)).toHaveLength(2), 60_000);
    await vi.waitFor(() => expect(taken).toBe(25), 60_000);
    // What could still be taken would be taken now: nothing else is awaited.
    await server()
      .everything('absent')
      .catch(() => {});
    expect(taken).toBe(25);
    expect(proxy.seen.filter(isPart)).toHaveLength(2);
    letGo();
    await writing;
    await file.commit();
    expect(await driver.stat(PATH)).toMatchObject({ bytes: 30 * MB });
  });

  it('small files carry their sha256 for people; the server has checked it', async () => {
    const { url, proxy, bucket } = await bench();
    const content = randomBytes(1_000);
    await store(createStorage(url), PATH, content);
    const head = await server().client.send(
      new HeadObjectCommand({ Bucket: bucket, Key: `${PREFIX}/${PATH}`, ChecksumMode: 'ENABLED' }),
    );
    const sum = createHash('sha256').update(content);
    expect(head.Metadata?.['darkroom-sha256']).toBe(sum.copy().digest('hex'));
    expect(head.ChecksumSHA256).toBe(sum.digest('base64'));
    expect(proxy.seen.map(({ method }) => method)).toEqual(['PUT']);
  });

  it('lists by the time of each object, and only what is named as ours', async () => {
    const { url, bucket } = await bench();
    const storage = createStorage(url);
    const { client } = server();
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x' }));
    await put(`${PREFIX}/${PATH}`);
    await put(`${PREFIX}/${GENERATION}/video.mp4`);
    await put(`some/where-else/${PATH}`);
    const later = `${GENERATION}/9-1`;
    // Again until the clock has moved on between the two.
    await vi.waitFor(async () => {
      const between = new Date();
      await put(`${PREFIX}/${later}`);
      expect(await list(storage, between)).toEqual([PATH]);
    }, 30_000);
    expect(await list(storage, new Date(Date.now() + 60_000))).toEqual([PATH, later]);
  });

  it('lists page by page', async () => {
    const { url, proxy } = await bench();
    const page = (path: string, next: string) => ({
      kind: 'answer' as const,
      status: 200,
      body: `<ListBucketResult>${next}<Contents><Key>${PREFIX}/${path}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>`,
    });
    proxy.use(({ query }) =>
      query.get('continuation-token') === 'more=/'
        ? page(`${GENERATION}/1-1`, '<IsTruncated>false</IsTruncated>')
        : page(PATH, '<IsTruncated>true</IsTruncated><NextContinuationToken>more=/</NextContinuationToken>'),
    );
    expect(await list(createStorage(url), new Date())).toEqual([PATH, `${GENERATION}/1-1`]);
    expect(proxy.seen).toHaveLength(2);
  });

  it('SURL: a presigned link gives the bytes with our headers, for GET alone, for an hour at most', async () => {
    const { driver, url } = await bench();
    const content = randomBytes(1_000);
    await store(createStorage(url), PATH, content);
    const header = { contentType: 'video/mp4', contentDisposition: 'attachment; filename="ü.mp4"' };
    const link = await driver.presign(PATH, { ...header, expiresInSeconds: 3_600 });
    const answer = await fetch(link, { headers: { range: 'bytes=0-9' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([206, 'video/mp4']);
    expect(answer.headers.get('content-disposition')).toContain('attachment; filename=');
    expect(Buffer.from(await answer.arrayBuffer()).equals(content.subarray(0, 10))).toBe(true);

    expect((await fetch(link, { method: 'DELETE' })).status).toBe(403);
    for (const [from, to] of [
      ['video%2Fmp4', 'text%2Fhtml'],
      ['X-Amz-Expires=3600', 'X-Amz-Expires=9999'],
      ['/0-1?', '/0-2?'],
    ] as const) {
      expect(link).toContain(from);
      expect((await fetch(link.replace(from, to))).status).toBe(403);
    }
    expect(link).not.toContain(server().env.AWS_SECRET_ACCESS_KEY);
    for (const expiresInSeconds of [0, -1, 1.5, 3_601, Number.NaN]) {
      await expect(driver.presign(PATH, { ...header, expiresInSeconds })).rejects.toThrow('from 1 to 3600');
    }
  });

  it('without a prefix the paths are the keys', async () => {
    const { bucket, url } = await bench();
    const storage = createS3Storage({ ...parseS3Url(url), prefix: '' });
    await store(storage, PATH, Buffer.from('x'));
    expect(await server().everything(bucket)).toEqual([PATH]);
    expect(storage.locate(PATH)).toBe(`s3://${bucket}/${PATH}`);
    expect(await list(storage, new Date(Date.now() + 60_000))).toEqual([PATH]);
    expect(String(await read(storage))).toBe('x');
  });
});

describe('s3 storage: what is left behind', () => {
  it('check ends the uploads of killed processes after a day, and touches no other', async () => {
    const { driverWith, bucket, everything } = await bench();
    const begin = (Key: string) =>
      server().client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    await begin(`${PREFIX}/${PATH}`);
    await begin(`${PREFIX}/backup.tar`);
    await begin(`elsewhere/${PATH}`);
    await server().client.send(
      new PutObjectCommand({ Bucket: bucket, Key: `${PREFIX}/probe/left`, Body: 'x' }),
    );
    const all = [`upload:${PATH}`, 'upload:backup.tar', `upload:elsewhere/${PATH}`, 'probe/left'];
    await driverWith({ nowMs: () => Date.now() + 23 * 3_600_000 }).check();
    expect((await everything()).sort()).toEqual(all.toSorted());
    await driverWith({ nowMs: () => Date.now() + 25 * 3_600_000 }).check();
    expect((await everything()).sort()).toEqual(all.slice(1, 3).toSorted());
  });
});
