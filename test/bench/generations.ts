import { cpuBetween, readCpu, readThreads, type Cpu } from './cpu.ts';
import { perSecond, untilSettled } from './load.ts';
import type { BenchStack } from './stack.ts';
import { ratioOf, rounded } from './statistics.ts';
import type { PartReport, Size } from './types.ts';

const KINDS = ['ours', 'bare', 'ours_with_webhooks'] as const;
type Kind = (typeof KINDS)[number];

/** One measurement: the rate, and what one generation cost each process. */
interface Measured {
  readonly perSecond: number;
  /** CPU milliseconds of one generation by process. */
  readonly cpu: Cpu;
  /** CPU milliseconds of one generation by the threads of the worker (ours or bare). */
  readonly threads: Cpu;
}

/** Generations a second through the public API against bare runs, each with the same number under way. */
export async function measureGenerations(
  stack: BenchStack,
  { rounds, generations, inFlight }: Size,
): Promise<PartReport> {
  const run = (kind: Kind, count: number) => measure(stack, kind, count, inFlight);
  // The first of everything compiles, connects and plans.
  for (const kind of KINDS) await run(kind, Math.min(generations, inFlight * 2));
  const measured: Record<Kind, Measured[]> = { ours: [], bare: [], ours_with_webhooks: [] };
  for (let round = 0; round < rounds; round++) {
    stack.say(`  round ${round + 1} of ${rounds}: ${generations} of each`);
    const order = round % 2 === 0 ? KINDS : [...KINDS].reverse();
    for (const kind of order) measured[kind].push(await run(kind, generations));
  }
  const ratios = (kind: Kind) =>
    ratioOf(measured[kind].map((one, round) => one.perSecond / (measured.bare[round]?.perSecond ?? 0)));
  return {
    ratios: {
      generations_vs_bare_temporal: ratios('ours'),
      generations_vs_bare_temporal_with_webhooks: ratios('ours_with_webhooks'),
    },
    latencies: {
      generations_per_second: Object.fromEntries(
        KINDS.map((kind) => [kind, measured[kind].map((one) => rounded(one.perSecond))]),
      ),
      cpu_ms_per_generation: Object.fromEntries(
        KINDS.map((kind) => [kind, measured[kind].map(({ cpu }) => cpu)]),
      ),
      worker_cpu_ms_by_thread: Object.fromEntries(
        KINDS.map((kind) => [kind, measured[kind].at(-1)?.threads ?? {}]),
      ),
    },
  };
}

async function measure(stack: BenchStack, kind: Kind, count: number, inFlight: number): Promise<Measured> {
  const pid = kind === 'bare' ? stack.bare.pid : stack.worker.pid;
  const once = () => {
    if (kind === 'bare') return stack.bare.run();
    return untilSettled(stack, kind === 'ours' ? stack.quiet : stack.told);
  };
  const [cpu, threads] = [readCpu(stack.pids), readThreads(pid)];
  const rate = await perSecond(count, inFlight, once);
  return {
    perSecond: rate,
    cpu: cpuBetween(cpu, readCpu(stack.pids), count),
    threads: cpuBetween(threads, readThreads(pid), count),
  };
}
