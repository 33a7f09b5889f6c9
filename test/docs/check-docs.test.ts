import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/check-docs.mjs', import.meta.url));

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The checker's lines about a README in a small checkout of its own. */
function check(readme: string, security = ''): { lines: string[]; status: number | null } {
  folder = mkdtempSync(join(tmpdir(), 'darkroom-docs-'));
  const files = {
    'README.md': readme,
    'SECURITY.md': security,
    'package.json': '{"scripts": {"start": "node ."}}',
    'docs/OTHER.md': '# The other one\n\n## What, if not?\n',
    'src/cli/key.ts': `new Command('key').addCommand(new Command('create'))`,
    'test/a.test.ts': `it('does it', () => {})`,
    'test/b.testsuite.ts': 'it(`does "more", or less`, () => {})',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8' });
  return { lines: stdout.split('\n').filter((line) => line !== ''), status };
}

describe('scripts/check-docs.mjs', () => {
  it('what the documents of this checkout name is there', () => {
    const { stdout, status } = spawnSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });

  it('takes what is there', () => {
    const text =
      'See `src/cli/key.ts`, [it](docs/OTHER.md#what-if-not), [web](https://example.com/src/none.ts), `@prisma/client`.\n' +
      'Run `npm start`, `npx darkroom key create`, `npx darkroom help`.\n| a | `test/a.test.ts` "does it" |\n';
    expect(check(text)).toEqual({ lines: [], status: 0 });
  });

  it.each([
    ['`src/none.ts`', 'src/none.ts does not exist'],
    ['[it](docs/NONE.md)', 'the link docs/NONE.md leads nowhere'],
    ['[it](docs/OTHER.md#none)', 'the link docs/OTHER.md#none has no such heading'],
    ['`npm run none`', 'the script "none" is not in package.json'],
    ['`npm test`', 'the script "test" is not in package.json'],
    ['`npx darkroom none`', 'there is no command "darkroom none"'],
    ['`npx darkroom key create|none`', 'there is no command "darkroom key none"'],
    ['| a | `test/a.test.ts` "does that" |', 'test/a.test.ts has no test "does that"'],
  ])('%s is named', (text, problem) => {
    const { lines, status } = check(text);
    expect(lines).toContain(`README.md: ${problem}`);
    expect(status).toBe(1);
  });

  it('takes several tests in one cell, each with its whole title', () => {
    const cell = (title: string) =>
      `| \`test/a.test.ts\` "${title}"; \`test/b.testsuite.ts\` "does "more", or less" |`;
    expect(check(cell('does it')).lines).toEqual([]);
    expect(check(cell('does')).lines).toEqual(['README.md: test/a.test.ts has no test "does"']);
    expect(check(cell('does it').replace('or less', 'or')).lines).toEqual([
      'README.md: test/b.testsuite.ts has no test "does "more", or"',
    ]);
  });

  it('each row of SECURITY.md has a test, or says that it has none', () => {
    const table = (...rows: string[]) =>
      ['| requirement | what | test |', '| --- | --- | --- |', ...rows].join('\n');
    const good = [
      '| A | is | `test/a.test.ts` "does it" |',
      '| B | **not met** | |',
      "| C | **operator's part** | |",
    ];
    expect(check('', table(...good)).lines).toEqual([]);
    expect(check('', table(...good, '| D | is | |')).lines).toEqual([
      `SECURITY.md: "D" names no test, and is neither "not met" nor the operator's part`,
    ]);
  });
});
