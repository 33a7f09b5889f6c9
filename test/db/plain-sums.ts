import type { Db } from '../../src/db/index.ts';
import type { ReportColumn } from '../../src/db/report.ts';
import { planSchema } from '../../src/domain/plan.ts';
import type { UsageFigures, UsageRow } from '../../src/services/report-usage.ts';

interface Sums {
  figures: Record<'generations' | 'succeeded' | 'captured' | 'refunded' | 'unpriced', number>;
  /** Ten-billionths by unit. */
  costs: Map<string, { final: bigint; estimated: bigint }>;
}

const SCALE = 10_000_000_000n;

function scaled(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * SCALE + BigInt(fraction.padEnd(10, '0'));
}

function decimal(value: bigint): string {
  const fraction = (value % SCALE).toString().padStart(10, '0').replace(/0+$/, '');
  return `${value / SCALE}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The rows of a report from day to day, the slow and simple way: every row is read, and added up here. */
export async function plainSums(
  db: Db,
  by: readonly ReportColumn[],
  from: string,
  to: string,
): Promise<(UsageFigures & UsageRow)[]> {
  const sums = new Map<string, Sums>();
  const generations = await db.prisma.generation.findMany({
    include: {
      account: true,
      submissions: { include: { orphans: true } },
      transactions: { include: { entries: true } },
    },
  });
  for (const generation of generations) {
    const at = (time: Date, provider = generation.provider): Sums => {
      const values = {
        tenant: generation.tenantId,
        account: generation.account.name,
        model: generation.model,
        day: time.toISOString().slice(0, 10),
        provider,
      };
      const none: Sums = {
        figures: { generations: 0, succeeded: 0, captured: 0, refunded: 0, unpriced: 0 },
        costs: new Map(),
      };
      if (values.day < from || values.day > to) return none;
      const key = JSON.stringify(by.map((column) => values[column]));
      const found = sums.get(key) ?? none;
      sums.set(key, found);
      return found;
    };
    at(generation.createdAt).figures.generations += 1;
    for (const { kind, entries } of generation.transactions) {
      const entry = entries.find(({ accountId }) => accountId === 'sys_revenue')!;
      const { figures } = at(entry.createdAt);
      if (kind === 'capture') figures.succeeded += 1;
      if (kind === 'capture') figures.captured += Number(entry.amount);
      else figures.refunded -= Number(entry.amount);
    }
    for (const submission of generation.submissions) {
      const time = submission.firstSentAt ?? submission.acceptedAt ?? submission.createdAt;
      const add = (amount: string | undefined, unit: string | null, kind: 'final' | 'estimated') => {
        const { figures, costs } = at(time, submission.provider);
        if (amount === undefined || unit === null) figures.unpriced += 1;
        else {
          const cost = costs.get(unit) ?? { final: 0n, estimated: 0n };
          cost[kind] += scaled(amount);
          costs.set(unit, cost);
        }
      };
      const mayBeBilled =
        submission.providerJobId !== null || ['sending', 'unknown'].includes(submission.state);
      const own = submission.costAmount?.toFixed();
      if (own !== undefined || mayBeBilled)
        add(own, submission.costUnit, submission.costFinal ? 'final' : 'estimated');
      for (const _ of submission.orphans) {
        const estimate =
          planSchema.parse(generation.plan).routes[submission.routeIndex]?.estimatedCost ?? null;
        add(estimate?.amount ?? own, estimate?.unit ?? submission.costUnit, 'estimated');
      }
    }
  }
  return [...sums.entries()]
    .toSorted(([one], [two]) => (one < two ? -1 : 1))
    .map(([key, { figures, costs }]) => ({
      ...Object.fromEntries((JSON.parse(key) as string[]).map((value, i) => [by[i], value])),
      generations: figures.generations,
      succeeded: figures.succeeded,
      credits: {
        captured: figures.captured,
        refunded: figures.refunded,
        net: figures.captured - figures.refunded,
      },
      costs: [...costs.entries()]
        .toSorted(([one], [two]) => (one < two ? -1 : 1))
        .map(([unit, { final, estimated }]) => ({
          unit,
          final: decimal(final),
          estimated: decimal(estimated),
        })),
      jobs_without_cost: figures.unpriced,
    }));
}
