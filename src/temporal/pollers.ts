import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { COLLECT_QUEUE, MAIN_QUEUE } from '../workflows/messages.ts';

const { TASK_QUEUE_TYPE_WORKFLOW: WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY: ACTIVITY } =
  proto.temporal.api.enums.v1.TaskQueueType;
const RPC_MS = 5_000;
/** A poll lasts 60 s at most; Temporal lists a poller for 5 minutes after its last one. */
export const POLLER_ALIVE_MS = 75_000;

/** The workers that have asked for work in the last `POLLER_ALIVE_MS`, by their identity. @throws when Temporal is away */
export async function livePollers(client: Client): Promise<string[]> {
  const queues = [
    { name: MAIN_QUEUE, taskQueueType: WORKFLOW },
    { name: MAIN_QUEUE, taskQueueType: ACTIVITY },
    { name: COLLECT_QUEUE, taskQueueType: ACTIVITY },
  ];
  const { namespace } = client.options;
  // All have ended before the caller closes its connection, which a later retry would meet with an error of its own.
  const asked = await client.withDeadline(Date.now() + RPC_MS, () =>
    Promise.allSettled(
      queues.map(({ name, taskQueueType }) =>
        client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
      ),
    ),
  );
  const found = asked.map((one) => {
    if (one.status === 'rejected') throw one.reason as Error;
    return one.value;
  });
  const since = Date.now() - POLLER_ALIVE_MS;
  const alive = found
    .flatMap(({ pollers }) => pollers ?? [])
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 > since);
  return [...new Set(alive.map(({ identity }) => identity ?? 'a worker'))];
}
