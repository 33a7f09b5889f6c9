import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinarySpec, isProgram, type OnProgress, programName, resolveBinary } from './binary.ts';
import { download, goInstall } from './binary-ways.ts';

/** Its makers publish source only since October 2025; this is the last version of it. */
const VERSION = 'v0.0.0-20260212201848-7aac2a2c5b7c';
const GO_PACKAGE = `github.com/minio/minio@${VERSION}`;
const TITLE = 'the MinIO server';

const MINIO: BinarySpec = {
  title: TITLE,
  file: TITLE,
  program: 'minio',
  version: VERSION,
  variable: 'MINIO_PATH',
  says: /^minio version/im,
  find: (cache) => {
    const path = join(cache, programName('minio'));
    return isProgram(path) ? path : undefined;
  },
  ways: [
    goInstall({
      title: TITLE,
      program: 'minio',
      goPackage: GO_PACKAGE,
      minutes: 2,
      announcement: 'building the MinIO server with Go (once for this machine)',
    }),
    download({
      title: TITLE,
      script: fileURLToPath(new URL('../../scripts/download-minio.mjs', import.meta.url)),
      announcement: 'it can not be built here; trying to download the MinIO server',
    }),
  ],
  advice: [
    '- set MINIO_PATH to a MinIO server program;',
    '- install MinIO, so that "minio" is on the PATH;',
    `- install Go (https://go.dev/dl), or run: go install ${GO_PACKAGE};`,
    '- allow the download from dl.min.io.',
  ],
};

/**
 * Finds a MinIO server, a real S3 server for tests and trials, or obtains it: MINIO_PATH, `minio` on PATH, our cached
 * build, `go install`, the download.
 * @throws Error naming every way out when none works
 */
export function resolveMinio(env: NodeJS.ProcessEnv, onProgress: OnProgress): Promise<string> {
  return resolveBinary(MINIO, env, onProgress);
}
