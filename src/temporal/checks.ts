import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { COLLECT_QUEUE, MAIN_QUEUE, submitQueue } from '../workflows/messages.ts';
import { missingSearchAttributes } from './register.ts';

const { TASK_QUEUE_TYPE_WORKFLOW: WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY: ACTIVITY } =
  proto.temporal.api.enums.v1.TaskQueueType;
const RPC_MS = 2_000;

/** @throws Error naming the attributes that `darkroom migrate` has to register. */
export async function assertSearchAttributes(client: Client): Promise<void> {
  const missing = await missingSearchAttributes(client);
  if (missing.length > 0) throw new Error(`search attributes missing: ${missing.join(', ')}`);
}

/** @throws Error naming each queue that no worker polls; submits go by provider. */
export async function assertPollers(client: Client, providers: readonly string[]): Promise<void> {
  const queues = [
    { name: MAIN_QUEUE, taskQueueType: WORKFLOW },
    { name: MAIN_QUEUE, taskQueueType: ACTIVITY },
    { name: COLLECT_QUEUE, taskQueueType: ACTIVITY },
    ...providers.map((provider) => ({ name: submitQueue(provider), taskQueueType: ACTIVITY })),
  ];
  const empty = await client.withDeadline(Date.now() + RPC_MS, () =>
    Promise.all(
      queues.map(async ({ name, taskQueueType }) => {
        const { namespace } = client.options;
        const found = await client.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name },
          taskQueueType,
        });
        return found.pollers?.length ? [] : [name];
      }),
    ),
  );
  const missing = [...new Set(empty.flat())];
  if (missing.length > 0) throw new Error(`no worker polls ${missing.join(', ')}`);
}
