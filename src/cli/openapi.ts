import { Command } from 'commander';
import { openApiDocument } from '../api/openapi.ts';
import { ROUTES } from '../api/routes/index.ts';
import { loadCatalogue } from '../services/load-catalogue.ts';

/** `darkroom openapi`: the API document on standard output, without a running service. */
export function openApiCommand(): Command {
  return new Command('openapi')
    .description('print the OpenAPI 3.1 document of the API')
    .option('--catalogue <file>', 'catalogue to describe; the default one when left out')
    .action((options: { catalogue?: string }, command: Command) => {
      const loaded = loadCatalogue(options.catalogue);
      if ('problems' in loaded) {
        command.error(
          `The catalogue can't be used:\n${loaded.problems.map((problem) => `  ${problem}`).join('\n')}`,
          {
            exitCode: 78,
          },
        );
      }
      process.stdout.write(`${JSON.stringify(openApiDocument(ROUTES, loaded.catalogue), null, 2)}\n`);
    });
}
