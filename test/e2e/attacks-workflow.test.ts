import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import { newId } from '../../src/domain/ids.ts';
import type { RunView } from '../../src/domain/step.ts';
import { COLLECT_QUEUE, GENERATE_MEDIA, MAIN_QUEUE, submitQueue } from '../../src/workflows/messages.ts';
import { eventually } from '../simulators/control.ts';
import { startOwnTemporal } from '../support/own-temporal.ts';
import type { OwnTemporal } from '../support/own-temporal.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = temporaryFolder('attacks');
const view: RunView = {
  state: 'queued',
  stage: 'queued',
  provider: 'infro',
  jobId: null,
  credits: 1,
  deadlineInMs: 60_000,
  problem: null,
};
const away = (nextRetryMs?: number) =>
  ApplicationFailure.create({
    message: 'database unavailable',
    type: 'DatabaseUnavailable',
    ...(nextRetryMs === undefined ? {} : { nextRetryDelay: nextRetryMs }),
  });
const broken = () =>
  ApplicationFailure.create({ message: 'step_failed', type: 'StepBroken', nonRetryable: true });

let temporal: OwnTemporal;
let client: Client;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  temporal = await startOwnTemporal(join(folder.path, 'temporal'));
  client = new Client({ connection: Connection.lazy({ address: temporal.address }) });
});
afterAll(async () => {
  await client?.connection.close();
  await temporal?.stop();
  await folder.remove();
});

/** The real workflow over scripted activities, while `scenario` runs. */
async function withActivities(
  activities: Omit<Activities, 'look'>,
  scenario: (id: string) => Promise<void>,
): Promise<void> {
  const connection = await NativeConnection.connect({ address: temporal.address });
  const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
  const { submit, collect, settle, park } = activities;
  const workers = await Promise.all([
    Worker.create({
      connection,
      taskQueue: MAIN_QUEUE,
      workflowsPath,
      activities: { look: submit, settle, park },
    }),
    Worker.create({ connection, taskQueue: COLLECT_QUEUE, activities: { collect } }),
    Worker.create({ connection, taskQueue: submitQueue('infro'), activities: { submit } }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  const workflowId = newId('gen', Date.now());
  try {
    const plan = { provider: 'infro', timings: timingsSchema.parse({}) };
    await client.workflow.start(GENERATE_MEDIA, {
      args: [{ generationId: workflowId, plan }],
      taskQueue: MAIN_QUEUE,
      workflowId,
    });
    await scenario(workflowId);
  } finally {
    await client.workflow
      .getHandle(workflowId)
      .terminate('end of test')
      .catch(() => undefined);
    for (const worker of workers) worker.shutdown();
    await running;
    await connection.close();
  }
}

/** How long each timer that the run has started so far is to last, in seconds. */
async function timersOf(id: string): Promise<number[]> {
  const { events } = await client.workflow.getHandle(id).fetchHistory();
  return (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) => {
    if (!timer) return [];
    const { seconds, nanos } = timer.startToFireTimeout ?? {};
    return [Number(seconds ?? 0) + (nanos ?? 0) / 1e9];
  });
}

/** Until it waits for something, so that what comes now comes after its first step. */
async function untilWaiting(id: string): Promise<void> {
  await eventually(async () => ((await timersOf(id)).length > 0 ? true : undefined), 30_000);
}

const never = async (): Promise<never> => {
  throw new Error('not in this scenario');
};

it('the job id of an acceptance survives two lost steps, not only one', async () => {
  const attached: unknown[] = [];
  let calls = 0;
  const submit: Activities['submit'] = async ({ attach }) => {
    calls += 1;
    if (calls === 1) return { step: 'attach', submissionId: 'sub_1', jobId: 'job_1', view };
    attached.push(attach?.jobId ?? null);
    if (calls <= 4) throw away();
    return { step: 'done', state: 'succeeded' };
  };
  await withActivities({ submit, collect: never, settle: never, park: never }, async (id) => {
    // The first submit is `resume`, the second attaches.
    await client.workflow.getHandle(id).result();
    expect(attached.length).toBeGreaterThanOrEqual(4);
    expect(new Set(attached)).toEqual(new Set(['job_1']));
  });
});

it('a park that is broken too does not spin', async () => {
  let parks = 0;
  const submit: Activities['submit'] = async () => {
    throw broken();
  };
  const park: Activities['park'] = async () => {
    parks += 1;
    throw broken();
  };
  await withActivities({ submit, collect: never, settle: never, park }, async () => {
    await sleep(5_000);
    expect(parks).toBeLessThanOrEqual(10);
  });
});

it('Cancel in the UI is not forgotten when another wake comes before the look has begun', async () => {
  const looks: boolean[] = [];
  const submit: Activities['submit'] = async () => ({
    step: 'wait',
    inMs: 60_000,
    deadlineInMs: 60_000,
    view,
  });
  const collect: Activities['collect'] = async ({ cancelPressed }) => {
    looks.push(cancelPressed);
    // As when the database is away: nothing was written; it is repeated so late that the wake comes before.
    if (looks.length === 1) throw away(30_000);
    return { step: 'done', state: 'cancelled' };
  };
  await withActivities({ submit, collect, settle: never, park: never }, async (id) => {
    const handle = client.workflow.getHandle(id);
    await untilWaiting(id);
    await handle.cancel();
    while (looks.length === 0) await sleep(5);
    await handle.signal('wake', { reason: 'callback' });
    await handle.result();
    expect(looks.at(-1)).toBe(true);
  });
});

it('Cancel in the UI is not forgotten when the submit that carried it is lost', async () => {
  const pressed: boolean[] = [];
  const submit: Activities['submit'] = async ({ cancelPressed }) => {
    pressed.push(cancelPressed);
    if (pressed.length === 1) return { step: 'submit', inMs: 60_000, reason: 'capacity', view };
    if (pressed.length === 2) throw away();
    return { step: 'done', state: 'cancelled' };
  };
  await withActivities({ submit, collect: never, settle: never, park: never }, async (id) => {
    await untilWaiting(id);
    await client.workflow.getHandle(id).cancel();
    await client.workflow.getHandle(id).result();
    expect(pressed).toEqual([false, true, true]);
  });
});

it('after a minute without a database the next try comes within 5 s (design.md §7)', async () => {
  let calls = 0;
  const submit: Activities['submit'] = async () => {
    calls += 1;
    if (calls <= 6) throw away();
    return { step: 'done', state: 'succeeded' };
  };
  await withActivities({ submit, collect: never, settle: never, park: never }, async (id) => {
    await client.workflow.getHandle(id).result();
    expect(calls).toBeGreaterThanOrEqual(7);
    // The first try is a submit, which the run repeats as a look after a timer; a look is repeated by its policy.
    const waits = await timersOf(id);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeLessThanOrEqual(5);
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    const policies = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: step }) =>
      step?.activityType?.name === 'look' ? [step.retryPolicy] : [],
    );
    expect(
      policies.map((policy) => [policy?.maximumAttempts, Number(policy?.maximumInterval?.seconds)]),
    ).toEqual([[0, 5]]);
  });
});

it('a parked run looks again by itself, so that one whose row has ended does not stay open', async () => {
  // What the row says after a cancel whose wake was lost: a parked run has no other reason to look.
  let reads = 0;
  const submit: Activities['submit'] = async () => {
    reads += 1;
    if (reads === 1) throw broken();
    return { step: 'done', state: 'cancelled' };
  };
  const park: Activities['park'] = async () => ({ terminal: false });
  await withActivities({ submit, collect: never, settle: never, park }, async (id) => {
    await untilWaiting(id);
    expect((await timersOf(id)).length).toBe(1);
  });
});
