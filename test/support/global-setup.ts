import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { startPostgres } from '../../src/dev/postgres.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { startTemporal } from '../../src/dev/temporal.ts';
import { writeWorkflowBundle } from '../../src/worker/bundle-workflows.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database that test databases are copied from; nobody may stay connected to it. */
    templateUrl: string;
    temporalAddress: string;
    temporalUiUrl: string;
  }
}

/** One PostgreSQL and one Temporal server for the whole run, in a temporary folder; both end with this process. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = temporaryFolder('test');
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: '' }, (line) =>
    process.stderr.write(`${line}\n`),
  );
  if (source.kind !== 'binary') throw new Error('The tests start a Temporal server of their own.');
  // Every worker process of the tests would else bundle the same workflows itself.
  const bundle = join(folder.path, 'workflows.js');
  process.env['WORKFLOW_BUNDLE'] = bundle;
  const quiet = new DefaultLogger('WARN');
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dataDir: join(folder.path, 'postgres'), forTests: true, database: 'template' }),
    startTemporal({ binary: source.path, dataDir: join(folder.path, 'temporal') }),
    writeWorkflowBundle(bundle, quiet),
  ]);
  await migrate(postgres.url);
  project.provide('templateUrl', postgres.url);
  project.provide('temporalAddress', temporal.address);
  project.provide('temporalUiUrl', temporal.uiUrl);
  return async () => {
    await Promise.all([postgres.stop('immediate'), temporal.stop('immediate')]);
    await folder.remove();
  };
}
