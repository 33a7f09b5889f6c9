import { join } from 'node:path';
import { cpuBetween, readCpu, readThreads } from './cpu.ts';
import { perSecond, untilSettled } from './load.ts';
import type { BenchOptions } from './options.ts';
import { nowUs, type Span, summarize, summaryText } from './profile.ts';
import { startBenchStack } from './stack.ts';

/** Runs one round of generations and one of bare runs under the profiler. @returns where the time went, for people */
export async function profileGenerations(
  { renderMs, size }: BenchOptions,
  folder: string,
  say: (line: string) => void,
): Promise<string> {
  const stack = await startBenchStack({ renderMs, profile: folder, say });
  const { generations, inFlight } = size;
  const texts: string[] = [];
  const span = async (title: string, pid: number, once: () => Promise<unknown>): Promise<Span> => {
    await perSecond(inFlight * 2, inFlight, once);
    const [cpu, threads, fromUs] = [readCpu(stack.pids), readThreads(pid), nowUs()];
    const rate = await perSecond(generations, inFlight, once);
    const used = cpuBetween(cpu, readCpu(stack.pids), generations);
    texts.push(
      `${title}: ${rate.toFixed(1)}/s under the profiler, ${inFlight} under way`,
      `  CPU ms a generation by process: ${JSON.stringify(used)}`,
      `  of its worker by thread: ${JSON.stringify(cpuBetween(threads, readThreads(pid), generations))}`,
    );
    return { fromUs, toUs: nowUs() };
  };
  try {
    const ours = await span('ours', stack.worker.pid, () => untilSettled(stack, stack.quiet));
    const bare = await span('bare', stack.bare.pid, () => stack.bare.run());
    await stack.stop();
    for (const [name, when] of [
      ['api', ours],
      ['worker', ours],
      ['bare', bare],
    ] as const) {
      texts.push('', summaryText(name, summarize(join(folder, name), [when]), generations));
    }
    return texts.join('\n');
  } finally {
    await stack.stop();
  }
}
