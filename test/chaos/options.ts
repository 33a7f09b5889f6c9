import { parseArgs } from 'node:util';
import { readFaults, type Scenario } from './scenarios.ts';

export interface ChaosOptions {
  readonly generations: number;
  readonly kills: number;
  readonly seed: number;
  readonly scenario: Scenario;
  /** null = as fast as the bound of open generations allows. */
  readonly minutes: number | null;
  readonly json: boolean;
  /** Kept after the run; null = a temporary folder. */
  readonly data: string | null;
  readonly help: boolean;
}

export const CHAOS_HELP = `npm run chaos -- [--generations N] [--kills K] [--seed S] [--faults LIST] [--minutes M] [--data FOLDER] [--json]

Starts the whole of Darkroom as separate processes (PostgreSQL, Temporal, all simulators, two APIs, two workers), with a TCP
proxy of our own on every link; asks for generations as a tenant's backend does; breaks things meanwhile, by a plan that
follows from the seed; then lets everything rest, and compares the three books: our database, the simulators' journals and
the webhooks that the tenant received. Meanwhile it reads generations, lists, balances, files and event streams, and checks
every invariant each 15 s. A violation of the promise is printed with its generation's whole story.

  --generations N   how many are asked for (200)
  --kills K         how many processes are killed, at random or at a kill point (20)
  --seed S          a whole number; one seed gives one plan (random, and printed)
  --faults LIST     by commas (all):
                      worker, api       kill -9, and started again      term       SIGTERM, a rolling restart
                      temporal          kill -9, down for seconds       postgres   immediate stop or kill -9
                      cut, delay        links refused, stalled or slow  ack-lost   commits or answers whose answer is lost
                      terminate         all sessions ended              lock       rows or a table locked 10 s
                      clock             ±10 minutes off, jumping back   disk       no space for outputs
                      providers         bad answers, states and links   callbacks  twice, twenty, late, forged, none
                      receiver          slow, 500, 301, reset           gone       an endpoint that answers 410
                      partial           some outputs of a job lost      reset      runs reset or terminated
                      points            all kill points, or by name: K1 to K16
                      F-1 to F-22       the fault matrix: those faults under the load that belongs to them
  --minutes M       spreads load and faults over so long, and demands that 95 % of what was due when a fault ended has gone on
                    within 15 s; without it as fast as 60 open generations allow
  --data FOLDER     an empty folder for databases, outputs and logs, which stays; without it a temporary one
  --json            one JSON object on one line of stdout: seed, generations, kills, faults, missed, points,
                    provider_faults, violations, recovered_p95_ms, recovered_within_15s, recovered_since_last_p95_ms,
                    recovered, states, deliveries, errors, read, invariants_checked, seconds, refused

Exit status: 0 no violation, 1 a violation or the stack could not be started, 2 wrong arguments, 130 stopped by Ctrl-C.
`;

/** @throws Error saying which argument is wrong and what it must be */
export function parseChaosOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      generations: { type: 'string', default: '200' },
      kills: { type: 'string', default: '20' },
      seed: { type: 'string' },
      faults: { type: 'string', default: 'all' },
      minutes: { type: 'string' },
      json: { type: 'boolean', default: false },
      data: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    strict: true,
  });
  if (values.data === '') throw new Error('--data is empty: name a folder, or leave it out.');
  return {
    generations: whole('generations', values.generations, 1, 100_000),
    kills: whole('kills', values.kills, 0, 10_000),
    seed:
      values.seed === undefined
        ? Math.floor(Math.random() * 1_000_000)
        : whole('seed', values.seed, 0, 4_294_967_295),
    scenario: readFaults(values.faults),
    minutes: values.minutes === undefined ? null : minutesOf(values.minutes),
    json: values.json,
    data: values.data ?? null,
    help: values.help,
  };
}

function whole(name: string, text: string, low: number, high: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  // Written so that NaN is refused too.
  if (value >= low && value <= high) return value;
  throw new Error(`--${name} is ${text}: it must be a whole number from ${low} to ${high}.`);
}

function minutesOf(text: string): number {
  const value = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 1_440) return value;
  throw new Error(`--minutes is ${text}: it must be more than 0 and at most 1440, for example 30 or 1.5.`);
}
