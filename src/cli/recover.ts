import { Command, InvalidArgumentError } from 'commander';
import { loadWorkerConfig } from '../config.ts';
import { newestGeneration, seeProcesses } from '../db/recover.ts';
import { createCallbackUrls } from '../domain/callback-urls.ts';
import { createFileLinks } from '../domain/file-links.ts';
import type { Provider } from '../domain/provider.ts';
import { createOutboundHttp } from '../net/index.ts';
import { createProviders } from '../providers/index.ts';
import { recoverGenerations } from '../services/recover-generations.ts';
import type { RecoverDeps, RecoverInput } from '../services/recover-generations.ts';
import { listRuns, traceGeneration } from '../temporal/histories.ts';
import { livePollers, POLLER_ALIVE_MS } from '../temporal/pollers.ts';
import { show, withContext } from './context.ts';
import type { CliContext } from './context.ts';
import { commandEnvironment } from './environment.ts';
import { actorOption, sentence } from './options.ts';
import { recoverJson, recoverText } from './recover-text.ts';

interface RecoverOptions {
  readonly restoredAt: Date;
  readonly reason: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly force?: true;
  readonly json?: boolean;
}

/** `darkroom recover`: after a restore from a dump and before workers start, so that nothing is submitted twice. */
export function recoverCommand(): Command {
  return new Command('recover')
    .description(
      'after PostgreSQL was restored from a dump, before API and workers start: nothing is submitted twice, known jobs are attached again',
    )
    .requiredOption('--restored-at <time>', 'the moment that the dump shows, as 2026-11-30T02:00:00Z', moment)
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--dry-run', 'tell what would be done, change nothing')
    .option('--force', 'also when a worker or an API is seen, or Temporal can not be asked')
    .option('--json', 'one JSON object instead of text')
    .addHelpText(
      'after',
      '\nIt needs the settings of the worker (KEYRING, PUBLIC_URL, PROVIDER_…). Safe to repeat.',
    )
    .action(async (options: RecoverOptions, command: Command) => {
      const refusal = await withContext(async (ctx) => run(ctx, options));
      if (refusal !== null) command.error(refusal, { exitCode: 1 });
    });
}

/** @returns why it was refused or what it could not do; null = all is done */
async function run(ctx: CliContext, options: RecoverOptions): Promise<string | null> {
  const { restoredAt, reason, actor, dryRun = false, json = false } = options;
  const config = loadWorkerConfig(commandEnvironment());
  const seen = await whoRuns(ctx, restoredAt);
  if (seen.problems.length > 0 && options.force !== true) {
    return [...seen.problems, 'Nothing was changed. With --force it is done all the same.'].join('\n');
  }
  for (const problem of seen.problems) process.stderr.write(`note: ${problem}\n`);
  const http = createOutboundHttp({ allow: config.netAllow });
  try {
    const adapters = createProviders({ http, providers: config.providers });
    const providers = accessOf(adapters, config.providers);
    const { client } = ctx.temporal;
    const deps: RecoverDeps = {
      db: ctx.db,
      providers,
      callbacks: createCallbackUrls(config.keyring, config.publicUrl),
      links: config.publicUrl === null ? null : createFileLinks(config.keyring, config.publicUrl),
      trace: seen.temporalAway ? null : (generationId) => traceGeneration(client, generationId),
      runsSince: (at) => listRuns(client, `StartTime >= '${at.toISOString()}'`),
    };
    const input: RecoverInput = { restoredAt, reason, actor, dryRun };
    const report = await recoverGenerations(deps, input);
    show(recoverJson(report, input), json, () => recoverText(report, input, adapters));
    return report.failed.length === 0
      ? null
      : `${report.failed.length} generations could not be recovered: put that right and run it again before a worker starts.`;
  } finally {
    await http.close();
  }
}

function accessOf(
  adapters: ReadonlyMap<string, Provider>,
  configured: ReadonlyMap<string, { readonly current: { readonly name: string; readonly apiKey: string } }>,
): RecoverDeps['providers'] {
  return new Map(
    [...configured].flatMap(([name, { current }]) => {
      const provider = adapters.get(name);
      return provider === undefined ? [] : [[name, { provider, current }] as const];
    }),
  );
}

/** What speaks against recovering now: it has to be done before anybody submits. */
async function whoRuns(
  { db, temporal }: CliContext,
  restoredAt: Date,
): Promise<{ readonly problems: readonly string[]; readonly temporalAway: boolean }> {
  const problems: string[] = [];
  let temporalAway = false;
  try {
    const pollers = await livePollers(temporal.client);
    if (pollers.length > 0) {
      problems.push(
        `A worker has asked Temporal for work in the last ${POLLER_ALIVE_MS / 1_000} s (${pollers.slice(0, 3).join(', ')}), and a worker may submit a second time what this database has forgotten: stop all workers; Temporal knows it ${POLLER_ALIVE_MS / 1_000} s later.`,
      );
    }
  } catch (error) {
    temporalAway = true;
    problems.push(
      `Temporal could not be asked (${(error as Error).message.split('\n')[0]}), so no job can be attached from its histories and no running worker be seen: start it, without workers.`,
    );
  }
  const { listeners, sweeping } = await seeProcesses(db);
  if (listeners > 0 || sweeping) {
    problems.push(
      `${listeners > 0 ? `${listeners} API or worker processes are connected to this database` : 'A sweep was at work in the last 10 s'}: stop them; the API would take requests and wake runs that have not been recovered.`,
    );
  }
  const newest = await newestGeneration(db);
  if (newest !== null && newest.createdAt > restoredAt) {
    problems.push(
      `${newest.id} was created at ${newest.createdAt.toISOString()}, after --restored-at: give the time of the dump, or has an API taken requests since the restore? Younger generations are left as they are.`,
    );
  }
  return { problems, temporalAway };
}

/** A moment with its zone, not in the future. */
function moment(text: string): Date {
  const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$/;
  const at = new Date(shape.test(text) ? text : Number.NaN);
  if (Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError('Write a moment with its zone, for example 2026-11-30T02:00:00Z.');
  }
  if (at.getTime() > Date.now()) {
    throw new InvalidArgumentError(
      `${at.toISOString()} is in the future: give the moment that the dump shows.`,
    );
  }
  return at;
}
