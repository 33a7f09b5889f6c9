import { Command } from 'commander';
import { removeOrphans } from '../services/remove-orphans.ts';
import type { OrphanRemoval } from '../services/remove-orphans.ts';
import { show, withContext } from './context.ts';

interface OrphanOptions {
  readonly dryRun?: true;
  readonly force?: true;
  readonly json?: boolean;
}

/** In one run: a bound for its memory, not for what may be removed. */
const LIMIT = 100_000;

/** `darkroom files`: what lies in the storage. */
export function filesCommand(): Command {
  return new Command('files').description('files in the storage').addCommand(
    new Command('remove-orphans')
      .description(
        'remove files older than 25 hours that no output and no input has; workers do it every 6 hours',
      )
      .option('--dry-run', 'list them, remove nothing')
      .option(
        '--force',
        'also when most old files have no row, so that the storage may be of another database',
      )
      .option('--json', 'one JSON object instead of text')
      .action(async (options: OrphanOptions, self: Command) => {
        const { dryRun = false, force = false, json = false } = options;
        const found = await withContext(({ db, storage }) =>
          removeOrphans(
            { db, storage, onProblem: (_error, path) => process.stderr.write(`not removed: ${path}\n`) },
            { limit: LIMIT, dryRun, force },
          ),
        );
        if (found.outcome === 'foreign') {
          return self.error(
            `${found.orphans.length} of ${found.seen} old files have no row, so nothing was removed: check that DATABASE_URL and STORAGE_URL belong together, then add --force.`,
          );
        }
        const { seen, orphans, removed, failed, more } = found;
        show({ dry_run: dryRun, seen, orphans, removed, failed, more }, json, () => textOf(found, dryRun));
        if (failed > 0) self.error(`${failed} files could not be removed: check the rights of STORAGE_URL.`);
      }),
  );
}

function textOf({ seen, orphans, removed, more }: OrphanRemoval, dryRun: boolean): string {
  const rest = more ? '; there are more, run it again' : '';
  if (!dryRun) return `${removed} of ${seen} old files had no row and are removed${rest}`;
  return [...orphans, `${orphans.length} of ${seen} old files have no row${rest}; nothing was removed`].join(
    '\n',
  );
}
