import type { Command } from 'commander';
import type { Refunded } from '../db/index.ts';
import { operate } from '../services/operate.ts';
import { refundGeneration } from '../services/refund-generation.ts';
import { show, withContext } from './context.ts';
import { actorOption, credits, sentence, slug } from './options.ts';

interface RefundOptions {
  readonly reason: string;
  readonly credits?: number;
  readonly note?: string;
  readonly actor: string;
  readonly dryRun?: true;
  readonly json?: boolean;
}

/** `darkroom generation refund`: captured credits back to their account, once per reason. */
export function describeRefund(command: Command): Command {
  return command
    .description('give captured credits back: once per reason, never more than was captured')
    .argument('<id>', 'gen_…')
    .requiredOption(
      '--reason <slug>',
      'why, in one word: the same reason refunds once, so it can be repeated',
      slug,
    )
    .option('--credits <n>', 'all that is left when left out', credits)
    .option('--note <text>', 'for the record', sentence)
    .addOption(actorOption())
    .option('--dry-run', 'tell what would happen, change nothing')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, options: RefundOptions, self: Command) => {
      const { reason, note = null, actor } = options;
      const dryRun = options.dryRun === true;
      const { refunded, temporalUrl } = await withContext(async (ctx) => ({
        refunded: await operate({ db: ctx.db, starter: { enqueue: () => true } }, dryRun, (operator) =>
          refundGeneration(operator, { id, credits: options.credits ?? null, reason, note, actor }),
        ),
        temporalUrl: ctx.runUrl(id),
      }));
      const refusal = refusalOf(refunded, id, reason);
      if (refusal !== null) return self.error(refusal);
      const view = { id, ...refunded, dry_run: dryRun, temporal_url: temporalUrl };
      show(view, options.json === true, () =>
        'credits' in refunded
          ? `${dryRun ? 'dry run, nothing was changed; ' : ''}${refunded.outcome === 'duplicate' ? 'refunded before, nothing changed' : 'refunded'}: ${refunded.credits} credits of ${id} for ${reason}, ${refunded.refunded} in all`
          : id,
      );
    });
}

function refusalOf(refunded: Refunded, id: string, reason: string): string | null {
  switch (refunded.outcome) {
    case 'not_found':
      return `There is no generation ${id}.`;
    case 'not_captured':
      return `${id} captured no credits, so there is nothing to refund. If it has not ended, cancel or resolve it.`;
    case 'too_much':
      return refunded.refundable === 0
        ? `All that ${id} captured is refunded already.`
        : `At most ${refunded.refundable} credits of ${id} can still be refunded: change --credits.`;
    case 'reason_used':
      return `${refunded.credits} credits of ${id} were refunded for ${reason}: give another --reason for a further refund.`;
    default:
      return null;
  }
}
