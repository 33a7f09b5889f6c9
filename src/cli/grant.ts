import { Command } from 'commander';
import { grantCredits } from '../services/grant-credits.ts';
import { show, withContext } from './context.ts';
import { accountName, actorOption, credits, grantReference, sentence } from './options.ts';

interface GrantOptions {
  readonly account: string;
  readonly reference: string;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

/** `darkroom grant`: credits into an account, once per reference. */
export function grantCommand(): Command {
  return new Command('grant')
    .description('give credits to an account of a tenant')
    .argument('<tenant>', 'ten_…')
    .argument('<credits>', 'whole credits', credits)
    .requiredOption(
      '--reference <key>',
      'your own id of this purchase or gift; the same one is granted once',
      grantReference,
    )
    .option('--account <name>', 'made on first use', accountName, 'default')
    .option('--reason <text>', 'for the ledger', sentence, 'granted by an operator')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (tenantId: string, amount: number, options: GrantOptions, command: Command) => {
      const granted = await withContext((ctx) =>
        grantCredits(ctx, {
          tenantId,
          account: options.account,
          credits: amount,
          businessKey: options.reference,
          reason: options.reason,
          actor: options.actor,
        }),
      );
      const refusals: Partial<Record<typeof granted.outcome, string>> = {
        unknown_tenant: `There is no tenant ${tenantId}: see "darkroom tenant list".`,
        key_reuse: `The reference ${options.reference} was used for another grant: use a new one.`,
        too_large: 'The balance would pass 9007199254740991 credits.',
      };
      const refusal = refusals[granted.outcome];
      if (refusal !== undefined) command.error(refusal, { exitCode: 1 });
      show(granted, options.json === true, () =>
        granted.outcome === 'duplicate' ? 'granted before, nothing changed' : `granted ${amount} credits`,
      );
    });
}
