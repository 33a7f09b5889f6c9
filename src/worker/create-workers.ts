import { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { createActivities, FixedTextFailures } from '../activities/index.ts';
import type { ActivityDeps } from '../activities/index.ts';
import { temporalSettings } from '../temporal/client.ts';
import { WORKFLOWS_PATH } from './bundle-workflows.ts';
import { COLLECT_QUEUE, MAIN_QUEUE, submitQueue } from '../workflows/messages.ts';

export interface WorkersOptions {
  readonly deps: ActivityDeps;
  /** New submits per second and provider, over all workers; enforced by Temporal's queue. */
  readonly submitsPerSecond: number;
  /** How long running steps may finish after a stop was asked for. */
  readonly shutdownGraceMs: number;
  /** The workflows as one file (bundle-workflows.ts); null = bundled now. */
  readonly workflowBundle: string | null;
}

/** The queues of design.md §5, one Temporal worker each: runs and settles, collects, submits per provider. */
export async function createWorkers(
  options: WorkersOptions,
): Promise<{ workers: Worker[]; close: () => Promise<void> }> {
  const { deps } = options;
  const { namespace, connectionOptions } = temporalSettings();
  const connection = await NativeConnection.connect(connectionOptions);
  const { submit, look, collect, settle, park } = createActivities(deps);
  const shared: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownGraceMs + 10_000,
    stickyQueueScheduleToStartTimeout: '5s',
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
    interceptors: { activity: [() => ({ inbound: new FixedTextFailures(deps.log) })] },
  };
  const queues: WorkerOptions[] = [
    {
      ...shared,
      ...(options.workflowBundle === null
        ? { workflowsPath: WORKFLOWS_PATH }
        : { workflowBundle: { codePath: options.workflowBundle } }),
      taskQueue: MAIN_QUEUE,
      activities: { look, settle, park },
    },
    {
      ...shared,
      taskQueue: COLLECT_QUEUE,
      activities: { collect },
      maxConcurrentActivityTaskExecutions: 1_000,
    },
    ...[...deps.providers.keys()].map((provider) => ({
      ...shared,
      taskQueue: submitQueue(provider),
      activities: { submit },
      maxTaskQueueActivitiesPerSecond: options.submitsPerSecond,
    })),
  ];
  const workers = await Promise.all(queues.map((queue) => Worker.create(queue)));
  return { workers, close: () => connection.close() };
}
