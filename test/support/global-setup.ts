import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { startPostgres } from '../../src/dev/postgres.ts';
import { resolveMinio } from '../../src/dev/minio-binary.ts';
import { resolveTemporal } from '../../src/dev/temporal-binary.ts';
import { startTemporal } from '../../src/dev/temporal.ts';
import { writeWorkflowBundle } from '../../src/worker/bundle-workflows.ts';
import { buildPrograms } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The migrated database that test databases are copied from; nobody may stay connected to it. */
    templateUrl: string;
    temporalAddress: string;
    temporalUiUrl: string;
    /** The folder of the compiled programs; stands for src. */
    programs: string;
  }
}

/** One PostgreSQL and one Temporal server for the whole run, in a temporary folder; both end with this process. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = temporaryFolder('test');
  const source = await resolveTemporal({ ...process.env, TEMPORAL_ADDRESS: '' }, (line) =>
    process.stderr.write(`${line}\n`),
  );
  // Minutes, once for a machine, and here since no test waits so long; where it fails, only those that need it do.
  await resolveMinio(process.env, (line) => process.stderr.write(`${line}\n`)).catch(() => undefined);
  if (source.kind !== 'binary') throw new Error('The tests start a Temporal server of their own.');
  // Every worker process of the tests would else bundle the same workflows itself.
  const bundle = join(folder.path, 'workflows.js');
  process.env['WORKFLOW_BUNDLE'] = bundle;
  const quiet = new DefaultLogger('WARN');
  const [postgres, temporal, programs] = await Promise.all([
    startPostgres({ dataDir: join(folder.path, 'postgres'), forTests: true, database: 'template' }),
    startTemporal({ binary: source.path, dataDir: join(folder.path, 'temporal') }),
    buildPrograms(),
    writeWorkflowBundle(bundle, quiet),
  ]);
  await migrate(postgres.url);
  project.provide('templateUrl', postgres.url);
  project.provide('temporalAddress', temporal.address);
  project.provide('temporalUiUrl', temporal.uiUrl);
  project.provide('programs', programs);
  return async () => {
    await Promise.all([postgres.stop('immediate'), temporal.stop('immediate')]);
    await rm(programs, { recursive: true, force: true });
    await folder.remove();
  };
}
