import { Command } from 'commander';
import { SIMULATE_HELP } from '../simulators/help.ts';
import { runSimulators } from '../simulators/run.ts';
import { exampleText } from './examples.ts';

/** `darkroom simulate`: the providers' simulators alone; the options are theirs. */
export function simulateCommand(): Command {
  return new Command('simulate')
    .description("run the providers' simulators on this machine")
    .allowUnknownOption()
    .helpOption(false)
    .argument('[options...]')
    .action(async (_options: string[], _flags: object, command: Command) => {
      if (command.args.includes('--help'))
        process.stdout.write(`${SIMULATE_HELP}${exampleText('simulate')}\n`);
      else await runSimulators(command.args);
    });
}
