import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { DEFAULT_CATALOGUE } from '../../src/domain/default-catalogue.ts';

const run = promisify(execFile);
const darkroom = (...args: string[]) =>
  run(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], { maxBuffer: 8 * 1024 * 1024 });

describe('darkroom openapi', () => {
  it('prints the document that the API serves, without any configuration', async () => {
    const { stdout } = await darkroom('openapi');
    expect(JSON.parse(stdout)).toEqual(
      JSON.parse(JSON.stringify(openApiDocument(ROUTES, DEFAULT_CATALOGUE))),
    );
  });

  it('names what is wrong with a catalogue', async () => {
    await expect(darkroom('openapi', '--catalogue', '/nowhere.json')).rejects.toMatchObject({
      code: 78,
      stderr: expect.stringContaining('could not be read (ENOENT)') as string,
    });
  });
});
