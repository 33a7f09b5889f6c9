import { Command } from 'commander';
import { reportLedger } from '../services/report-ledger.ts';
import type { LedgerLine } from '../services/report-ledger.ts';
import { show, table, withContext } from './context.ts';
import { rows } from './options.ts';

interface LedgerOptions {
  readonly account: string;
  readonly limit: number;
  readonly json?: boolean;
}

const signed = (credits: number): string => (credits > 0 ? `+${credits}` : `${credits}`);

/** `darkroom ledger`: what happened to the credits of an account, with running sums. */
export function ledgerCommand(): Command {
  return new Command('ledger')
    .description("an account's history, newest first, with what was available and held after each entry")
    .argument('<tenant>', 'ten_…')
    .option('--account <name>', 'of the tenant', 'default')
    .option('--limit <rows>', 'the newest of them, at most 1000', rows, 50)
    .option('--json', 'one JSON object instead of a table')
    .action(async (tenantId: string, { account, limit, json = false }: LedgerOptions, command: Command) => {
      const found = await withContext((ctx) => reportLedger(ctx, { tenantId, account, limit }));
      if (found.outcome === 'unknown_tenant') {
        return command.error(`There is no tenant ${tenantId}: see "darkroom tenant list".`);
      }
      if (found.outcome === 'unknown_account') {
        return command.error(
          `${tenantId} has no account ${account}; it has ${found.accounts.join(', ')}${found.accounts.length === 10 ? ', …' : ''}.`,
        );
      }
      const { credits, lines } = found;
      show({ tenant: tenantId, account, credits, entries: lines.map(entryJson) }, json, () =>
        [
          table(
            [
              ['at', 'entry', 'available', 'held', 'available after', 'held after', 'generation', 'reason'],
              ...lines.map((line) => [
                line.at,
                line.type,
                signed(line.available),
                signed(line.held),
                `${line.availableAfter}`,
                `${line.heldAfter}`,
                line.generationId ?? '-',
                line.reason ?? '',
              ]),
            ],
            [2, 3, 4, 5],
          ),
          '',
          `${account}: ${credits.available} available, ${credits.held} held, ${credits.spent} spent, ${credits.granted} granted`,
        ].join('\n'),
      );
    });
}

function entryJson(line: LedgerLine) {
  return {
    id: line.id,
    type: line.type,
    at: line.at,
    available: line.available,
    held: line.held,
    available_after: line.availableAfter,
    held_after: line.heldAfter,
    generation: line.generationId,
    reason: line.reason,
  };
}
