import { parseArgs } from 'node:util';

export interface ClusterOptions {
  readonly generations: number;
  /** One JSON object on stdout, all else on stderr. */
  readonly json: boolean;
  /** Kept after the run, logs included; null = a temporary folder. */
  readonly data: string | null;
  readonly help: boolean;
}

const MOST_GENERATIONS = 100_000;

export const CLUSTER_HELP = `npm run cluster -- [--generations N] [--data FOLDER] [--json]

Runs Darkroom on Temporal's clustered server: two API and two worker processes, the simulators, a PostgreSQL for Darkroom and
one for Temporal. Sends generations through both APIs; kills the Temporal server (kill -9) in their midst and starts it
again, then crashes Temporal's PostgreSQL; checks at the end that each generation ended once with one provider job, that
no invariant is violated and that every byte is the provider's. The first run builds the server with Go (minutes).

  --generations N   how many (200)
  --data FOLDER     an empty folder for databases, outputs and logs, which stays; without it a temporary one
  --json            print one JSON object on stdout; all else goes to stderr

Exit status: 0 everything held, 1 something did not or could not be started, 2 wrong arguments, 130 stopped by Ctrl-C.
`;

/** @throws Error saying which argument is wrong and what it must be */
export function parseClusterOptions(args: readonly string[]): ClusterOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      generations: { type: 'string', default: '200' },
      json: { type: 'boolean', default: false },
      data: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
    strict: true,
  });
  const { generations: text, json, data, help } = values;
  const generations = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : Number.NaN;
  // Written so that NaN is refused too.
  if (!(generations >= 8 && generations <= MOST_GENERATIONS)) {
    throw new Error(`--generations is ${text}: it must be a whole number from 8 to ${MOST_GENERATIONS}.`);
  }
  if (data === '') throw new Error('--data is empty: name a folder, or leave it out.');
  return { generations, json, data: data ?? null, help };
}
