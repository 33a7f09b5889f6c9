import type { DataConverter } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerDeploymentOptions, WorkerOptions } from '@temporalio/worker';
import { createActivities, FixedTextFailures, StepLines } from '../activities/index.ts';
import type { ActivityDeps, StepLinesDeps } from '../activities/index.ts';
import { temporalSettings } from '../temporal/client.ts';
import { WORKFLOWS_PATH } from './bundle-workflows.ts';
import { COLLECT_QUEUE, MAIN_QUEUE, submitQueue } from '../workflows/messages.ts';

/** Runs kept in memory; a further one that is woken is replayed from its history. So memory does not grow with those waiting. */
const CACHED_RUNS = 1_000;

export interface WorkersOptions {
  readonly deps: ActivityDeps;
  readonly lines: StepLinesDeps;
  /** New submits a second over all workers, by provider; enforced by Temporal's queue. */
  readonly submitsPerSecond: ReadonlyMap<string, number>;
  /** How long running steps may finish after a stop was asked for. */
  readonly shutdownGraceMs: number;
  /** The workflows as one file (bundle-workflows.ts); null = bundled now. */
  readonly workflowBundle: string | null;
  readonly dataConverter: DataConverter;
  /** Temporal's worker versioning; null = runs go to any worker. */
  readonly deployment: { readonly name: string; readonly buildId: string } | null;
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
    dataConverter: options.dataConverter,
    ...(options.deployment === null ? {} : { workerDeploymentOptions: versionOf(options.deployment) }),
    shutdownGraceTime: options.shutdownGraceMs,
    shutdownForceTime: options.shutdownGraceMs + 10_000,
    stickyQueueScheduleToStartTimeout: '5s',
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
    interceptors: {
      activity: [
        () => ({ inbound: new FixedTextFailures() }),
        () => ({ inbound: new StepLines(options.lines) }),
      ],
    },
  };
  const queues: WorkerOptions[] = [
    {
      ...shared,
      ...(options.workflowBundle === null
        ? { workflowsPath: WORKFLOWS_PATH }
        : { workflowBundle: { codePath: options.workflowBundle } }),
      taskQueue: MAIN_QUEUE,
      maxCachedWorkflows: CACHED_RUNS,
      activities: { look, settle, park },
    },
    {
      ...shared,
      taskQueue: COLLECT_QUEUE,
      activities: { collect },
      maxConcurrentActivityTaskExecutions: 1_000,
    },
    ...[...options.submitsPerSecond].map(([provider, rate]) => ({
      ...shared,
      taskQueue: submitQueue(provider),
      activities: { submit },
      maxTaskQueueActivitiesPerSecond: rate,
    })),
  ];
  const workers = await Promise.all(queues.map((queue) => Worker.create(queue)));
  return { workers, close: () => connection.close() };
}

/**
 * AUTO_UPGRADE: a run moves to the current version at its next task. It can wait for its provider for a day, reads its
 * row at every step, and changed steps stand behind `patched`; pinned, each old version would be kept that long.
 */
function versionOf(deployment: NonNullable<WorkersOptions['deployment']>): WorkerDeploymentOptions {
  return {
    version: { deploymentName: deployment.name, buildId: deployment.buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  };
}
