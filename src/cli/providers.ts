import { Command } from 'commander';
import { ConfigError, loadProviderConfig, loadToolConfig, type ProviderToolConfig } from '../config.ts';
import { openDb } from '../db/index.ts';
import { createOutboundHttp, type OutboundHttp } from '../net/index.ts';
import { PROVIDERS } from '../providers/index.ts';
import { checkProviders, type CheckedProviders } from '../services/check-providers.ts';
import { everyProvider, listProviders, type ListedProvider } from '../services/list-providers.ts';
import { show, table } from './context.ts';
import { commandEnvironment } from './environment.ts';
import { providerName } from './options.ts';

const LIST_TIMEOUT_MS = 20_000;

/** `darkroom providers`: what every provider can do, and how it is set up here. */
export function providersCommand(): Command {
  return new Command('providers')
    .description(
      'every provider: what it can do, whether it is configured here, its circuit, cost and budget of today',
    )
    .option('--json', 'one JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const listed = await withProviders(({ config, http }) => listWithDatabase(config, http));
      show(listed.map(providerJson), json, () => providersText(listed));
    })
    .addCommand(checkCommand());
}

function checkCommand(): Command {
  return new Command('check')
    .description("compare the catalogue's routes with the providers; exit code 1 when something does not fit")
    .argument('[provider]', 'only routes of this one', providerName)
    .option('--json', 'one JSON object instead of text')
    .action(async (name: string | undefined, _options: object, command: Command) => {
      // The command above has the same option, and takes it first.
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      if (name !== undefined && !PROVIDERS.some((known) => known.name === name)) {
        return command.error(
          `There is no provider "${name}": use one of ${PROVIDERS.map((known) => known.name).join(', ')}.`,
        );
      }
      const checked = await withProviders(({ config, http }) =>
        checkProviders({
          catalogue: config.catalogue,
          providers: everyProvider(http, config.providers),
          credentials: new Map([...config.providers].map(([key, { current }]) => [key, current])),
          only: name ?? null,
          timeoutMs: LIST_TIMEOUT_MS,
        }),
      );
      const { mismatches, routes } = checked;
      show({ ok: mismatches.length === 0, ...checkedJson(checked) }, json, () => checkedText(checked));
      if (mismatches.length > 0) command.error(`${mismatches.length} problems in ${routes} routes.`);
    });
}

async function withProviders<T>(
  run: (ctx: { readonly config: ProviderToolConfig; readonly http: OutboundHttp }) => Promise<T>,
): Promise<T> {
  const config = loadProviderConfig(commandEnvironment());
  const http = createOutboundHttp({ allow: config.netAllow });
  try {
    return await run({ config, http });
  } finally {
    await http.close();
  }
}

/** Without the facts of today, and with a note, where no database is named or it does not answer. */
async function listWithDatabase(config: ProviderToolConfig, http: OutboundHttp): Promise<ListedProvider[]> {
  const configured = config.providers;
  const env = commandEnvironment();
  if (env['DATABASE_URL'] === undefined) {
    note('DATABASE_URL is not set');
    return listProviders({ db: null, http, configured });
  }
  const db = openDb(loadToolConfig(env).databaseUrl, { poolSize: 2 });
  try {
    return await listProviders({ db, http, configured });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    note('the database does not answer, or is not migrated');
    return await listProviders({ db: null, http, configured });
  } finally {
    await db.close();
  }
}

function note(why: string): void {
  process.stderr.write(`note: ${why}, so circuits, costs and budgets are not shown\n`);
}

function providersText(listed: readonly ListedProvider[]): string {
  const yes = (value: boolean) => (value ? 'yes' : 'no');
  const overview = listed.map((provider) => [
    provider.name,
    provider.configured ? (provider.webhookSecret === 'missing' ? 'no webhook secret' : 'yes') : 'no',
    provider.idempotency,
    provider.callbacks,
    provider.cancel,
    yes(provider.list),
    yes(provider.find),
    provider.cost,
    provider.today?.circuit ?? '-',
    provider.today === null ? '-' : `${provider.today.jobsWaiting}`,
    provider.today?.spentToday.map(({ amount, unit }) => `${amount} ${unit}`).join(', ') || '-',
    budgetText(provider.today?.budget ?? null),
    pausedText(provider.today?.paused ?? null),
  ]);
  const methods = listed.flatMap(({ name, methods: offered }) =>
    Object.entries(offered).map(([method, fields]) => [name, method, fields.join(', ')]),
  );
  const head =
    'provider,configured,idempotency,callbacks,cancel,list,find,cost,circuit,jobs waiting,spent today,budget a day,paused';
  return [
    table([head.split(','), ...overview], [9]),
    '',
    table([['provider', 'method', 'takes'], ...methods]),
  ].join('\n');
}

function budgetText(budget: NonNullable<ListedProvider['today']>['budget']): string {
  if (budget === null) return '-';
  const { amountPerDay, unit, reachedAt } = budget;
  return `${amountPerDay} ${unit}${reachedAt === null ? '' : ` (reached ${reachedAt.toISOString()})`}`;
}

function pausedText(pause: NonNullable<ListedProvider['today']>['paused']): string {
  return pause === null ? '-' : `since ${pause.createdAt.toISOString()} by ${pause.actor}: ${pause.reason}`;
}

function providerJson({ today, webhookSecret, ...provider }: ListedProvider) {
  return {
    ...provider,
    webhook_secret: webhookSecret,
    today: today && {
      circuit: today.circuit,
      circuit_open_until: today.circuitOpenUntil?.toISOString() ?? null,
      jobs_waiting: today.jobsWaiting,
      spent: today.spentToday,
      budget: today.budget && {
        amount_per_day: today.budget.amountPerDay,
        spent: today.budget.spentToday,
        unit: today.budget.unit,
        reached_at: today.budget.reachedAt?.toISOString() ?? null,
      },
      paused: today.paused && {
        reason: today.paused.reason,
        actor: today.paused.actor,
        since: today.paused.createdAt.toISOString(),
      },
    },
  };
}

function checkedJson({ mismatches, routes, compared, notCompared }: CheckedProviders) {
  return { routes, compared, not_compared: notCompared, mismatches };
}

function checkedText({ mismatches, routes, compared, notCompared }: CheckedProviders): string {
  return [
    ...mismatches.map(({ model, provider, problem }) => `${model} at ${provider}: ${problem}`),
    ...compared.map((name) => `${name}: compared with its own model list`),
    ...notCompared.map(
      (name) => `${name}: not compared with its own model list, for want of an API key here`,
    ),
    ...(mismatches.length === 0 ? [`All ${routes} routes fit their providers.`] : []),
  ].join('\n');
}
