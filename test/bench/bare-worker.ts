import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { BARE_QUEUES, SUBMITS_PER_SECOND } from './bare-queues.ts';

/** What the bare worker tells the bench over its channel. */
export type BareMessage =
  | { readonly ready: true }
  | { readonly submitted: string }
  | { readonly settled: string };

export interface BareActivities {
  readonly submit: (id: string) => Promise<{ step: string }>;
  readonly collect: (id: string) => Promise<{ step: string }>;
  readonly settle: (id: string) => Promise<{ state: string }>;
}

function tell(message: BareMessage): void {
  process.send?.(message);
}

const activities: BareActivities = {
  submit: async (id) => {
    tell({ submitted: id });
    return { step: 'wait' };
  },
  collect: async () => ({ step: 'settle' }),
  settle: async (id) => {
    tell({ settled: id });
    return { state: 'succeeded' };
  },
};

/** Three workers of one process, as src/worker/create-workers.ts makes them, with empty activities. */
async function main(address: string, codePath: string): Promise<void> {
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address });
  const shared: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace: 'default',
    shutdownGraceTime: 5_000,
    stickyQueueScheduleToStartTimeout: '5s',
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
  };
  const { submit, collect, settle } = activities;
  const workers = await Promise.all([
    Worker.create({
      ...shared,
      taskQueue: BARE_QUEUES.main,
      workflowBundle: { codePath },
      activities: { settle },
    }),
    Worker.create({
      ...shared,
      taskQueue: BARE_QUEUES.collect,
      activities: { collect },
      maxConcurrentActivityTaskExecutions: 1_000,
    }),
    Worker.create({
      ...shared,
      taskQueue: BARE_QUEUES.submit,
      activities: { submit },
      maxTaskQueueActivitiesPerSecond: SUBMITS_PER_SECOND,
    }),
  ]);
  process.once('disconnect', () => {
    for (const worker of workers) worker.shutdown();
  });
  tell({ ready: true });
  await Promise.all(workers.map((worker) => worker.run()));
  await connection.close();
}

const [address, codePath] = process.argv.slice(2);
if (address !== undefined && codePath !== undefined) await main(address, codePath);
