import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { newId } from '../../src/domain/ids.ts';
import type { Step } from '../../src/domain/step.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import {
  COLLECT_QUEUE,
  GENERATE_MEDIA,
  MAIN_QUEUE,
  submitQueue,
  wakeSignal,
  type WakeReason,
} from '../../src/workflows/messages.ts';
import { eventually } from '../simulators/control.ts';
import { startOwnTemporal } from '../support/own-temporal.ts';
import type { OwnTemporal } from '../support/own-temporal.ts';
import { detailsOf } from '../support/run-details.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 90_000 });

/** What the next run's activities answer; a run has the queues to itself. */
interface Script {
  submit: () => Step;
  look: () => Step;
  collect: (signal: AbortSignal) => Promise<Step>;
}

const NEVER: Script = {
  submit: () => {
    throw new Error('not in this scenario');
  },
  look: () => ({ step: 'done', state: 'cancelled' }),
  collect: (signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
};

const folder = temporaryFolder('story');
let script: Script = NEVER;
let temporal: OwnTemporal;
let client: Client;
let connection: NativeConnection;
let workers: Worker[] = [];
let running: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  temporal = await startOwnTemporal(join(folder.path, 'temporal'));
  client = new Client({ connection: Connection.lazy({ address: temporal.address }) });
  connection = await NativeConnection.connect({ address: temporal.address });
  const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
  const { Context } = await import('@temporalio/activity');
  const activities: Partial<Activities> = {
    submit: async () => script.submit(),
    look: async () => script.look(),
    collect: () => {
      const { cancellationSignal } = Context.current();
      const beat = setInterval(() => Context.current().heartbeat(), 200);
      return script.collect(cancellationSignal).finally(() => clearInterval(beat));
    },
    settle: async ({ proposal }) => ({ step: 'done', state: proposal.state }),
    park: async () => ({ terminal: false }),
  };
  const fast = { maxHeartbeatThrottleInterval: 200, defaultHeartbeatThrottleInterval: 200 } as const;
  workers = await Promise.all([
    Worker.create({ connection, taskQueue: MAIN_QUEUE, workflowsPath, activities }),
    Worker.create({ connection, taskQueue: COLLECT_QUEUE, activities, ...fast }),
    Worker.create({ connection, taskQueue: submitQueue('infro'), activities }),
  ]);
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await running;
  await Promise.allSettled([connection?.close(), client?.connection.close()]);
  await temporal?.stop();
  await folder.remove();
});

const keyword = (name: string, value: string) =>
  ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value }) as const;

/** The real workflow over scripted activities. @returns its details once they have this text; it is ended after. */
export async function details(given: Partial<Script>, text: string): Promise<string> {
  return (await run(given, text)).first;
}

/** The same, then those that it has once this wake was heard, more than a second later. */
export async function detailsAround(
  given: Partial<Script>,
  text: string,
  wake: WakeReason,
): Promise<{ readonly first: string; readonly second: string }> {
  return run(given, text, wake);
}

async function run(
  given: Partial<Script>,
  text: string,
  wake?: WakeReason,
): Promise<{ readonly first: string; readonly second: string }> {
  script = { ...NEVER, ...given };
  const workflowId = newId('gen', Date.now());
  const handle = await client.workflow.start(GENERATE_MEDIA, {
    args: [{ generationId: workflowId, plan: { provider: 'infro', timings: timingsSchema.parse({}) } }],
    taskQueue: MAIN_QUEUE,
    workflowId,
    typedSearchAttributes: new TypedSearchAttributes([
      keyword('TenantId', 'ten_9'),
      keyword('Model', 'infro-video'),
      keyword('Provider', 'infro'),
      keyword('GenerationState', 'running'),
    ]),
  });
  try {
    const has = (words: string) =>
      eventually(async () => {
        const found = await detailsOf(client, workflowId);
        return found.includes(words) ? found.replaceAll(workflowId, 'gen_X') : undefined;
      }, 30_000);
    const first = await has(text);
    if (wake === undefined) return { first, second: first };
    // Times are told in whole seconds: one that moves must be seen to.
    await sleep(1_100);
    await handle.signal(wakeSignal, { reason: wake });
    return { first, second: await has(`woken by ${wake}`) };
  } finally {
    await handle.terminate('end of test').catch(() => undefined);
  }
}
