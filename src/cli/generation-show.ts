import type { Command } from 'commander';
import { showGeneration } from '../services/show-generation.ts';
import { withCapabilities } from './capabilities.ts';
import { show, withContext } from './context.ts';
import { generationText } from './generation-text.ts';

/** `darkroom generation show`: all that is known of one, and what to do next. */
export function describeShow(command: Command): Command {
  return command
    .description('all that its rows tell, and as the last line what to do next')
    .argument('<id>', 'gen_…')
    .option('--json', 'one JSON object instead of text')
    .action(async (id: string, { json = false }: { json?: boolean }, self: Command) => {
      const found = await withContext(({ db, runUrl }) =>
        withCapabilities((capabilitiesOf) => showGeneration({ db, runUrl, capabilitiesOf }, id)),
      );
      if (found === null) return self.error(`There is no generation ${id}.`, { exitCode: 1 });
      show(found, json, () => generationText(found, Date.now()));
    });
}
