import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The version of this package; its file lies at the same place seen from `src` and from `dist`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
