// Puts MinIO's last published server program into a folder: node scripts/download-minio.mjs FOLDER
import { createHash } from 'node:crypto';
import { chmodSync, createWriteStream, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const RELEASE = 'minio.RELEASE.2025-09-07T16-13-09Z';
const SYSTEM = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform];
const MACHINE = { x64: 'amd64', arm64: 'arm64' }[process.arch];

async function get(url) {
  const answer = await fetch(url);
  if (!answer.ok || answer.body === null) throw new Error(`${url} answers ${answer.status}`);
  return answer;
}

async function download(folder) {
  const url = `https://dl.min.io/server/minio/release/${SYSTEM}-${MACHINE}/archive/${RELEASE}`;
  const draft = join(folder, 'minio.downloading');
  const hash = createHash('sha256');
  try {
    const expected = (await (await get(`${url}.sha256sum`)).text()).trim().split(/\s+/)[0];
    const answer = await get(url);
    await pipeline(
      Readable.fromWeb(answer.body),
      async function* (chunks) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(draft, { mode: 0o755 }),
    );
    if (hash.digest('hex') !== expected) throw new Error(`${url} came with other bytes than it should have`);
    chmodSync(draft, 0o755);
    renameSync(draft, join(folder, process.platform === 'win32' ? 'minio.exe' : 'minio'));
  } finally {
    rmSync(draft, { force: true });
  }
}

try {
  await download(process.argv[2]);
} catch (error) {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  process.stderr.write(`${error.message}${cause}\n`);
  process.exitCode = 1;
}
