import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { startPostgres } from '../../src/dev/postgres.ts';

/** As global-setup.ts, without Temporal: for runs that test rules and SQL only. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = temporaryFolder('test');
  const postgres = await startPostgres({
    dataDir: join(folder.path, 'postgres'),
    forTests: true,
    database: 'template',
  });
  await migrate(postgres.url);
  project.provide('templateUrl', postgres.url);
  return async () => {
    await postgres.stop('immediate');
    await folder.remove();
  };
}
