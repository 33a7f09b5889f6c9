import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newId } from '../../src/domain/ids.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { MEDIA } from '../../src/simulators/media/kinds.ts';
import { createMediaCheck, createStorage, type Storage } from '../../src/storage/index.ts';
import { startPlain } from './plain-process.ts';
import { ratioOf, rounded } from './statistics.ts';
import type { PartReport, Size } from './types.ts';

const CHUNK = Buffer.alloc(1_048_576);
const run = promisify(execFile);

/** One large file by our guarded way out into storage, against `curl` of the same file onto the same disk. */
export async function measureDownload(folder: string, { rounds, downloadBytes }: Size): Promise<PartReport> {
  const own = join(folder, 'download');
  await mkdir(own, { recursive: true });
  const source = join(own, 'video.mp4');
  await writeVideo(source, downloadBytes);
  const server = await startPlain(new URL('file-server.mjs', import.meta.url), [source]);
  const storage = createStorage(`file:${join(own, 'outputs')}`);
  const http = createOutboundHttp({ allow: [{ host: '127.0.0.1', port: Number(new URL(server.url).port) }] });
  const seconds: Record<'ours' | 'curl' | 'curl_and_fsync', number[]> = {
    ours: [],
    curl: [],
    curl_and_fsync: [],
  };
  const id = newId('gen');
  const ours = async (round: number) => {
    seconds.ours.push(await timed(() => fetchIntoStorage(http, storage, server.url, `${id}/${round}-1`)));
    await storage.remove(`${id}/${round}-1`);
  };
  const theirs = async () => {
    const file = join(own, 'curl.mp4');
    const fetched = await timed(() =>
      run('curl', ['--silent', '--fail', '--max-time', '600', '--output', file, server.url]),
    );
    const synced = await timed(() => sync(file));
    seconds.curl.push(fetched);
    seconds.curl_and_fsync.push(fetched + synced);
    await rm(file);
  };
  try {
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) await ours(round);
      await theirs();
      if (round % 2 === 1) await ours(round);
    }
  } finally {
    await Promise.all([server.stop(), http.close()]);
    await rm(own, { recursive: true, force: true });
  }
  const against = (which: 'curl' | 'curl_and_fsync') =>
    ratioOf(seconds.ours.map((one, round) => (seconds[which][round] ?? 0) / one));
  const megabytes = (all: readonly number[]) => all.map((one) => rounded(downloadBytes / 1e6 / one));
  return {
    ratios: { download_vs_curl: against('curl'), download_vs_curl_and_fsync: against('curl_and_fsync') },
    latencies: {
      download_mb_per_second: {
        bytes: downloadBytes,
        ours: megabytes(seconds.ours),
        curl: megabytes(seconds.curl),
        curl_and_fsync: megabytes(seconds.curl_and_fsync),
      },
    },
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1_000;
}

/** As src/activities/store-file.ts does it: guarded, recognised, hashed, durable. */
async function fetchIntoStorage(
  http: ReturnType<typeof createOutboundHttp>,
  storage: Storage,
  url: string,
  path: string,
): Promise<void> {
  const check = createMediaCheck();
  const file = await storage.create(path);
  const answer = await http.download({
    url,
    hosts: 'any',
    headersFor: () => ({}),
    limits: { maxBytes: 8_589_934_592, idleMs: 30_000, totalMs: 600_000 },
    signal: new AbortController().signal,
    write: async (chunk: Uint8Array) => {
      check.write(chunk);
      await file.write(chunk);
    },
    onProgress: () => undefined,
  });
  if (answer.kind !== 'complete') throw new Error(`the download ended as ${JSON.stringify(answer)}`);
  const media = check.finish(answer.bytes);
  if (!media.ok) throw new Error(`the file was not recognised: ${media.reason}`);
  await file.commit();
}

/** A real short video with so many bytes of padding behind it, in a box of its own. */
async function writeVideo(file: string, bytes: number): Promise<void> {
  const video = MEDIA.video.make('bench', 1);
  const padding = Math.max(8, bytes - video.length);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(padding, 0);
  head.write('free', 4, 'latin1');
  const handle = await open(file, 'w');
  try {
    await handle.write(video);
    await handle.write(head);
    for (let left = padding - head.length; left > 0; left -= CHUNK.length)
      await handle.write(CHUNK, 0, Math.min(CHUNK.length, left));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
