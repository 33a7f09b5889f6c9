import { runSimulators } from './run.ts';

runSimulators(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`simulate: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
