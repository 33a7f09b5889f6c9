// npm test: prepares the checkout, then runs vitest in this same process. The last line is always "N passed, N failed".
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { prepareOrExit } from './prepare.mjs';
import { commandScript } from './tools.mjs';

process.on('exit', (code) => {
  // Once our reporter runs, it prints the line itself.
  if (globalThis[Symbol.for('darkroom.reporter')] === true) return;
  process.exitCode = code === 0 ? 1 : code;
  writeSync(1, '0 passed, 1 failed\n');
});

await prepareOrExit();
process.argv.splice(2, 0, 'run');
await import(pathToFileURL(commandScript('vitest', 'vitest')).href);
