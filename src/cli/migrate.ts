import { Command } from 'commander';
import { migrate } from '../db/migrate.ts';
import { registerSearchAttributes } from '../temporal/register.ts';
import { show, withContext } from './context.ts';

/** `darkroom migrate`: the database's migrations and Temporal's search attributes; safe to repeat. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('apply migrations to the database and register the search attributes in Temporal')
    .option('--json', 'one JSON object instead of text')
    .action(async ({ json = false }: { json?: boolean }) => {
      const done = await withContext(async ({ databaseUrl, temporal }) => {
        const { applied } = await migrate(databaseUrl);
        return { applied, registered: await registerSearchAttributes(temporal.client) };
      });
      show(done, json, () =>
        [
          done.applied.length === 0 ? 'The database was up to date.' : `Applied: ${done.applied.join(', ')}`,
          done.registered.length === 0
            ? 'The search attributes were there.'
            : `Registered: ${done.registered.join(', ')}`,
        ].join('\n'),
      );
    });
}
