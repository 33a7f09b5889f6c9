import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../src/dev/keeper.ts';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
const INSTALL = 'installing packages (npm ci)';
const GENERATE = 'generating the Prisma client (prisma generate)';

let folder: ReturnType<typeof temporaryFolder>;
let root: string;
beforeEach(() => {
  folder = temporaryFolder('prepare');
  root = join(folder.path, 'a checkout');
  cpSync(SCRIPTS, join(root, 'scripts'), { recursive: true });
  mkdirSync(join(root, 'prisma'));
  writeFileSync(join(root, 'prisma/schema.prisma'), 'first');
  // A stand-in for Prisma whose generator counts its runs.
  const fake = { name: 'prisma', version: '1.0.0', bin: { prisma: 'prisma.mjs' } };
  mkdirSync(join(root, 'fake-prisma'));
  writeFileSync(join(root, 'fake-prisma/package.json'), JSON.stringify(fake));
  writeFileSync(
    join(root, 'fake-prisma/prisma.mjs'),
    `import fs from 'node:fs';
     const schema = fs.readFileSync(process.argv[4], 'utf8');
     if (schema === 'bad') { console.error('line 1: not a schema'); process.exit(1); }
     if (!fs.existsSync(process.env.PRISMA_SCHEMA_ENGINE_BINARY)) process.exit(2);
     fs.mkdirSync('src/db/generated', { recursive: true });
     fs.writeFileSync('src/db/generated/client.ts', schema);
     fs.appendFileSync('runs', 'x');`,
  );
  writeLock('1.0.0');
});
afterEach(() => folder.remove());

function writeLock(version: string): void {
  const dependencies = { prisma: 'file:fake-prisma' };
  const root_ = { name: 'checkout', version: '1.0.0', dependencies };
  writeFileSync(join(root, 'package.json'), JSON.stringify(root_));
  const packages = {
    '': root_,
    'fake-prisma': { name: 'prisma', version, bin: { prisma: 'prisma.mjs' } },
    'node_modules/prisma': { resolved: 'fake-prisma', link: true },
  };
  const lock = { name: 'checkout', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lock));
}

function prepare(...nodeArgs: string[]): Promise<{ code: unknown; stderr: string; stdout: string }> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return new Promise((resolve) => {
    const args = [...nodeArgs, join(root, 'scripts/prepare.mjs')];
    execFile(process.execPath, args, { cwd: folder.path, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr: stderr.trim() }),
    );
  });
}

const runs = () => readFileSync(join(root, 'runs'), 'utf8').length;

test('a fresh checkout is installed and generated once; the second run does nothing', async () => {
  expect(await prepare()).toEqual({ code: 0, stdout: '', stderr: `${INSTALL}\n${GENERATE}` });
  expect(await prepare()).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(runs()).toBe(1);
});

test('only what has changed is done again', async () => {
  await prepare();
  writeFileSync(join(root, 'prisma/schema.prisma'), 'second');
  expect((await prepare()).stderr).toBe(GENERATE);
  expect(readFileSync(join(root, 'src/db/generated/client.ts'), 'utf8')).toBe('second');
  rmSync(join(root, 'src/db/generated'), { recursive: true });
  expect((await prepare()).stderr).toBe(GENERATE);
  writeLock('1.0.1');
  expect((await prepare()).stderr).toBe(INSTALL);
});

test('packages that someone installed with npm are taken as they are', async () => {
  await prepare();
  rmSync(join(root, 'node_modules/.darkroom-lock'));
  expect((await prepare()).stderr).toBe('');
  writeFileSync(join(root, 'node_modules/.darkroom-lock'), 'another-hash another-platform');
  expect((await prepare()).stderr).toBe(INSTALL);
});

test('two at once do the work once', async () => {
  const both = await Promise.all([prepare(), prepare()]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(
    both
      .map(({ stderr }) => stderr)
      .join('\n')
      .split(INSTALL),
  ).toHaveLength(2);
  expect(runs()).toBe(1);
});

test('a step that fails shows what its tool said and what to do; the next run tries again', async () => {
  writeFileSync(join(root, 'prisma/schema.prisma'), 'bad');
  const { code, stderr } = await prepare();
  expect(code).toBe(1);
  expect(stderr).toMatch(/prisma generate failed:\nline 1: not a schema\nCorrect prisma\/schema\.prisma/);
  writeFileSync(join(root, 'prisma/schema.prisma'), 'good');
  expect((await prepare()).code).toBe(0);
});

test('a Node that is too old is refused before anything is touched', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } });`;
  const { code, stderr } = await prepare('--import', `data:text/javascript,${encodeURIComponent(old)}`);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'Darkroom needs Node 20.19 or newer; this is 20.18.3. Get one at https://nodejs.org.',
  });
  expect(existsSync(join(root, 'node_modules'))).toBe(false);
});
