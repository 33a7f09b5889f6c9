// Builds src/client and packs it as it would be published: node scripts/client-pack.mjs [FOLDER]; prints the path of the archive.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepareOrExit } from './prepare.mjs';
import { commandScript, ROOT, run } from './tools.mjs';

await prepareOrExit();
const client = join(ROOT, 'src', 'client');
const folder = resolve(process.argv[2] ?? join(ROOT, 'dist'));
mkdirSync(folder, { recursive: true });
const dist = join(client, 'dist');
rmSync(dist, { recursive: true, force: true });
await step(process.execPath, [commandScript('typescript', 'tsc'), '-p', join(client, 'tsconfig.json')]);
// The compiler rewrites the endings of imports in the code, not in the declarations.
for (const file of readdirSync(dist).filter((file) => file.endsWith('.d.ts'))) {
  const text = readFileSync(join(dist, file), 'utf8');
  writeFileSync(join(dist, file), text.replaceAll(/(?<=from '\.\/[\w-]+)\.ts(?=')/g, '.js'));
}
const name = await step('npm', ['pack', client, '--silent', '--pack-destination', folder]);
rmSync(dist, { recursive: true, force: true });
process.stdout.write(`${join(folder, name.trim().split('\n').at(-1))}\n`);

async function step(program, args) {
  const { ok, output } = await run(program, args);
  if (ok) return output;
  process.stderr.write(output);
  process.exit(1);
}
