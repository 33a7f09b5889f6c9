import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { BARE_QUEUES } from './bare-queues.ts';
import type { BareActivities } from './bare-worker.ts';

/**
 * As src/workflows/policies.ts has it with the default timings. A task that Temporal gave out to a poll that was just gone,
 * as happens on a busy machine, is given out again after this time; with a minute here whole rounds stood still.
 */
const HEARTBEAT = '5s';
const NEVER_ENDING = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' } as const;

const { submit } = proxyActivities<BareActivities>({
  taskQueue: BARE_QUEUES.submit,
  scheduleToStartTimeout: '300s',
  startToCloseTimeout: '50s',
  heartbeatTimeout: HEARTBEAT,
  // Ours looks at its row instead; a run of these would end with a lost task.
  retry: { maximumAttempts: 5 },
});
const { collect } = proxyActivities<BareActivities>({
  taskQueue: BARE_QUEUES.collect,
  scheduleToCloseTimeout: '25h',
  startToCloseTimeout: '25h',
  heartbeatTimeout: HEARTBEAT,
  cancellationType: 'TRY_CANCEL',
  retry: NEVER_ENDING,
});
const { settle } = proxyActivities<BareActivities>({ startToCloseTimeout: '30s', retry: NEVER_ENDING });

const wake = defineSignal('wake');

/** The steps of a generation and nothing in them: what Temporal itself costs. */
export async function bareGeneration(id: string): Promise<{ state: string }> {
  let woken = false;
  setHandler(wake, () => {
    woken = true;
  });
  await submit(id);
  await condition(() => woken);
  await collect(id);
  return settle(id);
}
