import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';

let folder: ReturnType<typeof temporaryFolder>;
let lines: string[];
beforeEach(() => {
  folder = temporaryFolder('temporal cli');
  lines = [];
});
afterEach(() => folder.remove());

const say = (line: string) => lines.push(line);

/** A shell script in `<folder>/<place>/`, which is made. */
function script(place: string, name: string, body: string): string {
  const path = join(folder.path, place, name);
  mkdirSync(join(folder.path, place), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Nothing of this machine is found: empty PATH, own cache, and no way to download. */
function environment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    PATH: join(folder.path, 'bin'),
    HOME: folder.path,
    XDG_CACHE_HOME: join(folder.path, 'cache'),
    HTTPS_PROXY: 'http://127.0.0.1:1',
    ...extra,
  };
}

const CLI = 'echo "temporal version 1.4.1 (Server 1.28.0)"';
const CACHE = 'cache/darkroom/temporal-1.4.1';

describe('in this order', () => {
  test('an address is used as it stands', async () => {
    script('bin', 'temporal', CLI);
    const env = environment({ TEMPORAL_ADDRESS: 'temporal.example:7233', TEMPORAL_CLI_PATH: '/nowhere' });
    expect(await resolveTemporal(env, say)).toEqual({ kind: 'address', address: 'temporal.example:7233' });
  });

  test('TEMPORAL_CLI_PATH comes before the PATH', async () => {
    script('bin', 'temporal', CLI);
    const path = script('own', 'my-temporal', CLI);
    expect(await resolveTemporal(environment({ TEMPORAL_CLI_PATH: path }), say)).toEqual({
      kind: 'binary',
      path,
    });
  });

  test('the PATH comes before our cache; a program that only has the name is passed over', async () => {
    script('bin', 'temporal', 'exit 3');
    const onPath = script('bin2', 'temporal', CLI);
    const cached = script(CACHE, 'temporal', CLI);
    const path = `${join(folder.path, 'bin')}:${join(folder.path, 'bin2')}`;
    expect(await resolveTemporal(environment({ PATH: path }), say)).toEqual({ kind: 'binary', path: onPath });
    expect(await resolveTemporal(environment(), say)).toEqual({ kind: 'binary', path: cached });
  });

  test('an earlier download of the SDK is used, a broken-off one is not', async () => {
    script(CACHE, 'temporal-cli-sdk-typescript-1.24.0.downloading', CLI);
    const path = script(CACHE, 'temporal-cli-sdk-typescript-1.24.0', CLI);
    expect(await resolveTemporal(environment(), say)).toEqual({ kind: 'binary', path });
    expect(lines).toEqual([]);
  });
});

test('a TEMPORAL_CLI_PATH that is no program is refused, with what to do', async () => {
  await expect(resolveTemporal(environment({ TEMPORAL_CLI_PATH: folder.path }), say)).rejects.toThrow(
    /TEMPORAL_CLI_PATH is .* not a program: set it to the Temporal CLI, or unset it/,
  );
});

test('with nothing at hand the error names every way out', async () => {
  const failure = await resolveTemporal(environment(), say).catch(
    (error: unknown) => (error as Error).message,
  );
  for (const way of [
    'TEMPORAL_ADDRESS',
    'TEMPORAL_CLI_PATH',
    'on the PATH',
    'go install',
    'temporal.download',
  ]) {
    expect(failure).toContain(way);
  }
  expect(lines[0]).toBe('downloading the Temporal server (once for this machine)');
});

describe('built with Go', () => {
  const build = 'echo run >> "$HOME/builds"; printf "#!/bin/sh\\n" > "$GOBIN/temporal"';

  test('it is put into the cache once, also when two ask at the same time', async () => {
    script('bin', 'go', build);
    const path = join(folder.path, CACHE, 'temporal');
    const both = await Promise.all([
      resolveTemporal(environment(), say),
      resolveTemporal(environment(), say),
    ]);
    expect(both).toEqual([
      { kind: 'binary', path },
      { kind: 'binary', path },
    ]);
    expect(readFileSync(join(folder.path, 'builds'), 'utf8')).toBe('run\n');
    expect(readdirSync(join(folder.path, 'cache/darkroom'))).toEqual(['temporal-1.4.1']);
    expect(readdirSync(join(folder.path, CACHE))).toEqual(['temporal']);
  });

  test('a build that breaks off leaves nothing half', async () => {
    script('bin', 'go', `${build}; echo "no space left" >&2; exit 1`);
    await expect(resolveTemporal(environment(), say)).rejects.toThrow('The build said: no space left');
    expect(readdirSync(join(folder.path, CACHE))).toEqual([]);
    expect(readdirSync(join(folder.path, 'cache/darkroom'))).toEqual(['temporal-1.4.1']);
  });
});
