import type { ToLookInto } from '../db/report-findings.ts';
import type { UsageFigures, UsageReport } from '../services/report-usage.ts';
import { table } from './context.ts';

const FIGURES = [
  'generations',
  'succeeded',
  'captured',
  'refunded',
  'net',
  'final cost',
  'estimated cost',
] as const;

/** The report as people read it: a line a group, the sums, then what to look into. */
export function reportText(report: UsageReport): string {
  const { by, rows, total } = report;
  const unpriced = total.jobs_without_cost > 0;
  const label = by.length === 0 ? ['', ...FIGURES] : [...by, ...FIGURES];
  const lines = [
    [...label, ...(unpriced ? ['no cost known'] : [])],
    ...rows.map((row) => [...by.map((column) => row[column] ?? ''), ...figures(row, unpriced)]),
    ['total', ...by.slice(1).map(() => ''), ...figures(total, unpriced)],
  ];
  const first = Math.max(by.length, 1);
  const right = [...FIGURES, ''].map((_, i) => first + i);
  return [
    `Credits and provider costs from ${report.from} to ${report.to} (UTC days)${report.tenant === null ? '' : `, ${report.tenant}`}`,
    '',
    table(lines, right),
    '',
    ...lookInto(report.to_look_into),
  ].join('\n');
}

function figures(
  { generations, succeeded, credits, costs, jobs_without_cost }: UsageFigures,
  unpriced: boolean,
) {
  const amounts = (kind: 'final' | 'estimated') =>
    costs
      .filter((cost) => cost[kind] !== '0')
      .map((cost) => `${cost[kind]} ${cost.unit}`)
      .join(', ') || '0';
  return [
    `${generations}`,
    `${succeeded}`,
    `${credits.captured}`,
    `${credits.refunded}`,
    `${credits.net}`,
    amounts('final'),
    amounts('estimated'),
    ...(unpriced ? [`${jobs_without_cost}`] : []),
  ];
}

const cost = (of: { amount: string | null; unit: string | null; final: boolean }): string =>
  of.amount === null ? 'cost not known' : `${of.amount} ${of.unit} ${of.final ? 'final' : 'estimated'}`;

function lookInto(found: ToLookInto): string[] {
  const {
    late_successes,
    orphan_jobs,
    durations,
    partial_deliveries,
    refunds,
    needs_operator,
    budgets_reached,
    stray_jobs,
  } = found;
  const parts: readonly (readonly [string, number, readonly string[]])[] = [
    [
      'late successes: rendered after the end, not charged',
      late_successes.count,
      late_successes.items.map((x) => `${x.at}  ${x.generation}  ${x.provider} ${x.job}  ${cost(x)}`),
    ],
    [
      'orphan jobs: a second job of one submission',
      orphan_jobs.count,
      orphan_jobs.items.map((x) => `${x.at}  ${x.generation}  ${x.provider} ${x.job}  ${cost(x)}`),
    ],
    [
      'rendered durations that differ from the priced ones by more than half a second',
      durations.count,
      durations.items.map(
        (x) =>
          `${x.at}  ${x.generation}  output ${x.output}  priced ${x.priced_seconds} s, rendered ${x.rendered_seconds} s`,
      ),
    ],
    [
      'partial deliveries',
      partial_deliveries.count,
      partial_deliveries.items.map(
        (x) =>
          `${x.at}  ${x.generation}  ${x.model}  ${x.stored} of ${x.expected} stored, captured ${x.captured} of ${x.held}`,
      ),
    ],
    [
      'refunds',
      refunds.count,
      refunds.items.map((x) => `${x.at}  ${x.generation}  ${x.credits} credits, ${x.reason}, by ${x.actor}`),
    ],
    [
      'generations that need an operator now',
      needs_operator.count,
      needs_operator.items.map(
        (x) => `${x.at}  ${x.generation}  ${x.model}  ${x.reason}, deadline ${x.deadline_at}`,
      ),
    ],
    [
      'provider budgets that were reached',
      budgets_reached.count,
      budgets_reached.items.map(
        (x) =>
          `${x.day}  ${x.provider}  spent ${x.spent} of ${x.amount} ${x.unit}, ${x.at === null ? 'no submit refused yet' : `submits refused from ${x.at}`}`,
      ),
    ],
    [
      'stray jobs: of no generation here, lost by a restore; the cost is yours',
      stray_jobs.count,
      stray_jobs.items.map((x) => `${x.at}  ${x.provider} ${x.job}  found by ${x.found_by}`),
    ],
  ];
  const there = parts.filter(([, count]) => count > 0);
  if (there.length === 0) return ['To look into: nothing.'];
  return [
    'To look into',
    ...there.flatMap(([title, count, items]) => [
      `  ${title}: ${count}`,
      ...items.map((item) => `    ${item}`),
      ...(count > items.length ? [`    and ${count - items.length} more`] : []),
    ]),
  ];
}
