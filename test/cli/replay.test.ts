import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { newId } from '../../src/domain/ids.ts';
import { commandsOn, jsonOf } from './run.ts';
import { temporalAddress } from '../support/stack.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));
const folder = temporaryFolder('replay');
const darkroom = commandsOn({ databaseUrl: () => 'postgresql://nobody@127.0.0.1:1/none' });
const onServer = commandsOn({
  databaseUrl: () => 'postgresql://nobody@127.0.0.1:1/none',
  temporalAddress: temporalAddress(),
});
const file = (name: string) => join(folder.path, name);

beforeAll(async () => {
  await mkdir(folder.path, { recursive: true });
  const text = readFileSync(join(HISTORIES, 'callback.json'), 'utf8');
  const { workflowId, history } = JSON.parse(text) as { workflowId: string; history: object };
  // As `temporal workflow show --output json` writes it, its name being the run's id.
  await writeFile(file(`${workflowId}.json`), JSON.stringify(history));
  await writeFile(file('broken.json'), text.replace('"submit"', '"collect"'));
  await writeFile(file('text.json'), 'no JSON');
  await writeFile(file('other.json'), '{}');
});
afterAll(() => folder.remove());

describe('darkroom replay', () => {
  it('tells which histories would break, and ends with 1 when one would (H2)', async () => {
    const good = [join(HISTORIES, 'callback.json'), join(HISTORIES, 'parked.json')];
    const ran = await darkroom('replay', ...good, file('broken.json'));
    expect(ran.code).toBe(1);
    expect(ran.stdout.split('\n')).toEqual([
      expect.stringMatching(/^run +with this version$/),
      expect.stringMatching(/callback\.json +makes the same decisions$/),
      expect.stringMatching(/parked\.json +makes the same decisions$/),
      expect.stringMatching(/broken\.json +decides otherwise: .*Nondeterminism/),
      '',
    ]);
    expect(ran.stderr).toContain('1 of 3 would break');
  });

  it('takes what Temporal’s command line writes, needs no server for it, and speaks JSON', async () => {
    const { workflowId } = JSON.parse(readFileSync(join(HISTORIES, 'callback.json'), 'utf8')) as {
      workflowId: string;
    };
    const ran = await darkroom('replay', file(`${workflowId}.json`), '--json');
    expect(jsonOf(ran)).toEqual({ replayed: 1, broken: [] });
  });

  it.each([
    [[], 2, 'Name generations or files, or give --open N or --recent N.'],
    [['--open', '0'], 2, 'from 1 to 1000'],
    [[file('absent.json')], 1, "absent.json can't be read: ENOENT"],
    [[file('text.json')], 1, 'text.json is not JSON: write it with'],
    [[file('other.json')], 1, 'other.json has no events: write it with'],
  ])('%j: %i, told what to do', async (args, code, text) => {
    const ran = await darkroom('replay', ...args);
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr).toContain(text);
  });

  it('a generation that Temporal does not know: 1', async () => {
    const ran = await onServer('replay', newId('gen'));
    expect([ran.code, ran.stderr.trim()]).toEqual([1, 'No history was found.']);
  });
});
