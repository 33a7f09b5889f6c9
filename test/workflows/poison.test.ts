import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { newId } from '../../src/domain/ids.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import { GENERATE_MEDIA, MAIN_QUEUE, submitQueue } from '../../src/workflows/messages.ts';
import { eventually } from '../simulators/control.ts';
import { startOwnTemporal } from '../support/own-temporal.ts';

it('H3 a run whose code never ends fails its own task only: the others on that worker go on', async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
  const folder = temporaryFolder('poison');
  const temporal = await startOwnTemporal(join(folder.path, 'temporal'));
  const connection = await NativeConnection.connect({ address: temporal.address });
  const client = new Client({ connection: Connection.lazy({ address: temporal.address }) });
  const activities: Partial<Activities> = { submit: async () => ({ step: 'done', state: 'succeeded' }) };
  const workers = await Promise.all([
    Worker.create({
      connection,
      taskQueue: MAIN_QUEUE,
      workflowsPath: fileURLToPath(new URL('./poison.ts', import.meta.url)),
      activities,
    }),
    Worker.create({ connection, taskQueue: submitQueue('infro'), activities }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    const poisoned = await client.workflow.start('poison', { taskQueue: MAIN_QUEUE, workflowId: 'poison' });
    const failed = await eventually(async () => {
      const { events } = await poisoned.fetchHistory();
      return events?.some((event) => event.workflowTaskFailedEventAttributes) || undefined;
    }, 120_000);
    expect(failed).toBe(true);
    const plan = { provider: 'infro', timings: timingsSchema.parse({}) };
    const results = await Promise.all(
      Array.from({ length: 10 }, () => {
        const workflowId = newId('gen', Date.now());
        const args = [{ generationId: workflowId, plan }];
        return client.workflow.execute(GENERATE_MEDIA, { args, taskQueue: MAIN_QUEUE, workflowId });
      }),
    );
    expect(results).toEqual(Array.from({ length: 10 }, () => ({ state: 'succeeded' })));
    expect((await poisoned.describe()).status.name).toBe('RUNNING');
    await poisoned.terminate('end of test');
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
    await Promise.allSettled([connection.close(), client.connection.close()]);
    await temporal.stop();
    await folder.remove();
  }
}, 300_000);
