import type { ChaosReport } from './run.ts';

/** The summary for people, with each violation's story. */
export function reportText(report: ChaosReport): string {
  const { seed, generations, kills, seconds, violations, recovered_p95_ms: p95 } = report;
  const within = report.recovered_within_15s;
  const rows: [string, string][] = [
    ['seed', String(seed)],
    ['generations', `${generations} asked for: ${counts(report.states)}`],
    ['errors', counts(report.errors)],
    ['refused', counts(report.refused)],
    ['kills', String(kills)],
    ['faults', counts(report.faults)],
    ['met nobody', counts(report.missed)],
    ['kill points', counts(report.points)],
    ['of providers', counts(report.provider_faults.struck)],
    ['never met', counts(report.provider_faults.missed)],
    [
      'recovered',
      p95 === null
        ? 'nothing was due'
        : `${report.recovered} that were due: p95 ${p95} ms, ${((within ?? 0) * 100).toFixed(1)} % within 15 s ` +
          `(since the last fault p95 ${report.recovered_since_last_p95_ms} ms)`,
    ],
    ['delivered', counts(report.deliveries)],
    ['read', counts(report.read)],
    ['invariants', `checked ${report.invariants_checked} times meanwhile`],
    ['seconds', String(seconds)],
    ['violations', String(violations.length)],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(12)} ${value}`);
  const found = violations.map(
    ({ check, generation, problem, story }) =>
      `\n${check}${generation === null ? '' : ` (${generation})`}: ${problem}\n${story ?? ''}`,
  );
  return `\n${[...lines, ...found].join('\n')}\n`;
}

function counts(values: Readonly<Record<string, number>>): string {
  const entries = Object.entries(values).filter(([, count]) => count > 0);
  return entries.length === 0 ? 'none' : entries.map(([name, count]) => `${name} ${count}`).join(', ');
}
