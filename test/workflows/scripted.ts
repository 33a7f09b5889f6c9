import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { Activities } from '../../src/activities/index.ts';
import { newId } from '../../src/domain/ids.ts';
import type { RunView, Step } from '../../src/domain/step.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import type { Timings } from '../../src/domain/timings.ts';
import {
  COLLECT_QUEUE,
  GENERATE_MEDIA,
  MAIN_QUEUE,
  submitQueue,
  wakeSignal,
} from '../../src/workflows/messages.ts';
import type { WakeReason } from '../../src/workflows/messages.ts';
import type { OwnTemporal } from '../support/own-temporal.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const WORKFLOWS = join(ROOT, 'src', 'workflows', 'index.ts');

export const VIEW: RunView = {
  state: 'running',
  stage: 'waiting',
  provider: 'infro',
  jobId: 'job_1',
  credits: 40,
  deadlineInMs: 600_000,
  problem: null,
};
export const WAIT: Step = { step: 'wait', inMs: 300_000, deadlineInMs: 600_000, view: VIEW };
export const SETTLE: Step = {
  step: 'settle',
  proposal: { state: 'succeeded', errorCode: null },
  view: VIEW,
};
export const DONE: Extract<Step, { step: 'done' }> = { step: 'done', state: 'succeeded' };
export const never = async (): Promise<never> => {
  throw new Error('not in this scenario');
};

/** After a submit that was lost with its worker: the rows have the job. */
const goOn: Activities['look'] = async () => ({ ...WAIT, inMs: 0 });

/** The real workflow over scripted activities. */
export interface Scripted {
  readonly client: Client;
  /** Starts a run, as the creation of a generation does; its id. */
  start(timings?: Partial<Timings>): Promise<string>;
  /** As callbacks, operators and the sweep do: a signal, and a new run where there is none. */
  wake(id: string, reason: WakeReason): Promise<void>;
  /** A worker of this version, or of the one at `workflowsPath`, until `scenario` has ended. */
  working(
    activities: Partial<Activities>,
    scenario: () => Promise<void>,
    workflowsPath?: string,
  ): Promise<void>;
  /**
   * The names of the last run's activities, in the order in which they were asked for. Without a look after an activity
   * whose time was over: on a busy machine any worker may stand still for its 5 s.
   */
  decided(id: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function scripted(temporal: OwnTemporal): Promise<Scripted> {
  const connection = await Connection.connect({ address: temporal.address });
  const native = await NativeConnection.connect({ address: temporal.address });
  const client = new Client({ connection });
  const options = (workflowId: string, timings: Partial<Timings> = {}) => ({
    args: [{ generationId: workflowId, plan: { provider: 'infro', timings: timingsSchema.parse(timings) } }],
    taskQueue: MAIN_QUEUE,
    workflowId,
  });
  const bundles = new Map<string, Promise<WorkflowBundleWithSourceMap>>();
  const bundleOf = (workflowsPath: string) => {
    const made =
      bundles.get(workflowsPath) ?? bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
    bundles.set(workflowsPath, made);
    return made;
  };
  return {
    client,
    async start(timings) {
      const id = newId('gen', Date.now());
      await client.workflow.start(GENERATE_MEDIA, options(id, timings));
      return id;
    },
    async wake(id, reason) {
      await client.workflow.signalWithStart(GENERATE_MEDIA, {
        ...options(id),
        signal: wakeSignal,
        signalArgs: [{ reason }],
      });
    },
    async working(activities, scenario, workflowsPath = WORKFLOWS) {
      const { submit = never, look = goOn, collect = never, settle = never, park = never } = activities;
      const workers = await Promise.all([
        Worker.create({
          connection: native,
          taskQueue: MAIN_QUEUE,
          workflowBundle: await bundleOf(workflowsPath),
          activities: { look, settle, park },
        }),
        Worker.create({ connection: native, taskQueue: COLLECT_QUEUE, activities: { collect } }),
        Worker.create({ connection: native, taskQueue: submitQueue('infro'), activities: { submit } }),
      ]);
      const running = Promise.all(workers.map((worker) => worker.run()));
      try {
        await scenario();
      } finally {
        for (const worker of workers) worker.shutdown();
        await running;
      }
    },
    async decided(id) {
      const { events } = await client.workflow.getHandle(id).fetchHistory();
      const names: string[] = [];
      let lost = 0;
      for (const event of events ?? []) {
        if (event.activityTaskTimedOutEventAttributes) lost += 1;
        const name = event.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
        if (name === 'look' && lost > 0) lost -= 1;
        else if (name !== '') names.push(name);
      }
      return names;
    },
    async close() {
      await Promise.all([native.close(), connection.close()]);
    },
  };
}

/**
 * This version's workflows with an edit, as a next version would have them.
 * @param edit - of the text of generate-media.ts
 */
export async function editedWorkflows(
  edit: (text: string) => string,
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const parent = join(ROOT, '.test-build');
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'src-next-'));
  for (const part of ['workflows', 'domain']) {
    await cp(join(ROOT, 'src', part), join(folder, part), { recursive: true });
  }
  const file = join(folder, 'workflows', 'generate-media.ts');
  const before = await readFile(file, 'utf8');
  const after = edit(before);
  if (after === before) throw new Error('the edit fits generate-media.ts no more');
  await writeFile(file, after);
  return {
    path: join(folder, 'workflows', 'index.ts'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
