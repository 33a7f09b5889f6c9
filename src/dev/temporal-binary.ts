import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BinarySpec, isProgram, type OnProgress, programName, resolveBinary } from './binary.ts';
import { download, goInstall } from './binary-ways.ts';

/** The newest release that `go install` builds: later ones carry replace directives. Server 1.28, Web UI 2.39. */
const VERSION = '1.4.1';
const GO_PACKAGE = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`;
const TITLE = 'the Temporal server';

const TEMPORAL: BinarySpec = {
  title: TITLE,
  file: 'the Temporal CLI',
  program: 'temporal',
  version: VERSION,
  variable: 'TEMPORAL_CLI_PATH',
  says: /temporal/i,
  find: (cache) => {
    const built = join(cache, programName('temporal'));
    return isProgram(built) ? built : downloaded(cache);
  },
  ways: [
    download({
      title: TITLE,
      script: fileURLToPath(new URL('../../scripts/download-temporal.mjs', import.meta.url)),
      announcement: 'downloading the Temporal server (once for this machine)',
    }),
    goInstall({
      title: TITLE,
      program: 'temporal',
      goPackage: GO_PACKAGE,
      minutes: 3,
      announcement: 'the download is not possible here; trying to build the Temporal server with Go',
    }),
  ],
  advice: [
    '- set TEMPORAL_ADDRESS to a server that runs (host:port);',
    '- install the Temporal CLI (https://docs.temporal.io/cli), so that "temporal" is on the PATH;',
    '- set TEMPORAL_CLI_PATH to the Temporal CLI;',
    `- install Go (https://go.dev/dl), or run: go install ${GO_PACKAGE};`,
    '- allow the download from temporal.download.',
  ],
};

export type TemporalSource =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'binary'; readonly path: string };

/**
 * Finds a Temporal server, or obtains one: TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH, `temporal` on PATH, our cached build,
 * the SDK's download, `go install`.
 * @throws Error naming every way out when none works
 */
export async function resolveTemporal(
  env: NodeJS.ProcessEnv,
  onProgress: OnProgress,
): Promise<TemporalSource> {
  const address = env['TEMPORAL_ADDRESS'];
  if (address !== undefined && address !== '') return { kind: 'address', address };
  return { kind: 'binary', path: await resolveBinary(TEMPORAL, env, onProgress) };
}

/** What the SDK downloaded into our cache earlier; a file still being written has another ending. */
function downloaded(cache: string): string | undefined {
  let names: string[] = [];
  try {
    names = readdirSync(cache);
  } catch {
    return undefined;
  }
  const name = names.find((file) => /^temporal-.*sdk-typescript-[\d.]+(\.exe)?$/.test(file));
  return name === undefined || !isProgram(join(cache, name)) ? undefined : join(cache, name);
}
