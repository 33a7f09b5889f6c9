import type { Db } from '../db/index.ts';
import type { Check } from './cluster-checks.ts';

/** Times of all generations, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly most: number;
}

export interface ClusterReport {
  readonly generations: number;
  /** From the first request to the last end. */
  readonly seconds: number;
  readonly perSecond: number;
  /** Answers that were not 202; each was repeated with its key. */
  readonly refusals: number;
  /** How many were asked for while Temporal was down. */
  readonly whileDown: number;
  /** What was done to the parts, with the second of the run. */
  readonly outages: readonly {
    readonly what: string;
    readonly fromSeconds: number;
    readonly toSeconds: number;
  }[];
  /** From the 202 to the end. */
  readonly whole: Percentiles;
  /** From the provider's success, as first seen, to captured credits: store and settle. */
  readonly settle: Percentiles;
  readonly finishedBy: Readonly<Record<string, number>>;
  readonly checks: readonly Check[];
}

/** Both spans of every generation, by the database's clock. */
export async function readTimes(db: Db): Promise<Pick<ClusterReport, 'whole' | 'settle' | 'finishedBy'>> {
  const rows = await db.prisma.generation.findMany({
    select: {
      createdAt: true,
      successAt: true,
      completedAt: true,
      submissions: { select: { finishedBy: true } },
    },
  });
  const ended = rows.filter(({ completedAt }) => completedAt !== null);
  const since = (pick: (row: (typeof rows)[number]) => Date | null) =>
    percentiles(ended.map((row) => row.completedAt!.getTime() - (pick(row) ?? row.createdAt).getTime()));
  const finishedBy: Record<string, number> = {};
  for (const { submissions } of rows) {
    const by = submissions.at(-1)?.finishedBy ?? 'none';
    finishedBy[by] = (finishedBy[by] ?? 0) + 1;
  }
  return {
    whole: since(({ createdAt }) => createdAt),
    settle: since(({ successAt }) => successAt),
    finishedBy,
  };
}

/** By the nearest rank; zeros for none. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), most: at(1) };
}

export function reportText(report: ClusterReport): string {
  const { generations, seconds, perSecond, refusals, whileDown, outages, whole, settle, finishedBy } = report;
  const times = ({ p50, p95, most }: Percentiles) => `p50 ${p50} ms, p95 ${p95} ms, most ${most} ms`;
  const by = Object.entries(finishedBy).map(([name, count]) => `${count} by ${name}`);
  const failed = report.checks.filter(({ problems }) => problems.length > 0);
  return [
    '',
    `${generations} generations in ${seconds} s, ${perSecond}/s; ${refusals} refused at first`,
    ...outages.map(
      ({ what, fromSeconds, toSeconds }) => `${what}: from second ${fromSeconds} to ${toSeconds}`,
    ),
    `asked for while Temporal was down: ${whileDown}`,
    `from 202 to the end:      ${times(whole)}`,
    `from success to captured: ${times(settle)}`,
    `ended: ${by.join(', ')}`,
    ...report.checks.flatMap(({ name, problems }) => [
      `${problems.length === 0 ? 'ok    ' : 'FAILED'} ${name}`,
      ...problems.map((problem) => `         ${problem}`),
    ]),
    failed.length === 0 ? 'Nothing was lost.' : `${failed.length} of ${report.checks.length} checks failed.`,
    '',
  ].join('\n');
}
