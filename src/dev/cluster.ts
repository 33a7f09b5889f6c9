import { mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Db, openDb } from '../db/index.ts';
import { grantCredits } from '../services/grant-credits.ts';
import { waitUntil } from './child.ts';
import { resolveClusterPrograms } from './cluster-binary.ts';
import { checkRun } from './cluster-checks.ts';
import { Load } from './cluster-load.ts';
import { CLUSTER_HELP, type ClusterOptions, parseClusterOptions } from './cluster-options.ts';
import { type ClusterReport, readTimes, reportText } from './cluster-report.ts';
import { type ClusterStack, startClusterStack } from './cluster-stack.ts';
import { temporaryFolder } from './keeper.ts';
import { Parts } from './parts.ts';
import { seedTenant } from './seed.ts';
import { untilStopped } from './until-stopped.ts';

const INTERRUPTED = 130;
/** More than any price of the models that are used. */
const CREDITS_EACH = 100;
/** Nothing has ended for this long: it will not. */
const STALLED_MS = 180_000;
/** Long enough for retries, polls and callbacks to meet it. */
const DOWN_MS = 5_000;

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function options(): ClusterOptions {
  try {
    return parseClusterOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${CLUSTER_HELP}`);
    process.exit(2);
  }
}

/** A folder of the caller must be empty: what an earlier run left would be counted. */
function openFolder({ data }: ClusterOptions): { readonly path: string; remove(): Promise<void> } {
  if (data === null) return temporaryFolder('cluster');
  const path = resolve(data);
  mkdirSync(path, { recursive: true });
  if (readdirSync(path).length > 0) throw new Error(`--data ${path} is not empty: name another folder.`);
  return { path, remove: () => Promise.resolve() };
}

async function run(given: ClusterOptions, stopped: Promise<'stopped'>): Promise<number> {
  const parts = new Parts();
  const folder = openFolder(given);
  try {
    const work = (async () => {
      const programs = await resolveClusterPrograms(process.env, say);
      parts.assertWanted();
      const stack = await startClusterStack({ dataDir: folder.path, env: process.env, say, parts }, programs);
      const report = await measure(stack, given.generations);
      if (given.json) process.stdout.write(`${JSON.stringify(report)}\n`);
      (given.json ? process.stderr : process.stdout).write(reportText(report));
      return report.checks.every(({ problems }) => problems.length === 0) ? 0 : 1;
    })();
    const result = await Promise.race([work, stopped, parts.broken]);
    return result === 'stopped' ? INTERRUPTED : result;
  } finally {
    say('stopping');
    await parts.stop();
    await folder.remove();
  }
}

async function measure(stack: ClusterStack, generations: number): Promise<ClusterReport> {
  const seed = await seedTenant(stack.databaseUrl);
  const db = openDb(stack.databaseUrl, { poolSize: 4 });
  try {
    const credits = CREDITS_EACH * generations;
    const grant = {
      account: 'default',
      businessKey: 'cluster',
      reason: 'cluster run',
      actor: 'npm run cluster',
    };
    await grantCredits({ db }, { ...grant, tenantId: seed.tenantId, credits });
    return await underLoad(stack, db, new Load(stack.apiUrls, seed.apiKey), generations);
  } finally {
    await db.close();
  }
}

async function underLoad(
  stack: ClusterStack,
  db: Db,
  load: Load,
  generations: number,
): Promise<ClusterReport> {
  const startedAt = performance.now();
  const second = () => Math.round((performance.now() - startedAt) / 100) / 10;
  const outages: ClusterReport['outages'][number][] = [];
  const outage = async (what: string, during: () => Promise<void>) => {
    const fromSeconds = second();
    say(`second ${fromSeconds}: ${what}`);
    await during();
    outages.push({ what, fromSeconds, toSeconds: second() });
  };
  const quarter = Math.floor(generations / 4);
  say(`sending ${generations} generations through ${stack.apiUrls.length} APIs`);
  await load.send(2 * quarter);
  await untilEnded(db, Math.floor(generations / 8));
  await outage('Temporal killed (kill -9), and started again', async () => {
    await stack.temporal.kill();
    await Promise.all([load.send(quarter), new Promise((done) => setTimeout(done, DOWN_MS))]);
    await stack.temporal.start();
  });
  const whileDown = load.sent.length - 2 * quarter;
  const rest = load.send(generations - load.sent.length);
  await Promise.all([rest, untilEnded(db, Math.floor((generations * 5) / 8))]);
  await outage("Temporal's PostgreSQL crashed, and started again", () => stack.restartTemporalDatabase());
  await untilEnded(db, generations);
  const seconds = second();
  say(`second ${seconds}: all have ended; checking`);
  return {
    generations,
    seconds,
    perSecond: Math.round((generations / seconds) * 10) / 10,
    refusals: load.refusals,
    whileDown,
    outages,
    ...(await readTimes(db)),
    checks: await checkRun(stack, db, load.sent),
  };
}

/** Until this many have ended, or none has for three minutes: what stands still is then found by the checks. */
async function untilEnded(db: Db, count: number): Promise<void> {
  let ended = 0;
  let changedAt = performance.now();
  const reached = async () => {
    const now = await db.prisma.generation.count({ where: { completedAt: { not: null } } });
    if (now > ended) [ended, changedAt] = [now, performance.now()];
    return ended >= count;
  };
  const stopped = () => performance.now() - changedAt > STALLED_MS;
  await waitUntil(reached, { timeoutMs: Number.POSITIVE_INFINITY, everyMs: 200, stopped });
}

async function main(): Promise<number> {
  const given = options();
  if (given.help) {
    process.stdout.write(CLUSTER_HELP);
    return 0;
  }
  return run(given, untilStopped()).catch((error: unknown) => {
    say(`\nnpm run cluster failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  });
}

process.exitCode = await main();
// What was still starting when we were stopped must not keep this process; the keeper ends it.
setTimeout(() => process.exit(), process.exitCode === INTERRUPTED ? 0 : 2_000).unref();
