import { Command } from 'commander';
import { ConfigError, loadApiConfig } from '../config.ts';
import { createCallbackUrls, type CallbackUrls } from '../domain/callback-urls.ts';
import { SWEEP_COUNT_NAMES, SWEEP_COUNTS } from '../domain/sweep.ts';
import { createOutboundHttp } from '../net/index.ts';
import { createProviders } from '../providers/index.ts';
import type { SweptProvider } from '../services/sweep-context.ts';
import { sweepNow, type SweepReport } from '../services/sweep-now.ts';
import { sweptProviders } from '../services/swept-providers.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { isRunOpen } from '../temporal/runs.ts';
import { show, table, withContext } from './context.ts';
import { commandEnvironment } from './environment.ts';

/** `darkroom sweep`: one pass of everything that the loops do; exit code 1 when something failed or is violated. */
export function sweepCommand(): Command {
  return new Command('sweep')
    .description(
      'make one pass of everything now: what is overdue, lost runs, unread callbacks, jobs in lists of providers, retention, invariants',
    )
    .option('--json', 'one JSON object instead of a table')
    .addHelpText(
      'after',
      '\nProviders are asked only where the settings of the API are in the environment (KEYRING and the API keys of providers).\n' +
        'Exit code 1: a pass failed, or an invariant is violated; what failed is tried again by the running processes.',
    )
    .action(async ({ json = false }: { json?: boolean }, command: Command) => {
      const report = await sweep();
      const { counts, failed, leftToWorkers } = report;
      show({ ok: failed.length === 0, counts, failed, left_to_workers: leftToWorkers }, json, () =>
        textOf(report),
      );
      if (failed.length > 0) command.error('Not all went well: see above, and the log.');
    });
}

async function sweep(): Promise<SweepReport> {
  const access = providerAccess();
  try {
    return await withContext(({ db, storage, temporal }) =>
      sweepNow({
        db,
        storage,
        ensure: (run, reason) => ensureRunning(temporal, run, reason),
        isRunOpen: (generationId) => isRunOpen(temporal.client, generationId),
        providers: access.providers,
        callbacks: access.callbacks,
        onProblem: () => {},
        signal: new AbortController().signal,
      }),
    );
  } finally {
    await access.close();
  }
}

interface Access {
  readonly providers: ReadonlyMap<string, SweptProvider>;
  readonly callbacks: Pick<CallbackUrls, 'submissionOf'>;
  readonly close: () => Promise<void>;
}

/** The providers as the API has them; none, with a note, where its settings are not here. */
function providerAccess(): Access {
  try {
    const config = loadApiConfig(commandEnvironment());
    const http = createOutboundHttp({ allow: config.netAllow });
    const adapters = createProviders({ http, providers: config.providers });
    return {
      providers: sweptProviders(adapters, config.providers),
      callbacks: createCallbackUrls(config.keyring, config.publicUrl),
      close: () => http.close(),
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(
      `note: the settings of the API are not all here (${error.problems[0] ?? 'unknown'}), so no provider is asked\n`,
    );
    return { providers: new Map(), callbacks: { submissionOf: () => null }, close: async () => {} };
  }
}

function textOf({ counts, failed, leftToWorkers }: SweepReport): string {
  return [
    table(
      SWEEP_COUNT_NAMES.map((name) => [name, `${counts[name]}`, SWEEP_COUNTS[name]]),
      [1],
    ),
    ...failed.map(
      ({ pass, problem, times, keys }) =>
        `${pass}: ${problem} (${times})${keys.length === 0 ? '' : `: ${keys.join(', ')}`}`,
    ),
    ...(leftToWorkers.length === 0 ? [] : [`Left to the workers: ${leftToWorkers.join(', ')}.`]),
  ].join('\n');
}
