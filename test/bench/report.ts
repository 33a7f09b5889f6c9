import type { Part } from './options.ts';
import type { PartReport, Ratio } from './types.ts';

/** How a part ended; absent = it was not asked for, or not reached. */
export type PartEnd =
  | { readonly seconds: number; readonly cpu_seconds: number }
  | { readonly failed: string }
  | 'under way';

/** What `npm run bench -- --json` prints in one line. */
export interface BenchReport {
  readonly machine: Readonly<Record<string, unknown>>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly ratios: Readonly<Record<string, Ratio>>;
  readonly counts: NonNullable<PartReport['counts']>;
  readonly latencies: NonNullable<PartReport['latencies']>;
  readonly waiting: unknown;
  readonly tables: unknown;
  readonly parts: Readonly<Partial<Record<Part, PartEnd>>>;
  readonly seconds: number;
  /** False when the run was cut, or a part has failed. */
  readonly whole: boolean;
}

/** For people: the ratios as a table, the rest as it is. */
export function reportText(report: BenchReport): string {
  const head = [
    'ratio'.padEnd(46),
    ...['median', 'min', 'max'].map((name) => name.padStart(8)),
    '   rounds',
  ].join('');
  const section = (title: string, value: unknown) => `${title}\n${indented(value, '  ')}`;
  return [
    section('machine', report.machine),
    section('settings', report.settings),
    '',
    head,
    ...ratioLines(report.ratios),
    '',
    section('counts', report.counts),
    section('latencies (ms) and rates (a second)', report.latencies),
    section('waiting', report.waiting),
    section('tables', report.tables),
    section('parts', report.parts),
    `${report.seconds} s in all${report.whole ? '' : '; not whole: it was cut, or a part has failed'}`,
    '',
  ].join('\n');
}

function ratioLines(ratios: Readonly<Record<string, Ratio>>): string[] {
  return Object.entries(ratios).map(([name, { median, min, max, rounds }]) =>
    [
      name.padEnd(46),
      ...[median, min, max].map((value) => value.toFixed(2).padStart(8)),
      `   ${rounds.length}`,
    ].join(''),
  );
}

/** What one part has measured, for a person who waits for the rest. */
export function partText({ ratios, counts, latencies, waiting, tables }: PartReport): string {
  const rest = [counts, latencies, waiting, tables].filter((one) => one !== undefined);
  return [...ratioLines(ratios ?? {}), ...rest.map((one) => indented(one, '    '))].join('\n');
}

/** Nested members as indented lines, short ones on one line. */
function indented(value: unknown, by: string): string {
  const short = JSON.stringify(value) ?? '';
  if (typeof value !== 'object' || value === null || short.length < 90) return by + short.replaceAll('"', '');
  return Object.entries(value)
    .map(([name, member]) => {
      const text = JSON.stringify(member) ?? '';
      return text.length < 90
        ? `${by}${name}: ${text.replaceAll('"', '')}`
        : `${by}${name}:\n${indented(member, `${by}  `)}`;
    })
    .join('\n');
}
