import { Command } from 'commander';
import { requestCancel } from '../db/index.ts';
import { showGeneration } from '../services/show-generation.ts';
import { wakeGeneration } from '../services/wake-generation.ts';
import { ensureRunning } from '../temporal/ensure-running.ts';
import { show, table, withContext } from './context.ts';

interface Json {
  readonly json?: boolean;
}

/** `darkroom generation`: look at one, wake its run, cancel it. */
export function generationCommand(): Command {
  return new Command('generation')
    .description('one generation, for operators')
    .addCommand(showCommand())
    .addCommand(wakeCommand())
    .addCommand(cancelCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('row, submissions, outputs and events')
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
