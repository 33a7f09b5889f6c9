import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { useBareMachine } from './bare-machine.ts';

const machine = useBareMachine('temporal cli');
const { script, environment, say } = machine;

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
    const path = `${machine.path('bin')}:${machine.path('bin2')}`;
    expect(await resolveTemporal(environment({ PATH: path }), say)).toEqual({ kind: 'binary', path: onPath });
    expect(await resolveTemporal(environment(), say)).toEqual({ kind: 'binary', path: cached });
  });

  test('an earlier download of the SDK is used, a broken-off one is not', async () => {
    script(CACHE, 'temporal-cli-sdk-typescript-1.24.0.downloading', CLI);
    const path = script(CACHE, 'temporal-cli-sdk-typescript-1.24.0', CLI);
    expect(await resolveTemporal(environment(), say)).toEqual({ kind: 'binary', path });
    expect(machine.lines()).toEqual([]);
  });
});

test('a TEMPORAL_CLI_PATH that is no program is refused, with what to do', async () => {
  await expect(resolveTemporal(environment({ TEMPORAL_CLI_PATH: machine.path('') }), say)).rejects.toThrow(
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
  expect(machine.lines()[0]).toBe('downloading the Temporal server (once for this machine)');
});

describe('built with Go', () => {
  const build = 'echo run >> "$HOME/builds"; printf "#!/bin/sh\\n" > "$GOBIN/temporal"';

  test('it is put into the cache once, also when two ask at the same time', async () => {
    script('bin', 'go', build);
    const path = join(machine.path(CACHE), 'temporal');
    const both = await Promise.all([
      resolveTemporal(environment(), say),
      resolveTemporal(environment(), say),
    ]);
    expect(both).toEqual([
      { kind: 'binary', path },
      { kind: 'binary', path },
    ]);
    expect(readFileSync(machine.path('builds'), 'utf8')).toBe('run\n');
    expect(readdirSync(machine.path('cache/darkroom'))).toEqual(['temporal-1.4.1']);
    expect(readdirSync(machine.path(CACHE))).toEqual(['temporal']);
  });

  test('a build that breaks off leaves nothing half', async () => {
    script('bin', 'go', `${build}; echo "no space left" >&2; exit 1`);
    await expect(resolveTemporal(environment(), say)).rejects.toThrow('The build said: no space left');
    expect(readdirSync(machine.path(CACHE))).toEqual([]);
    expect(readdirSync(machine.path('cache/darkroom'))).toEqual(['temporal-1.4.1']);
  });
});
