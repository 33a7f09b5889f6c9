import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { runDoctor } from '../../src/services/run-doctor.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { ask, expectPromise, untilEnd, uniquePrompt } from '../support/generations.ts';
import { type Minio, s3Url, startMinio } from '../support/minio.ts';

let minio: Minio;
let proxy: FaultProxy;
let room: Darkroom;
let bucket: string;
const folder = temporaryFolder('minio');
beforeAll(async () => {
  minio = await startMinio(folder.path);
  proxy = await startFaultProxy(minio.endpoint);
  bucket = await minio.newBucket();
  Object.assign(process.env, minio.env);
  const STORAGE_URL = s3Url(proxy.endpoint, bucket, 'outputs');
  room = await startDarkroom({ storage: { ...minio.env, STORAGE_URL } });
});
afterAll(async () => {
  await room?.stop();
  await proxy?.close();
  await minio?.stop();
  await folder.remove();
});

/** What lies in the bucket of one generation. */
async function objectsOf(id: string): Promise<string[]> {
  return (await minio.everything(bucket)).filter((name) => name.includes(id));
}

async function storageProblem(id: string): Promise<true | undefined> {
  const row = await room.db.prisma.output.findFirst({ where: { generationId: id } });
  return row?.problem?.startsWith('storage_') ? true : undefined;
}

describe('outputs in S3', () => {
  it('one generation from end to end: one object, the same bytes, and the doctor finds nothing', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('rain in a bucket'));
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await objectsOf(asked.id)).toEqual([`outputs/${asked.id}/0-1`]);
    expect(room.storage.locate(`${asked.id}/0-1`)).toBe(`s3://${bucket}/outputs/${asked.id}/0-1`);

    const violated = async () =>
      (await runDoctor(room))
        .filter(({ violations }) => violations > 0)
        .map(({ name, examples }) => [name, examples]);
    expect(await violated()).toEqual([]);
    const other = await room.storage.create(`${asked.id}/0-2`);
    await other.write(Buffer.from('other bytes'));
    await other.commit();
    await room.db.prisma.output.updateMany({
      where: { generationId: asked.id },
      data: { path: `${asked.id}/0-2` },
    });
    expect(await violated()).toEqual([
      ['every stored output has its file with the same sha256', [`${asked.id}/0-2 (changed)`]],
    ]);
    await room.storage.remove(`${asked.id}/0-2`);
    expect((await violated())[0]?.[1]).toEqual([`${asked.id}/0-2 (gone)`]);
    await room.db.prisma.output.updateMany({
      where: { generationId: asked.id },
      data: { path: `${asked.id}/0-1` },
    });
  });

  it('F2: S3 is away for a while: the generation goes on with the same job and is captured once', async () => {
    await minio.kill();
    const asked = await ask(room, 'by-callback', uniquePrompt('no bucket today'));
    await eventually(() => storageProblem(asked.id), 90_000);
    await minio.start();
    const { delivery } = await untilEnd(room, asked.id, 40_000);
    expect(delivery).toBe('stored');
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await objectsOf(asked.id)).toHaveLength(1);
  });

  it('a worker killed in the middle of an upload leaves no object; the next one stores it', async () => {
    const prompt = uniquePrompt('killed while uploading');
    let uploading = false;
    proxy.use(async ({ method, url }) => {
      if (method !== 'PUT' || !url.includes('/outputs/gen_')) return undefined;
      uploading = true;
      return new Promise(() => {});
    });
    const asked = await ask(room, 'by-callback', prompt);
    await eventually(() => (uploading ? true : undefined), 90_000);
    await room.running.worker.stop(0, 'SIGKILL');
    expect(await objectsOf(asked.id)).toEqual([]);
    proxy.use(() => undefined);
    await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await objectsOf(asked.id)).toHaveLength(1);
  });
});
