import type { Command } from 'commander';
import { eraseGeneration } from '../db/index.ts';
import { GENERATION_ID } from '../domain/ids.ts';
import { show, withContext } from './context.ts';
import { actorOption, sentence } from './options.ts';

interface EraseOptions {
  readonly yes?: true;
  readonly reason: string;
  readonly actor: string;
  readonly json?: boolean;
}

/** `darkroom generation erase`: what was asked for is taken out of every row, for good. */
export function describeErase(command: Command): Command {
  return command
    .description(
      'take the input of an ended generation, with its prompt, out of every row for good; credits, times and outputs stay',
    )
    .argument('<id>', 'gen_…')
    .option('--yes', 'it can’t be undone: nothing happens without this')
    .option('--reason <text>', 'for the record', sentence, 'erasure asked for')
    .addOption(actorOption())
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, options: EraseOptions, self: Command) => {
      const { yes, reason, actor, json = false } = options;
      if (yes !== true) {
        return self.error(`The input of ${id} would be gone for good: add --yes.`, { exitCode: 2 });
      }
      const outcome = GENERATION_ID.test(id)
        ? (
            await withContext(({ db }) =>
              eraseGeneration(db, { generationId: id, tenantId: null, actor, reason }),
            )
          ).outcome
        : 'not_found';
      if (outcome === 'not_found') return self.error(`There is no generation ${id}.`);
      if (outcome === 'not_terminal') {
        return self.error(`${id} has not ended: cancel it, or try again when it has.`);
      }
      show({ id, outcome }, json, () => `${id}: erased; its outputs stay until they expire or are deleted`);
    });
}
