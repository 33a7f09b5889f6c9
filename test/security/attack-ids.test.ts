/** The attack lists of reliability.md: each of their ids stands in the title of a test. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** How many each list has. F-1…F-22 are faults, which `npm run chaos` plays. */
const LISTS: Readonly<Record<string, number>> = {
  IDEM: 12,
  WHI: 19,
  WHO: 12,
  SSRF: 10,
  DL: 12,
  SURL: 11,
  SSE: 3,
  LIM: 1,
  LOG: 1,
  SEC: 1,
  HTTP: 1,
};

it('every id has a test that names it', async () => {
  const folder = fileURLToPath(new URL('..', import.meta.url));
  const files = (await readdir(folder, { recursive: true })).filter((file) =>
    /\.(?:test|testsuite)\.ts$|-rows\.ts$/.test(file),
  );
  const titles: string[] = [];
  for (const file of files) {
    const text = await readFile(`${folder}/${file}`, 'utf8');
    // Titles are texts, also those of rows that `each` puts into one; comments do not count.
    for (const [, title = ''] of text.matchAll(/^\s*[^/*\s].*?['"`](.*)['"`]/gm)) titles.push(title);
  }
  const all = titles.join('\n');
  const missing = Object.entries(LISTS).flatMap(([list, count]) =>
    Array.from({ length: count }, (_, i) => `${list}-${i + 1}`).filter(
      (id) => !new RegExp(`\\b${id}\\b`).test(all),
    ),
  );
  expect(missing).toEqual([]);
});
