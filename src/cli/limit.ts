import { Command, Option } from 'commander';
import type { Db, ShownLimit, UsageLimits } from '../db/index.ts';
import { inTransaction } from '../db/transaction.ts';
import { listUsageLimits } from '../services/list-usage-limits.ts';
import { setUsageLimit } from '../services/set-usage-limit.ts';
import { show, table, withContext } from './context.ts';
import { actorOption, limitOf, sentence } from './options.ts';

type Given = number | 'none';

interface SetOptions {
  readonly account?: string;
  readonly eachAccount?: true;
  readonly inFlight?: Given;
  readonly creditsPerDay?: Given;
  readonly requestsPerMinute?: Given;
  readonly cancelsPerDay?: Given;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

const NONE = { generationsInFlight: null, creditsPerDay: null, requestsPerMinute: null, cancelsPerDay: null };

/** `darkroom limit`: what a tenant and its accounts may use. */
export function limitCommand(): Command {
  return new Command('limit')
    .description('limits of a tenant as a whole, of each of its accounts, or of one account')
    .addCommand(showCommand())
    .addCommand(setCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('all limits of a tenant')
    .argument('<tenant>', 'ten_…')
    .option('--json', 'one JSON array instead of a table')
    .action(async (tenantId: string, { json = false }: { json?: boolean }, command: Command) => {
      const limits = await withContext((ctx) => listUsageLimits(ctx, tenantId));
      if (limits === null) return command.error(noTenant(tenantId));
      show(limits.map(limitJson), json, () => limitsText(tenantId, limits));
    });
}

function setCommand(): Command {
  return new Command('set')
    .description('change limits; those that are not named keep their value')
    .argument('<tenant>', 'ten_…; its limits as a whole, unless an option below says otherwise')
    .addOption(
      new Option(
        '--account <name>',
        'of this account; its own row replaces that of each account, so it begins as a copy',
      ).conflicts('eachAccount'),
    )
    .option('--each-account', 'of each account that has no row of its own')
    .option('--in-flight <n>', 'generations that have not ended, or none', limitOf('generations'))
    .option(
      '--credits-per-day <n>',
      'held or captured by generations of a UTC day, or none',
      limitOf('credits', 0, Number.MAX_SAFE_INTEGER),
    )
    .option('--requests-per-minute <n>', 'or none', limitOf('requests', 1))
    .option('--cancels-per-day <n>', 'after acceptance by a provider, or none', limitOf('cancels'))
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (tenantId: string, options: SetOptions, command: Command) => {
      const changes = changesOf(options);
      if (Object.keys(changes).length === 0) {
        return command.error(
          'Name what to change: --in-flight, --credits-per-day, --requests-per-minute or --cancels-per-day.',
          { exitCode: 2 },
        );
      }
      const found = await withContext(({ db }) =>
        inTransaction(db, (tx) => changeLimit(tx, tenantId, options, changes)),
      );
      if (found.outcome !== 'set') {
        return command.error(
          found.outcome === 'unknown_tenant'
            ? noTenant(tenantId)
            : `${tenantId} has no account ${options.account}; it is made by its first grant.`,
        );
      }
      show(limitJson(found.limit), options.json === true, () => limitsText(tenantId, [found.limit]));
    });
}

function changesOf(options: SetOptions): Partial<UsageLimits> {
  const given = {
    generationsInFlight: options.inFlight,
    creditsPerDay: options.creditsPerDay,
    requestsPerMinute: options.requestsPerMinute,
    cancelsPerDay: options.cancelsPerDay,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value === 'none' ? null : value]],
    ),
  );
}

async function changeLimit(db: Db, tenantId: string, options: SetOptions, changes: Partial<UsageLimits>) {
  // Two operators at once: the second one reads what the first one wrote.
  await db.prisma.$queryRaw`SELECT 1 FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const limits = (await listUsageLimits({ db }, tenantId)) ?? [];
  const { account = null, eachAccount, reason, actor } = options;
  const scope = account === null ? (eachAccount === true ? 'each_account' : 'tenant') : 'account';
  const stands =
    limits.find((limit) => limit.scope === scope && limit.account === account) ??
    (scope === 'account' ? limits.find((limit) => limit.scope === 'each_account') : undefined);
  const limit: ShownLimit = { ...NONE, ...stands, ...changes, scope, account };
  return setUsageLimit({ db }, { tenantId, limit, reason, actor });
}

const noTenant = (id: string): string => `There is no tenant ${id}: see "darkroom tenant list".`;

function limitsText(tenantId: string, limits: readonly ShownLimit[]): string {
  if (limits.length === 0) return `${tenantId} has no limits.`;
  const cell = (value: number | null) => (value === null ? 'none' : `${value}`);
  return table(
    [
      ['of', 'in flight', 'credits a day', 'requests a minute', 'cancels a day'],
      ...limits.map((limit) => [
        limit.scope === 'tenant'
          ? 'the tenant'
          : limit.scope === 'each_account'
            ? 'each account'
            : `account ${limit.account}`,
        cell(limit.generationsInFlight),
        cell(limit.creditsPerDay),
        cell(limit.requestsPerMinute),
        cell(limit.cancelsPerDay),
      ]),
    ],
    [1, 2, 3, 4],
  );
}

function limitJson(limit: ShownLimit) {
  return {
    scope: limit.scope,
    account: limit.account,
    generations_in_flight: limit.generationsInFlight,
    credits_per_day: limit.creditsPerDay,
    requests_per_minute: limit.requestsPerMinute,
    cancels_per_day: limit.cancelsPerDay,
  };
}
