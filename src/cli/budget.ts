import { Command } from 'commander';
import { listProviderBudgets, setProviderBudget } from '../db/index.ts';
import type { ProviderBudget } from '../db/index.ts';
import { listCostUnits } from '../db/report.ts';
import { show, table, withContext } from './context.ts';
import { actorOption, amount, providerName, sentence, unit } from './options.ts';

interface ByHand {
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

/** `darkroom budget`: what may be spent at a provider in a UTC day. */
export function budgetCommand(): Command {
  return new Command('budget')
    .description('what may be spent at a provider in a UTC day; when it is reached, new submits there stop')
    .addCommand(showCommand())
    .addCommand(setCommand())
    .addCommand(liftCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('every budget, and what is spent of it today: final costs and estimates')
    .option('--json', 'one JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const budgets = await withContext(({ db }) => listProviderBudgets(db));
      show(budgets.map(budgetJson), json, () =>
        budgets.length === 0
          ? 'No provider has a budget.'
          : table(
              [
                ['provider', 'spent today', 'a day', 'unit', 'submits stopped since'],
                ...budgets.map((budget) => [
                  budget.provider,
                  budget.spentToday,
                  budget.amountPerDay,
                  budget.unit,
                  budget.reachedAt?.toISOString() ?? '-',
                ]),
              ],
              [1, 2],
            ),
      );
    });
}

function setCommand(): Command {
  return new Command('set')
    .description('replace the budget of a provider')
    .argument('<provider>', 'as the catalogue names it', providerName)
    .argument('<amount>', 'a day, decimal; 0 stops new submits', amount)
    .argument('<unit>', 'in which the provider bills: USD, credits, …', unit)
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(
      async (provider: string, perDay: string, inUnit: string, { reason, actor, json = false }: ByHand) => {
        const units = await withContext(async ({ db }) => {
          await setProviderBudget(db, { provider, amountPerDay: perDay, unit: inUnit, reason, actor });
          return listCostUnits(db, provider);
        });
        if (!units.includes(inUnit)) {
          process.stderr.write(
            units.length === 0
              ? `note: no job at ${provider} has a cost yet; check that this is its name and its unit\n`
              : `note: no job at ${provider} has a cost in ${inUnit}, but in ${units.join(', ')}: only costs in ${inUnit} count\n`,
          );
        }
        show(
          { outcome: 'set', provider, amount_per_day: perDay, unit: inUnit },
          json,
          () => `${provider}: at most ${perDay} ${inUnit} a day`,
        );
      },
    );
}

function liftCommand(): Command {
  return new Command('lift')
    .description('take the budget of a provider away')
    .argument('<provider>', 'as "darkroom budget show" names it')
    .requiredOption('--reason <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (provider: string, { reason, actor, json = false }: ByHand, command: Command) => {
      const lifted = await withContext(async ({ db }) => {
        const budgets = await listProviderBudgets(db);
        if (!budgets.some((budget) => budget.provider === provider)) return false;
        await setProviderBudget(db, { provider, amountPerDay: null, unit: null, reason, actor });
        return true;
      });
      if (!lifted) return command.error(`${provider} has no budget: see "darkroom budget show".`);
      show({ outcome: 'lifted', provider }, json, () => `${provider}: no budget`);
    });
}

function budgetJson(budget: ProviderBudget) {
  return {
    provider: budget.provider,
    unit: budget.unit,
    amount_per_day: budget.amountPerDay,
    spent_today: budget.spentToday,
    reached_at: budget.reachedAt?.toISOString() ?? null,
  };
}
