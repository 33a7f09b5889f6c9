import { parseArgs } from 'node:util';
import type { Size } from './types.ts';

export const PARTS = [
  'generations',
  'settle',
  'requests',
  'counts',
  'waiting',
  'download',
  'tables',
] as const;
export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  readonly help: boolean;
  readonly json: boolean;
  readonly quick: boolean;
  readonly parts: ReadonlySet<Part>;
  readonly size: Size;
  /** A JSON file that is written again after each part; null = none. */
  readonly out: string | null;
  /** A folder for CPU profiles; null = none is taken. */
  readonly profile: string | null;
  readonly renderMs: number;
}

export const BENCH_HELP = `npm run bench -- [options]: Darkroom beside what it is built on, in one run

  --json            one line of JSON on stdout, progress on stderr
  --out FILE        the same JSON there, written again after each part: a run that is cut loses nothing
  --quick           everything small, under a minute; the figures mean little
  --only PARTS      of: ${PARTS.join(', ')} (comma between)
  --tables          also the tables, some 5 minutes more (with --quick up to 10,000 rows, else a million)
  --rounds N        alternating rounds of each comparison (5; quick: 1)
  --generations N   of one round (150; quick: 10)
  --in-flight N     generations under way at once (40; quick: 5)
  --waiting LIST    generations waiting at once, one step after the other (1000,10000)
  --render-ms N     how long the simulated provider renders (50)
  --profile FOLDER  CPU profiles of API, worker and bare worker there, and where their time went
`;

const FULL: Size = {
  rounds: 5,
  generations: 150,
  inFlight: 40,
  callbacks: 30,
  loadWarmMs: 1_500,
  requestSeconds: 4,
  requestWarmSeconds: 1,
  counted: 10,
  waiting: [1_000, 10_000],
  memoryMs: 20_000,
  posts: 50,
  downloadBytes: 512 * 1_048_576,
  tables: [1_000, 10_000, 100_000, 1_000_000],
};
const QUICK: Size = {
  rounds: 1,
  generations: 10,
  inFlight: 5,
  callbacks: 5,
  loadWarmMs: 300,
  requestSeconds: 1,
  requestWarmSeconds: 0,
  counted: 4,
  waiting: [20],
  memoryMs: 1_000,
  posts: 10,
  downloadBytes: 32 * 1_048_576,
  tables: [1_000, 10_000],
};

function whole(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`--${name} takes a whole number, not "${text}"`);
  return Number(text);
}

/** @throws Error with what is wrong with the arguments */
export function parseBenchOptions(argv: readonly string[]): BenchOptions {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    options: {
      help: flag,
      json: flag,
      quick: flag,
      tables: flag,
      out: text,
      only: text,
      rounds: text,
      generations: text,
      'in-flight': text,
      waiting: text,
      'render-ms': text,
      profile: text,
    },
  });
  const base = values.quick ? QUICK : FULL;
  return {
    help: values.help,
    json: values.json,
    quick: values.quick,
    parts: partsOf(values.only, values.tables),
    size: {
      ...base,
      rounds: whole('rounds', values.rounds, base.rounds),
      generations: whole('generations', values.generations, base.generations),
      inFlight: whole('in-flight', values['in-flight'], base.inFlight),
      waiting: values.waiting?.split(',').map((one) => whole('waiting', one, 0)) ?? base.waiting,
    },
    out: values.out ?? null,
    profile: values.profile ?? null,
    renderMs: whole('render-ms', values['render-ms'], 50),
  };
}

function partsOf(only: string | undefined, tables: boolean): Set<Part> {
  if (only === undefined) {
    return new Set(PARTS.filter((part) => part !== 'tables' || tables));
  }
  const wanted = only.split(',').map((name) => {
    const part = PARTS.find((known) => known === name.trim());
    if (part === undefined) throw new Error(`--only: there is no part "${name}": ${PARTS.join(', ')}`);
    return part;
  });
  return new Set(tables ? [...wanted, 'tables'] : wanted);
}
