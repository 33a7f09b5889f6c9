import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveMinio } from '../../src/dev/minio-binary.ts';
import { useBareMachine } from './bare-machine.ts';

const machine = useBareMachine('minio server');
const { script, environment, lines, say } = machine;
const VERSION = 'v0.0.0-20260212201848-7aac2a2c5b7c';
const CACHE = `cache/darkroom/minio-${VERSION}`;
const MINIO = 'echo "minio version DEVELOPMENT.GOGET"';

test('in this order: MINIO_PATH, the PATH, our cache; a program that only has the name is passed over', async () => {
  script('bin', 'minio', 'echo "another thing"');
  const given = script('own', 'my-minio', MINIO);
  const onPath = script('bin2', 'minio', MINIO);
  const cached = script(CACHE, 'minio', MINIO);
  const PATH = `${machine.path('bin')}:${machine.path('bin2')}`;
  expect(await resolveMinio(environment({ PATH, MINIO_PATH: given }), say)).toBe(given);
  expect(await resolveMinio(environment({ PATH }), say)).toBe(onPath);
  expect(await resolveMinio(environment(), say)).toBe(cached);
  expect(lines()).toEqual([]);
});

test('a MINIO_PATH that is no program is refused, with what to do', async () => {
  await expect(resolveMinio(environment({ MINIO_PATH: machine.path('') }), say)).rejects.toThrow(
    /MINIO_PATH is .* not a program: set it to the MinIO server, or unset it/,
  );
});

test('built with Go in that version, once, also when two ask at the same time', async () => {
  script('bin', 'go', 'echo "$@" >> "$HOME/builds"; printf "#!/bin/sh\\n" > "$GOBIN/minio"');
  const path = join(machine.path(CACHE), 'minio');
  const both = await Promise.all([resolveMinio(environment(), say), resolveMinio(environment(), say)]);
  expect(both).toEqual([path, path]);
  expect(readFileSync(machine.path('builds'), 'utf8')).toBe(`install github.com/minio/minio@${VERSION}\n`);
  expect(readdirSync(machine.path(CACHE))).toEqual(['minio']);
});

test('without Go it is downloaded; with nothing at hand the error names every way out', async () => {
  const failure = await resolveMinio(environment(), say).catch((error: unknown) => (error as Error).message);
  for (const way of [
    'MINIO_PATH',
    'on the PATH',
    `go install github.com/minio/minio@${VERSION}`,
    'dl.min.io',
  ])
    expect(failure).toContain(way);
  expect(failure).toMatch(
    /^No MinIO server was found[\s\S]*The build said: .*ENOENT[\s\S]*The download said: ./,
  );
  expect(lines()).toEqual([
    'building the MinIO server with Go (once for this machine)',
    'it can not be built here; trying to download the MinIO server',
  ]);
  expect(readdirSync(machine.path(CACHE))).toEqual([]);
});
