import { setTimeout as sleep } from 'node:timers/promises';
import { askHeld, callBack, holdJobs, untilWaiting, type CallbackTimes, type Waiting } from './callbacks.ts';
import { ask, perSecond, perSecondTelling, untilSettled } from './load.ts';
import type { BenchStack } from './stack.ts';
import { quantile, quantiles, ratioOf } from './statistics.ts';
import type { PartReport, Size } from './types.ts';

const AT_ONCE = 16;
/** Between two callbacks, so that one is over before the next begins. */
const PAUSE_MS = 30;

interface Round {
  readonly ours: readonly CallbackTimes[];
  readonly bare: readonly number[];
}

/** A load that goes on until it is stopped. */
interface Load {
  stop(): Promise<void>;
}

/** From callback to settled against from signal to completed, idle and at half of what each can do. */
export async function measureLatency(
  stack: BenchStack,
  { rounds, callbacks, generations, inFlight, loadWarmMs }: Size,
): Promise<PartReport> {
  await holdJobs(stack);
  await round(stack, Math.min(callbacks, 4), false);
  const idle: Round[] = [];
  for (let number = 0; number < rounds; number++) {
    stack.say(`  idle, round ${number + 1} of ${rounds}: ${callbacks} callbacks, ${callbacks} bare signals`);
    idle.push(await round(stack, callbacks, number % 2 === 1));
  }
  stack.say('  what each can do at most, for half of it');
  const most = {
    ours: await perSecondTelling(stack.say, 'ours', generations, inFlight, () =>
      untilSettled(stack, stack.quiet),
    ),
    bare: await perSecondTelling(stack.say, 'bare', generations, inFlight, () => stack.bare.run()),
  };
  const postMs: number[] = [];
  const loads = {
    warmMs: loadWarmMs,
    ours: () => startLoad(most.ours / 2, () => postedAndSettled(stack, postMs)),
    bare: () => startLoad(most.bare / 2, () => stack.bare.run()),
  };
  const busy: Round[] = [];
  for (let number = 0; number < rounds; number++) {
    stack.say(`  half load, round ${number + 1} of ${rounds}`);
    busy.push(await round(stack, callbacks, number % 2 === 1, loads));
  }
  return {
    ratios: {
      settle_vs_bare_signal: ratiosOf(idle),
      settle_vs_bare_signal_half_load: ratiosOf(busy),
    },
    latencies: {
      half_load_per_second: { ours: Math.round(most.ours * 5) / 10, bare: Math.round(most.bare * 5) / 10 },
      idle: await latenciesOf(stack, idle),
      half_load: { ...(await latenciesOf(stack, busy)), post_accepted: quantiles(postMs) },
    },
  };
}

async function postedAndSettled(stack: BenchStack, postMs: number[]): Promise<void> {
  const startedMs = performance.now();
  const id = await ask(stack, stack.quiet);
  postMs.push(performance.now() - startedMs);
  await stack.settlements.of(id);
}

const settleMs = ({ sentMs, settledMs }: CallbackTimes) => settledMs - sentMs;

function ratiosOf(rounds: readonly Round[]) {
  return ratioOf(rounds.map(({ ours, bare }) => quantile(ours.map(settleMs), 0.5) / quantile(bare, 0.5)));
}

async function latenciesOf(stack: BenchStack, rounds: readonly Round[]) {
  const ours = rounds.flatMap((one) => one.ours);
  return {
    callback_to_settled: quantiles(ours.map(settleMs)),
    bare_signal_to_completed: quantiles(rounds.flatMap(({ bare }) => bare)),
    callback_acknowledged: quantiles(ours.map(({ sentMs, acknowledgedMs }) => acknowledgedMs - sentMs)),
    settled_to_first_byte_at_tenant: quantiles(await firstBytes(stack, ours)),
  };
}

/** Milliseconds from hearing of the settle until the receiver, another process of this machine, has the first byte. */
async function firstBytes(stack: BenchStack, times: readonly CallbackTimes[]): Promise<number[]> {
  const { arrivals } = stack.receiver;
  const end = performance.now() + 30_000;
  while (times.some(({ id }) => !arrivals.has(id)) && performance.now() < end) await sleep(50);
  return times.flatMap(({ id, settledMs }) => {
    const atMs = arrivals.get(id);
    return atMs === undefined ? [] : [Math.max(0, atMs - settledMs)];
  });
}

/** So many of ours and so many bare, one after the other; the load stands beside what is measured only. */
async function round(
  stack: BenchStack,
  count: number,
  bareFirst: boolean,
  loads?: { readonly warmMs: number; readonly ours: () => Load; readonly bare: () => Load },
): Promise<Round> {
  const waiting = await prepareOurs(stack, count);
  const signalled: string[] = [];
  await perSecond(count, AT_ONCE, async () => signalled.push(await stack.bare.runUntilWaiting()));
  const measureOurs = () =>
    beside(loads?.ours, loads?.warmMs, () => oneByOne(waiting, (one) => callBack(stack, one)));
  const measureBare = () =>
    beside(loads?.bare, loads?.warmMs, () => oneByOne(signalled, (id) => stack.bare.signalToCompleted(id)));
  if (!bareFirst) {
    const ours = await measureOurs();
    return { ours, bare: await measureBare() };
  }
  const bare = await measureBare();
  return { ours: await measureOurs(), bare };
}

async function prepareOurs(stack: BenchStack, count: number): Promise<Waiting[]> {
  const ids: string[] = [];
  await perSecond(count, AT_ONCE, async () => ids.push(await askHeld(stack, stack.told)));
  return untilWaiting(stack, ids);
}

async function beside<T>(
  load: (() => Load) | undefined,
  warmMs: number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  const running = load?.();
  // Long enough for the load to be what it will be.
  await sleep(warmMs ?? 300);
  try {
    return await run();
  } finally {
    await running?.stop();
  }
}

async function oneByOne<I, T>(items: readonly I[], run: (item: I) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const item of items) {
    results.push(await run(item));
    await sleep(PAUSE_MS);
  }
  return results;
}

/** So many a second, evenly, whatever becomes of them; `stop` waits for those under way and throws what one threw. */
function startLoad(rate: number, run: () => Promise<void>): Load {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const timer = setInterval(() => {
    if (failures.length > 0) return;
    const one = run()
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(one));
    underWay.add(one);
  }, 1_000 / rate);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      if (failures.length > 0) throw failures[0];
    },
  };
}
