import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface FuzzOptions {
  /** The most cases that each phase makes for an operation. */
  readonly maxExamples: number;
  /** The same seed and document give the same cases. */
  readonly seed: number;
  /** Only the operator's routes. */
  readonly adminOnly: boolean;
  /** Where the reports and logs are kept; null = nowhere. */
  readonly report: string | null;
  readonly help: boolean;
}

const FULL_EXAMPLES = 100;
const QUICK_EXAMPLES = 10;
const MOST = 1_000_000_000;

export const FUZZ_HELP = `npm run schemathesis -- [--quick] [--seed N] [--max-examples N] [--admin] [--report FOLDER]

Starts a whole stack with data of its own (PostgreSQL, Temporal, simulators, API, worker) and runs schemathesis against
its /openapi.json: first all routes with a tenant's key, then the operators' routes with theirs. All phases, all checks,
nothing left out. The first run installs schemathesis in a Python environment of its own, in the user's cache folder.

  --quick            at most ${QUICK_EXAMPLES} cases for each operation and phase
  --max-examples N   at most so many cases for each operation and phase (${FULL_EXAMPLES})
  --seed N           the same cases as another run with this seed; without it a new one, which is printed
  --admin            only the operators' routes
  --report FOLDER    keep schemathesis' reports and the logs of API and worker there

SCHEMATHESIS: the path of an st or schemathesis program to be used instead of an installation of our own.
Exit status: 0 no failure, 1 a failure or something could not be started, 2 wrong arguments, 130 stopped by Ctrl-C.
`;

/** @throws Error saying which argument is wrong and what it must be */
export function parseFuzzOptions(args: readonly string[]): FuzzOptions {
  const boolean = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: boolean,
      seed: { type: 'string' },
      'max-examples': { type: 'string' },
      admin: boolean,
      report: { type: 'string' },
      help: boolean,
    },
    strict: true,
  });
  const preset = values.quick ? QUICK_EXAMPLES : FULL_EXAMPLES;
  if (values.report === '') throw new Error('--report is empty: name a folder, or leave it out.');
  return {
    maxExamples: wholeNumber('--max-examples', values['max-examples'], 1) ?? preset,
    seed: wholeNumber('--seed', values.seed, 0) ?? randomInt(MOST),
    adminOnly: values.admin,
    report: values.report ?? null,
    help: values.help,
  };
}

function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= MOST) return number;
  throw new Error(`${name} is ${text}: it must be a whole number from ${least} to ${MOST}.`);
}
