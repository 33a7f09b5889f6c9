import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DataFolder, noteRunning, openDataFolder, readJson } from './data-folder.ts';
import { parseStartOptions, START_HELP, type StartOptions } from './options.ts';
import { Parts } from './parts.ts';
import { progressPrinter, reportJson, reportText } from './report.ts';
import { type Credits, readCredits, runSamples } from './sample.ts';
import { type Seed, seedTenant, topUp } from './seed.ts';
import { startStack, type Stack } from './stack.ts';
import { untilStopped } from './until-stopped.ts';

const HOME = process.env['DARKROOM_DATA'] || fileURLToPath(new URL('../../.darkroom', import.meta.url));
/** Enough for the samples many times over. */
const LOW_CREDITS = 1_000;

const INTERRUPTED = 130;

const startedAt = performance.now();

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function options(): StartOptions {
  try {
    const parsed = parseStartOptions(process.argv.slice(2));
    if (!parsed.fresh || (process.env['DATABASE_URL'] ?? '') === '') return parsed;
    throw new Error(
      '--fresh does not empty the database of DATABASE_URL: unset it, or give an empty database.',
    );
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${START_HELP}`);
    process.exit(2);
  }
}

/** The tenant of an earlier run if this database knows it, else a new one; always with enough credits. */
async function openTenant(folder: DataFolder, stack: Stack): Promise<{ seed: Seed; credits: Credits }> {
  const path = join(folder.path, 'tenant.json');
  const found = readJson(path) as Seed | undefined;
  const known =
    found === undefined ? undefined : await readCredits(stack.apiUrl, found.apiKey).catch(() => undefined);
  const seed = found !== undefined && known !== undefined ? found : await seedTenant(stack.databaseUrl);
  writeFileSync(path, JSON.stringify(seed), { mode: 0o600 });
  if (known !== undefined && known.available < LOW_CREDITS) await topUp(stack.databaseUrl, seed.tenantId);
  return { seed, credits: await readCredits(stack.apiUrl, seed.apiKey) };
}

async function run(given: StartOptions, stopped: Promise<'stopped'>): Promise<number> {
  const folder = await openDataFolder(HOME, given.fresh);
  const parts = new Parts();
  if (folder.besides !== undefined) {
    const { pid, apiUrl } = folder.besides;
    say(
      `another npm start (process ${pid}${apiUrl === undefined ? '' : `, ${apiUrl}`}) uses ${HOME}; ` +
        'this one runs beside it with temporary data',
    );
  }
  try {
    const ended = Promise.race([stopped, parts.broken]);
    const starting = startStack({ dataDir: folder.path, env: process.env, say, parts });
    const samples = starting.then((stack) => runAndReport(given, folder, stack));
    const result = await Promise.race([samples, ended]);
    if (result === 'stopped') return INTERRUPTED;
    if (given.exit) return result;
    say('serving; Ctrl-C stops everything');
    await ended;
    return 0;
  } finally {
    say('stopping');
    await parts.stop();
    await folder.release();
  }
}

async function runAndReport(given: StartOptions, folder: DataFolder, stack: Stack): Promise<number> {
  noteRunning(folder, { pid: process.pid, apiUrl: stack.apiUrl, env: stack.settings });
  const { seed, credits: creditsBefore } = await openTenant(folder, stack);
  say('running two sample generations through the API');
  const progress = progressPrinter(process.stderr);
  const samples = await runSamples(stack, seed.apiKey, (views) => progress.show(views)).finally(() =>
    progress.end(),
  );
  const creditsAfter = await readCredits(stack.apiUrl, seed.apiKey);
  const seconds = Math.round(performance.now() - startedAt) / 1_000;
  const report = { stack, seed, samples, creditsBefore, creditsAfter, seconds };
  if (given.json) process.stdout.write(`${reportJson(report)}\n`);
  (given.json ? process.stderr : process.stdout).write(reportText(report));
  return samples.every(({ state }) => state === 'succeeded') ? 0 : 1;
}

async function main(): Promise<number> {
  const given = options();
  if (given.help) {
    process.stdout.write(START_HELP);
    return 0;
  }
  return run(given, untilStopped()).catch((error: unknown) => {
    say(`\nnpm start failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  });
}

process.exitCode = await main();
// What was still starting when we were stopped must not keep this process; the keeper ends it.
setTimeout(() => process.exit(), process.exitCode === INTERRUPTED ? 0 : 2_000).unref();
