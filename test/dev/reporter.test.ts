import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';

const REPORTER = fileURLToPath(new URL('../support/reporter.ts', import.meta.url));
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder('reporter');
});
afterEach(() => folder.remove());

/** Runs vitest with our reporter on the given files. @returns its status and the last line of stdout */
function vitest(
  files: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ code: unknown; last: string }> {
  mkdirSync(folder.path, { recursive: true });
  const globalSetup = 'setup.mjs' in files ? [join(folder.path, 'setup.mjs')] : [];
  const config = {
    test: { globals: true, globalSetup, reporters: ['default', REPORTER], include: ['**/*.test.mjs'] },
  };
  writeFileSync(join(folder.path, 'vitest.config.mjs'), `export default ${JSON.stringify(config)}`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  const { NODE_OPTIONS: _, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [VITEST, 'run', '--root', folder.path, ...args],
      { env: { ...env, VITEST: '', NO_COLOR: '1' } },
      (error, stdout) =>
        resolve({ code: error === null ? 0 : error.code, last: stdout.trimEnd().split('\n').at(-1)! }),
    );
  });
}

const PASS = `test('one', () => {}); test('two', () => {});`;

test('all pass', async () => {
  expect(await vitest({ 'a.test.mjs': PASS })).toEqual({ code: 0, last: '2 passed, 0 failed' });
});

test('one fails', async () => {
  const files = { 'a.test.mjs': PASS, 'b.test.mjs': `test('bad', () => { expect(1).toBe(2); });` };
  expect(await vitest(files)).toEqual({ code: 1, last: '2 passed, 1 failed' });
});

test('a skipped or todo test counts as failed', async () => {
  const files = { 'a.test.mjs': `${PASS} test.skip('later', () => {}); test.todo('some day');` };
  expect(await vitest(files)).toEqual({ code: 1, last: '2 passed, 2 failed' });
});

test('tests left out by their name do not count', async () => {
  expect(await vitest({ 'a.test.mjs': PASS }, '-t', 'one')).toEqual({ code: 0, last: '1 passed, 0 failed' });
});

test('a file that can not be loaded counts as failed', async () => {
  const files = { 'a.test.mjs': PASS, 'b.test.mjs': `throw new Error('broken');` };
  expect(await vitest(files)).toEqual({ code: 1, last: '2 passed, 1 failed' });
});

test('a hook that fails after passing tests counts as failed', async () => {
  const files = { 'a.test.mjs': `${PASS} afterAll(() => { throw new Error('left something'); });` };
  expect(await vitest(files)).toEqual({ code: 1, last: '2 passed, 1 failed' });
});

test('an error outside of every test counts as failed', async () => {
  const files = {
    'a.test.mjs': `test('one', async () => { setTimeout(() => { throw new Error('late'); }, 1);
      await new Promise((done) => setTimeout(done, 50)); });`,
  };
  expect(await vitest(files)).toEqual({ code: 1, last: '1 passed, 1 failed' });
});

test('no test at all is a failure', async () => {
  expect(await vitest({})).toEqual({ code: 1, last: '0 passed, 1 failed' });
});

test('a set-up that fails is a failure', async () => {
  const files = {
    'a.test.mjs': PASS,
    'setup.mjs': `export default () => { throw new Error('no server'); };`,
  };
  expect(await vitest(files)).toEqual({ code: 1, last: '0 passed, 1 failed' });
});

test('the line comes after what the tear-down prints', async () => {
  const files = {
    'a.test.mjs': PASS,
    'setup.mjs': `export default () => () => { console.log('stopped'); };`,
  };
  expect(await vitest(files)).toEqual({ code: 0, last: '2 passed, 0 failed' });
});
