import { mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { Parts } from '../../src/dev/parts.ts';
import { untilStopped } from '../../src/dev/until-stopped.ts';
import { CHAOS_HELP, type ChaosOptions, parseChaosOptions } from './options.ts';
import { reportText } from './report.ts';
import { runChaos } from './run.ts';

const INTERRUPTED = 130;

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function options(): ChaosOptions {
  try {
    return parseChaosOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${CHAOS_HELP}`);
    process.exit(2);
  }
}

/** A folder of the caller must be empty: what an earlier run left would be counted. */
function openFolder({ data }: ChaosOptions): { readonly path: string; remove(): Promise<void> } {
  if (data === null) return temporaryFolder('chaos');
  const path = resolve(data);
  mkdirSync(path, { recursive: true });
  if (readdirSync(path).length > 0) throw new Error(`--data ${path} is not empty: name another folder.`);
  return { path, remove: () => Promise.resolve() };
}

async function run(given: ChaosOptions, stopped: Promise<'stopped'>): Promise<number> {
  const parts = new Parts();
  const folder = openFolder(given);
  say(`seed ${given.seed}`);
  try {
    const work = (async () => {
      const report = await runChaos(given, folder.path, parts, say);
      (given.json ? process.stderr : process.stdout).write(reportText(report));
      if (given.json) process.stdout.write(`${JSON.stringify(report)}\n`);
      return report.violations.length === 0 ? 0 : 1;
    })();
    // Once stopped, what it was doing fails in whatever way.
    work.catch(() => {});
    const result = await Promise.race([work, stopped]);
    return result === 'stopped' ? INTERRUPTED : result;
  } finally {
    say('stopping');
    await parts.stop();
    await folder.remove();
  }
}

async function main(): Promise<number> {
  const given = options();
  if (given.help) {
    process.stdout.write(CHAOS_HELP);
    return 0;
  }
  return run(given, untilStopped()).catch((error: unknown) => {
    say(`\nnpm run chaos failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  });
}

process.exitCode = await main();
// What was still starting when we were stopped must not keep this process; the keeper ends it.
setTimeout(() => process.exit(), process.exitCode === INTERRUPTED ? 0 : 2_000).unref();
