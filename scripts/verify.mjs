// npm run verify: format, lint, types, dead code, and that the documents name only what exists. All run, all failures are reported.
import { prepareOrExit } from './prepare.mjs';
import { commandScript, run } from './tools.mjs';

const CHECKS = [
  { name: 'format', package: 'oxfmt', command: 'oxfmt', args: ['--check'], fix: 'npx oxfmt' },
  { name: 'lint', package: 'oxlint', command: 'oxlint', args: ['--deny-warnings'], fix: 'npx oxlint --fix' },
  { name: 'types', package: 'typescript', command: 'tsc', args: ['--noEmit'], fix: undefined },
  { name: 'dead code', package: 'knip', command: 'knip', args: ['--no-progress'], fix: undefined },
  {
    name: 'client types',
    script: 'scripts/client-types.mjs',
    args: ['--check'],
    fix: 'npm run client:types',
  },
  { name: 'documents', script: 'scripts/check-docs.mjs', args: [], fix: undefined },
];

await prepareOrExit();
const failed = [];
for (const check of CHECKS) {
  const startedAt = performance.now();
  const { ok, output } = await run(process.execPath, [
    check.script ?? commandScript(check.package, check.command),
    ...check.args,
  ]);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'}  ${check.name} (${seconds} s)\n`);
  if (ok) continue;
  failed.push(check.name);
  process.stdout.write(
    `${output}\n${check.fix === undefined ? '' : `Some of this is repaired by: ${check.fix}\n`}\n`,
  );
}
if (failed.length > 0) {
  process.stdout.write(`verify failed: ${failed.join(', ')}\n`);
  process.exitCode = 1;
}
