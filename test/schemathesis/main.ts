import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { Parts } from '../../src/dev/parts.ts';
import { startStack } from '../../src/dev/stack.ts';
import { untilStopped } from '../../src/dev/until-stopped.ts';
import { FUZZ_HELP, type FuzzOptions, parseFuzzOptions } from './options.ts';
import { prepareCallers } from './prepare.ts';
import { resolveSchemathesis } from './program.ts';
import { type Caller, runSchemathesis } from './run.ts';

const INTERRUPTED = 130;

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function options(): FuzzOptions {
  try {
    return parseFuzzOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${FUZZ_HELP}`);
    process.exit(2);
  }
}

/** Servers of the caller are never used: the cases create, change and delete whatever they reach. */
function ownServersOnly(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, TEMPORAL_ADDRESS: _temporal, ...rest } = env;
  return rest;
}

async function run(given: FuzzOptions, stopped: Promise<'stopped'>): Promise<number> {
  const parts = new Parts();
  const folder = temporaryFolder('schemathesis');
  try {
    const work = check(given, folder.path, parts);
    const result = await Promise.race([work, stopped, parts.broken]);
    return result === 'stopped' ? INTERRUPTED : result;
  } finally {
    say('stopping');
    await parts.stop();
    keepReport(given, folder.path);
    await folder.remove();
  }
}

/** @returns the exit status */
async function check(given: FuzzOptions, folder: string, parts: Parts): Promise<number> {
  const program = await resolveSchemathesis(process.env, say);
  const stack = await startStack({ dataDir: folder, env: ownServersOnly(process.env), say, parts });
  const { apiKey, adminKey } = await prepareCallers(stack);
  const tenant: Caller = { name: 'tenant', key: apiKey, paths: '^/(?!admin/)' };
  const operator: Caller = { name: 'operator', key: adminKey, paths: '^/admin/' };
  const failed: string[] = [];
  for (const caller of given.adminOnly ? [operator] : [tenant, operator]) {
    parts.assertWanted();
    say(`\nschemathesis as ${caller.name}, seed ${given.seed}`);
    const ok = await runSchemathesis(caller, { program, apiUrl: stack.apiUrl, folder, given, parts });
    if (!ok) failed.push(caller.name);
  }
  const again = `npm run schemathesis -- --seed ${given.seed} --max-examples ${given.maxExamples}`;
  say(failed.length === 0 ? `\nno failures (${again})` : `\nfailed as ${failed.join(', ')}: ${again}`);
  return failed.length === 0 ? 0 : 1;
}

function keepReport({ report }: FuzzOptions, folder: string): void {
  if (report === null) return;
  const to = resolve(report);
  mkdirSync(to, { recursive: true });
  for (const name of ['report', 'logs']) {
    const from = join(folder, name);
    if (existsSync(from)) cpSync(from, join(to, name), { recursive: true });
  }
  say(`reports and logs: ${to}`);
}

async function main(): Promise<number> {
  const given = options();
  if (given.help) {
    process.stdout.write(FUZZ_HELP);
    return 0;
  }
  return run(given, untilStopped()).catch((error: unknown) => {
    say(`\nnpm run schemathesis failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  });
}

process.exitCode = await main();
// What was still starting when we were stopped must not keep this process; the keeper ends it.
setTimeout(() => process.exit(), process.exitCode === INTERRUPTED ? 0 : 2_000).unref();
