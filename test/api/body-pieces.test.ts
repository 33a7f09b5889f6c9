import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('a body of a megabyte that comes byte by byte takes little more memory than one that comes at once', async () => {
  const program = fileURLToPath(new URL('body-pieces.ts', import.meta.url));
  // A million pieces, each of them kept, are more than this heap has.
  const args = ['--max-old-space-size=80', '--import', 'tsx', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env['PATH'] },
  });
  expect(stdout).toBe('1048576 true');
});
