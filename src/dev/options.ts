import { parseArgs } from 'node:util';

export interface StartOptions {
  /** End after the samples, with their exit code. */
  readonly exit: boolean;
  /** One JSON object on stdout, all else on stderr. */
  readonly json: boolean;
  /** Start from nothing. */
  readonly fresh: boolean;
  readonly help: boolean;
}

export const START_HELP = `npm start -- [--exit] [--json] [--fresh]

Starts everything on this machine: PostgreSQL, Temporal with its Web UI, the provider simulators, API and worker; runs two
sample generations through the public API, prints what came of them, and keeps serving until Ctrl-C.

  --exit    end after the samples; the exit status is 0 when both succeeded
  --json    print one JSON object on one line on stdout after the samples; all else goes to stderr
  --fresh   start from nothing: the data is removed first

DATABASE_URL or TEMPORAL_ADDRESS: use that server instead of starting one. PORT: the API's port (8080; moves if taken).
DARKROOM_DATA: the data folder (.darkroom).
`;

/** @throws Error naming the option that is unknown */
export function parseStartOptions(args: readonly string[]): StartOptions {
  const boolean = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { exit: boolean, json: boolean, fresh: boolean, help: boolean },
    strict: true,
  });
  return values;
}
