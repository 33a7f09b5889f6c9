import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/mutants.mjs', import.meta.url));
const FILE = 'src/domain/submission-id.ts';
const TEST = {
  file: 'test/domain/submission-id.test.ts',
  test: 'submissionId > is a function of the generation and the ordinal',
};
/** Each mutant is a run of Vitest, and one more without any. */
const LIMIT_MS = 400_000;

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Mutant {
  readonly id: string;
  readonly find: string;
  readonly replace: string;
  readonly test?: string;
  readonly says?: string;
}

/** Runs the script over these mutants; its status, its last line on stdout and all of its stderr. */
async function run(...mutants: readonly Mutant[]) {
  folder = mkdtempSync(join(tmpdir(), 'darkroom-mutants-test-'));
  const entries = mutants.map(({ id, find, replace, test = TEST.test, says }) => ({
    id,
    breaks: 'made up',
    patches: [{ file: FILE, find, replace }],
    caughtBy: { ...TEST, test, says },
  }));
  writeFileSync(join(folder, 'made-up.json'), JSON.stringify(entries));
  const child = spawn(process.execPath, [SCRIPT, '--json', '--folder', folder], { stdio: 'pipe' });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { status, last: stdout.trimEnd().split('\n').at(-1) ?? '', stderr };
}

const REAL = { id: 'real', find: '`sub_${generationId.slice(4)}_${ordinal}`', replace: '`sub_${ordinal}`' };

describe('npm run mutants', () => {
  it(
    'counts as caught only what makes the named test fail, for the reason that was named',
    async () => {
      const { status, last, stderr } = await run(
        REAL,
        { id: 'harmless', find: '(hash[6]! & 0x0f) | 0x50', replace: '(hash[6]! & 0x0f) | 0x40' },
        { ...REAL, id: 'other-reason', says: 'the ledger sums to zero' },
        { ...REAL, id: 'broken-patch', replace: 'nothing.of(this)' },
      );
      expect(JSON.parse(last), stderr).toEqual({
        planted: 4,
        caught: 1,
        survivors: ['harmless', 'other-reason', 'broken-patch'],
      });
      expect(status).toBe(1);
      expect(stderr).toContain('SURVIVED  harmless');
    },
    LIMIT_MS,
  );

  it(
    'ends with 0 when all are caught',
    async () => {
      const { status, last, stderr } = await run(REAL);
      expect(last, stderr).toBe('{"planted":1,"caught":1,"survivors":[]}');
      expect(status).toBe(0);
    },
    LIMIT_MS,
  );

  it.each([
    ['a text that is not there', { ...REAL, find: 'gone' }, /real: its text is found 0 times in src\/domain/],
    ['a text that is there twice', { ...REAL, find: 'hash' }, /real: its text is found \d+ times/],
    ['a patch that changes nothing', { ...REAL, replace: REAL.find }, /real: changes nothing/],
    ['a test that does not exist', { ...REAL, test: 'no such test' }, /"no such test" was not run/],
  ])(
    'refuses %s',
    async (_name, mutant, message) => {
      const { status, last, stderr } = await run(mutant);
      expect(stderr).toMatch(message);
      expect({ status, last }).toEqual({ status: 1, last: '' });
    },
    LIMIT_MS,
  );
});
