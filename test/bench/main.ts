import { logTail } from '../../src/dev/child.ts';
import { measureCounts } from './counts.ts';
import { readCpu } from './cpu.ts';
import { untilCut } from './cut.ts';
import { measureDownload } from './download.ts';
import { measureGenerations } from './generations.ts';
import { measureLatency } from './latency.ts';
import { describeMachine, describeSettings } from './machine.ts';
import { BENCH_HELP, type BenchOptions, type Part, parseBenchOptions } from './options.ts';
import { profileGenerations } from './profile-run.ts';
import { partText, reportText } from './report.ts';
import { measureRequests } from './requests.ts';
import { Results } from './results.ts';
import { type BenchStack, startBenchStack } from './stack.ts';
import type { Keep, PartReport } from './types.ts';
import { measureWaiting } from './waiting.ts';

/** Each line with the seconds since the start. */
function say(line: string): void {
  process.stderr.write(`${(performance.now() / 1_000).toFixed(1).padStart(7)} ${line}\n`);
}

function options(): BenchOptions {
  try {
    return parseBenchOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${BENCH_HELP}`);
    process.exit(2);
  }
}

const textOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));

type Measure = (stack: BenchStack, given: BenchOptions, keep: Keep) => Promise<PartReport>;

/** In the order in which they run: exact counts first, while nothing else has run. */
const MEASURES: Readonly<Record<Exclude<Part, 'tables'>, Measure>> = {
  counts: (stack, { size }) => measureCounts(stack, size),
  generations: (stack, { size }) => measureGenerations(stack, size),
  settle: (stack, { size }) => measureLatency(stack, size),
  requests: (stack, { size }) => measureRequests(stack, size),
  download: (stack, { size }) => measureDownload(stack.folder, size),
  waiting: (stack, { size }, keep) => measureWaiting(stack, size, keep),
};

/** Measures one part and keeps what it has; a failure is kept too. */
async function measurePart(
  results: Results,
  part: Part,
  pids: BenchStack['pids'],
  measure: (keep: Keep) => Promise<PartReport>,
): Promise<void> {
  const startedMs = performance.now();
  const cpuMs = () => Object.values(readCpu(pids)).reduce((sum, ms) => sum + ms, 0);
  const before = cpuMs();
  say(`measuring: ${part}`);
  results.end(part, 'under way');
  try {
    const report = await measure((sofar) => results.keep(part, sofar, 'under way'));
    const [seconds = 0, cpu = 0] = [performance.now() - startedMs, cpuMs() - before].map(
      (ms) => Math.round(ms / 100) / 10,
    );
    results.keep(part, report, { seconds, cpu_seconds: cpu });
    say(`  ${part} took ${seconds} s, ${cpu} s of CPU\n${partText(report)}`);
  } catch (error) {
    results.end(part, { failed: error instanceof Error ? error.message : String(error) });
    say(`  ${part} failed: ${textOf(error)}`);
  }
}

async function measureAll(given: BenchOptions, results: Results, stack: BenchStack): Promise<void> {
  results.describe({
    machine: await describeMachine(stack),
    settings: await describeSettings(stack, given),
  });
  for (const [part, measure] of Object.entries(MEASURES)) {
    if (!given.parts.has(part as Part)) continue;
    await measurePart(results, part as Part, stack.pids, (keep) => measure(stack, given, keep));
    for (const child of [stack.api, stack.worker])
      if (!child.isRunning()) throw new Error(`${child.name} has ended:\n${await logTail(child.logFile)}`);
  }
  await stack.stop();
  // With a PostgreSQL of their own, and the machine to themselves.
  if (given.parts.has('tables')) await measurePart(results, 'tables', {}, () => measureTables(given));
  results.complete();
}

async function measureTables({ size }: BenchOptions): Promise<PartReport> {
  const { measureTables: measure } = await import('./tables.ts');
  const tables = await measure({
    sizes: size.tables,
    rounds: size.rounds,
    onProgress: (text) => say(`  ${text}`),
  });
  return { tables };
}

/** @returns the exit code */
async function bench(given: BenchOptions, cut: Promise<number>): Promise<number> {
  const results = new Results(given.out);
  const stack = await Promise.race([cut, startBenchStack({ renderMs: given.renderMs, profile: null, say })]);
  // What has started is ended by the keeper.
  if (typeof stack === 'number') return stack;
  const measured = measureAll(given, results, stack).catch((error: unknown) => say(textOf(error)));
  const cutCode = await Promise.race([cut, measured.then(() => null)]);
  if (cutCode !== null) results.close();
  const report = results.report();
  process.stdout.write(given.json ? `${JSON.stringify(report)}\n` : reportText(report));
  await (cutCode === null ? stack.stop() : stack.stop(0));
  return cutCode ?? (report.whole ? 0 : 1);
}

async function main(given: BenchOptions, cut: Promise<number>): Promise<number> {
  if (given.help) process.stdout.write(BENCH_HELP);
  else if (given.profile === null) return bench(given, cut);
  else {
    const text = await Promise.race([cut, profileGenerations(given, given.profile, say)]);
    if (typeof text === 'number') return text;
    process.stdout.write(`${text}\n`);
  }
  return 0;
}

const code = await main(options(), untilCut()).catch((error: unknown) => {
  say(`npm run bench failed: ${textOf(error)}`);
  return 1;
});
process.exit(code);
