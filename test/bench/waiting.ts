import { setTimeout as sleep } from 'node:timers/promises';
import { askHeld, callBack, holdJobs, untilWaiting } from './callbacks.ts';
import { WAITING_MODEL } from './catalogue.ts';
import { residentMib } from './cpu.ts';
import { ask, perSecondTelling } from './load.ts';
import type { BenchStack } from './stack.ts';
import { quantiles, ratioOf, rounded } from './statistics.ts';
import type { Keep, PartReport, Quantiles, Size } from './types.ts';

const AT_ONCE = 32;
/** For all that were asked for to wait, and for one of them to end beside all the others. */
const LIMIT_MS = 900_000;

/** Resident MiB. */
interface Memory {
  readonly worker: number;
  readonly api: number;
}

interface WaitingReport {
  readonly waiting: number;
  /** Resident, with garbage that was not collected yet. */
  readonly worker_mib: number;
  readonly api_mib: number;
  readonly asked_per_second: number;
  readonly post_ms: Quantiles;
  readonly finish_seconds: number;
  readonly finished_per_second: number;
}

/** Many generations waiting at once for their callbacks; then all of them finish. */
export async function measureWaiting(
  stack: BenchStack,
  { waiting, memoryMs, posts }: Size,
  keep: Keep,
): Promise<PartReport> {
  await holdJobs(stack);
  const idle = await memory(stack, memoryMs);
  const steps: WaitingReport[] = [];
  for (const count of waiting) {
    stack.say(`  ${count} generations waiting at once`);
    steps.push(await step(stack, count, { memoryMs, posts }));
    keep(reportOf(idle, steps));
  }
  return reportOf(idle, steps);
}

function reportOf(idle: Memory, steps: readonly WaitingReport[]): PartReport {
  const [first, last] = [steps[0], steps.at(-1)];
  return {
    waiting: { idle_worker_mib: idle.worker, idle_api_mib: idle.api, steps },
    ...(first === undefined || last === undefined || first === last
      ? {}
      : {
          ratios: {
            [`worker_memory_${short(last.waiting)}_vs_${short(first.waiting)}`]: ratioOf([
              last.worker_mib / first.worker_mib,
            ]),
          },
        }),
  };
}

const short = (count: number) => (count % 1_000 === 0 ? `${count / 1_000}k` : String(count));

async function step(
  stack: BenchStack,
  count: number,
  { memoryMs, posts }: Pick<Size, 'memoryMs' | 'posts'>,
): Promise<WaitingReport> {
  const ids: string[] = [];
  const asked = await perSecondTelling(stack.say, 'asked', count, AT_ONCE, async () =>
    ids.push(await askHeld(stack, stack.quiet, WAITING_MODEL)),
  );
  const held = await untilWaiting(stack, ids, LIMIT_MS);
  const { worker, api } = await memory(stack, memoryMs);
  const postMs: number[] = [];
  const others: Promise<number>[] = [];
  for (let post = 0; post < posts; post++) {
    const startedMs = performance.now();
    const id = await ask(stack, stack.quiet);
    postMs.push(performance.now() - startedMs);
    others.push(stack.settlements.of(id));
    await sleep(100);
  }
  await Promise.all(others);
  const startedMs = performance.now();
  const left = [...held];
  await perSecondTelling(stack.say, 'finished', count, AT_ONCE, async () => {
    const one = left.pop();
    if (one !== undefined) await callBack(stack, one, LIMIT_MS);
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    waiting: count,
    worker_mib: worker,
    api_mib: api,
    asked_per_second: rounded(asked),
    post_ms: quantiles(postMs),
    finish_seconds: rounded(seconds),
    finished_per_second: rounded(count / seconds),
  };
}

/** The least in this time, as it has the least that no one holds. */
async function memory({ worker, api }: BenchStack, memoryMs: number): Promise<Memory> {
  const readings: Memory[] = [];
  for (let waited = 0; waited < memoryMs; waited += 1_000) {
    await sleep(1_000);
    readings.push({ worker: residentMib(worker.pid), api: residentMib(api.pid) });
  }
  const least = (pick: (one: Memory) => number) => Math.min(...readings.map(pick));
  return { worker: least((one) => one.worker), api: least((one) => one.api) };
}
