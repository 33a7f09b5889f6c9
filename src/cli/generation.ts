import { Command, Option } from 'commander';
import { requestCancel } from '../db/index.ts';
import { STAGES, STATES } from '../domain/generation.ts';
import type { Stage, State } from '../domain/generation.ts';
import { reportGenerations } from '../services/report-generations.ts';
import { showGeneration } from '../services/show-generation.ts';
import { wakeGeneration } from '../services/wake-generation.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { show, table, withContext } from './context.ts';
import { describeErase } from './generation-erase.ts';
import { describeRefund } from './generation-refund.ts';
import { describeResolve } from './generation-resolve.ts';
import { rows } from './options.ts';

interface Json {
  readonly json?: boolean;
}

interface ListOptions extends Json {
  readonly state?: State[];
  readonly stage?: Stage[];
  readonly needsOperator?: true;
  readonly tenant?: string;
  readonly limit: number;
}

/** `darkroom generation`: find and look at generations, wake their runs, cancel, refund, end and erase them by hand. */
export function generationCommand(): Command {
  return new Command('generation')
    .description('generations, for operators')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(wakeCommand())
    .addCommand(cancelCommand())
    .addCommand(describeRefund(new Command('refund')))
    .addCommand(describeResolve(new Command('resolve')))
    .addCommand(describeErase(new Command('erase')));
}

function listCommand(): Command {
  return new Command('list')
    .description('the newest generations, newest first')
    .addOption(new Option('--state <state...>', 'in one of these states').choices(STATES))
    .addOption(new Option('--stage <stage...>', 'at one of these stages').choices(STAGES))
    .addOption(new Option('--needs-operator', 'those that wait for a person').conflicts(['stage', 'state']))
    .option('--tenant <id>', 'of this tenant only')
    .option('--limit <rows>', 'at most 1000', rows, 50)
    .option('--json', 'one JSON array instead of a table')
    .action(async (options: ListOptions, command: Command) => {
      const { state = [], stage = [], needsOperator, tenant = null, limit, json = false } = options;
      const stages: Stage[] = needsOperator === true ? ['needs_operator'] : stage;
      const found = await withContext((ctx) =>
        reportGenerations(ctx, { states: state, stages, tenantId: tenant, limit }),
      );
      if (found === null) {
        return command.error(`There is no tenant ${tenant}: see "darkroom tenant list".`);
      }
      show(found, json, () =>
        found.length === 0
          ? 'No such generation.'
          : table(
              [
                [
                  'generation',
                  'created',
                  'tenant',
                  'account',
                  'model',
                  'provider',
                  'state',
                  'stage',
                  'credits',
                  'reason',
                ],
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
                  one.reason ?? '',
                ]),
              ],
              [8],
            ),
      );
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('row, submissions with their costs, outputs, what operators did, events')
    .argument('<id>', 'gen_…')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, { json = false }: Json, command: Command) => {
      const found = await withContext((ctx) => showGeneration(ctx, id));
      if (found === null) return command.error(`There is no generation ${id}.`, { exitCode: 1 });
      show(found, json, () => table(found.facts.map(({ name, value }) => [name, value])));
    });
}

function wakeCommand(): Command {
  return new Command('wake')
    .description('make its run look at its rows now; also starts a run that was lost')
    .argument('<id>', 'gen_…')
    .action(async (id: string, _options: object, command: Command) => {
      const outcome = await withContext((ctx) =>
        wakeGeneration({ db: ctx.db, ensure: (run) => ensureRunning(ctx.temporal, run, 'operator') }, id),
      );
      if (outcome === 'not_found') command.error(`There is no generation ${id}.`, { exitCode: 1 });
      if (outcome === 'ended') command.error(`${id} has ended; there is nothing to wake.`, { exitCode: 1 });
      process.stdout.write(`woke ${id}\n`);
    });
}

function cancelCommand(): Command {
  return new Command('cancel')
    .description('ask for a cancellation as an operator')
    .argument('<id>', 'gen_…')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, { json = false }: Json, command: Command) => {
      const outcome = await withContext(async ({ db, temporal }) => {
        const cancel = await requestCancel(db, { generationId: id, tenantId: null, actor: 'operator' });
        if (cancel.wake && cancel.run !== null) await ensureRunning(temporal, cancel.run, 'cancel');
        return cancel.outcome;
      });
      if (outcome === 'not_found') command.error(`There is no generation ${id}.`, { exitCode: 1 });
      show({ id, outcome }, json, () => `${id}: ${outcome}`);
    });
}
