import { Option } from 'commander';
import type { Command } from 'commander';
import { STAGES, STATES } from '../domain/generation.ts';
import type { Stage, State } from '../domain/generation.ts';
import { findGenerations } from '../services/find-generations.ts';
import { show, table, withContext } from './context.ts';
import { spanOf } from './generation-text.ts';
import { accountName, providerName, rows } from './options.ts';

interface ListOptions {
  readonly state?: State[];
  readonly stage?: Stage[];
  readonly needsOperator?: true;
  readonly overdue?: true;
  readonly tenant?: string;
  readonly account?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly job?: string;
  readonly submission?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** `darkroom generation list`: finds generations of all tenants. */
export function describeList(command: Command): Command {
  return command
    .description('the newest generations, newest first')
    .addOption(new Option('--state <state...>', 'in one of these states').choices(STATES))
    .addOption(new Option('--stage <stage...>', 'at one of these stages').choices(STAGES))
    .addOption(new Option('--needs-operator', 'those that wait for a person').conflicts(['stage', 'state']))
    .option('--overdue', 'those whose run should have written more than a minute ago')
    .option('--tenant <id>', 'of this tenant only')
    .option('--account <name>', 'of the accounts of this name only', accountName)
    .option('--provider <name>', 'submitted there last, or to be submitted there', providerName)
    .option('--model <id>', 'of this model only')
    .option('--job <id>', 'the one with this job of a provider')
    .option('--submission <id>', 'the one of this submission')
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async (options: ListOptions, self: Command) => {
      const { state = [], stage = [], needsOperator, tenant, limit, json = false } = options;
      const found = await withContext((ctx) =>
        findGenerations(ctx, {
          states: state,
          stages: needsOperator === true ? ['needs_operator'] : stage,
          overdue: options.overdue === true,
          tenantId: tenant,
          account: options.account,
          provider: options.provider,
          model: options.model,
          jobId: options.job,
          submissionId: options.submission,
          limit,
        }),
      );
      if (found === null) return self.error(`There is no tenant ${tenant}: see "darkroom tenant list".`);
      const { data, has_more: more } = found;
      show(data, json, () => (data.length === 0 ? 'None.' : listText(data)));
      if (more && data.length < limit) {
        process.stderr.write(
          'note: only the newest 20000 generations were looked at; narrow it by --tenant\n',
        );
      }
    });
}

type Row = NonNullable<Awaited<ReturnType<typeof findGenerations>>>['data'][number];

function listText(found: readonly Row[]): string {
  const head = [
    'generation',
    'created',
    'tenant',
    'account',
    'model',
    'provider',
    'state',
    'stage',
    'credits',
  ];
  return table(
    [
      [...head, 'reason'],
      ...found.map((one) => [
        one.id,
        one.created_at,
        one.tenant,
        one.account,
        one.model,
        one.provider,
        one.state,
        one.stage,
        `${one.credits}`,
        reasonOf(one),
      ]),
    ],
    [8],
  );
}

function reasonOf({ reason, overdue_seconds: overdue }: Row): string {
  if (overdue <= 60) return reason ?? '';
  return `${reason === null ? '' : `${reason}, `}overdue by ${spanOf(overdue * 1_000)}`;
}
