import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { STEP_BROKEN } from '../../src/domain/step-failures.ts';
import { eventually } from '../simulators/control.ts';
import { recordHistory } from '../support/history.ts';
import { startOwnTemporal } from '../support/own-temporal.ts';
import type { OwnTemporal } from '../support/own-temporal.ts';
import { DONE, editedWorkflows, scripted, SETTLE, VIEW, WAIT } from './scripted.ts';
import type { Scripted } from './scripted.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const LIMIT_MS = 60_000;
const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));
const folder = temporaryFolder('scenarios');
let temporal: OwnTemporal;
let runs: Scripted;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  temporal = await startOwnTemporal(join(folder.path, 'temporal'));
  runs = await scripted(temporal);
});
afterAll(async () => {
  await runs?.close();
  await temporal?.stop();
  await folder.remove();
});

const stillRunning = () =>
  ApplicationFailure.create({ message: 'still running', type: 'PollAgain', nextRetryDelay: '5m' });
const settle: Activities['settle'] = async () => DONE;

const activitiesOf = (id: string) => runs.decided(id);
const begun = (id: string, name: string, count = 1) =>
  eventually(async () => {
    const names = (await activitiesOf(id)).filter((one) => one === name);
    return names.length >= count ? true : undefined;
  }, LIMIT_MS);

/**
 * Waits for a callback or its timer: no task is open. A worker may stop only then, since a task that is handed to one
 * that is stopping is lost until its time limit.
 */
const atRest = (id: string) =>
  eventually(async () => {
    const { events } = await runs.client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).some(({ timerStartedEventAttributes: timer }) => timer) ? true : undefined;
  }, LIMIT_MS).then(() => undefined);

/** Recorded by `RECORD_HISTORIES=1 npx vitest run test/workflows`; replayed by replay.test.ts. */
describe('scenarios that take no whole stack', () => {
  it('partial: some outputs are fetched again, one is lost; settled by the same step', async () => {
    let tries = 0;
    const collect: Activities['collect'] = async () => {
      tries += 1;
      if (tries === 1) {
        throw ApplicationFailure.create({ message: 'link_gone', type: 'PollAgain', nextRetryDelay: 50 });
      }
      return SETTLE;
    };
    const id = await runs.start();
    await runs.working({ submit: async () => WAIT, collect, settle }, async () => {
      await begun(id, 'submit');
      await runs.wake(id, 'callback');
      await runs.client.workflow.getHandle(id).result();
    });
    expect(await activitiesOf(id)).toEqual(['submit', 'collect', 'settle']);
    await recordHistory({ temporal }, id, 'partial');
  });

  it('operator: "observe now" cuts the pause between two looks short', async () => {
    let looks = 0;
    const collect: Activities['collect'] = async () => {
      looks += 1;
      if (looks <= 2) throw stillRunning();
      return SETTLE;
    };
    const id = await runs.start();
    await runs.working({ submit: async () => WAIT, collect, settle }, async () => {
      await begun(id, 'submit');
      for (const look of [1, 2, 3]) {
        await runs.wake(id, 'operator');
        await eventually(() => (looks >= look ? true : undefined), LIMIT_MS);
      }
      await runs.client.workflow.getHandle(id).result();
    });
    expect(await activitiesOf(id)).toEqual(['submit', 'collect', 'collect', 'collect', 'settle']);
    await recordHistory({ temporal }, id, 'operator');
  });

  it('resume: a run in the place of a terminated one begins by looking, and sends nothing', async () => {
    const id = await runs.start();
    const script: Partial<Activities> = {
      submit: async () => WAIT,
      look: async () => WAIT,
      collect: async () => SETTLE,
      settle,
    };
    await runs.working(script, async () => {
      await begun(id, 'submit');
      await runs.client.workflow.getHandle(id).terminate('pressed in the UI');
      await runs.wake(id, 'sweep');
      await begun(id, 'look');
      await runs.wake(id, 'callback');
      await runs.client.workflow.getHandle(id).result();
    });
    expect(await activitiesOf(id)).toEqual(['look', 'collect', 'settle']);
    await recordHistory({ temporal }, id, 'resume');
  });
});

describe('Cancel in the Temporal UI before a worker has come to the run', () => {
  it('is carried by the first step, which only looks: nothing is sent', async () => {
    const pressed: boolean[] = [];
    const look: Activities['look'] = async ({ cancelPressed }) => {
      pressed.push(cancelPressed);
      return { step: 'done', state: 'cancelled' };
    };
    const id = await runs.start();
    await runs.client.workflow.getHandle(id).cancel();
    await runs.working({ look }, async () => {
      expect(await runs.client.workflow.getHandle(id).result()).toEqual({ state: 'cancelled' });
    });
    expect(pressed).toEqual([true]);
    expect(await activitiesOf(id)).toEqual(['look']);
    await recordHistory({ temporal }, id, 'cancel-first');
  });
});

describe('a job that was accepted while the database was away', () => {
  it('whose attach is broken is set aside with its run, and attached before all else when that goes on', async () => {
    const attached: (string | null)[] = [];
    let mended = false;
    const look: Activities['look'] = async ({ attach }) => {
      attached.push(attach?.jobId ?? null);
      if (mended) return DONE;
      throw ApplicationFailure.create({
        message: 'unknown_credential',
        type: STEP_BROKEN,
        nonRetryable: true,
      });
    };
    const script: Partial<Activities> = {
      submit: async () => ({ step: 'attach', submissionId: 'sub_1', jobId: 'job_1', view: VIEW }),
      look,
      park: async () => ({ terminal: false }),
    };
    const id = await runs.start();
    await runs.working(script, async () => {
      await begun(id, 'park');
      mended = true;
      await runs.wake(id, 'operator');
      await runs.client.workflow.getHandle(id).result();
    });
    await recordHistory({ temporal }, id, 'parked-attach');
    expect(new Set(attached)).toEqual(new Set(['job_1']));
  });
});

describe('the database is away while the run looks', () => {
  it('is tried again without another event, however long', async () => {
    let looks = 0;
    const look: Activities['look'] = async () => {
      looks += 1;
      if (looks <= 4) throw ApplicationFailure.create({ message: 'database unavailable', type: 'Away' });
      return DONE;
    };
    const submit: Activities['submit'] = async () => {
      throw ApplicationFailure.create({ message: 'database unavailable', type: 'Away' });
    };
    const id = await runs.start();
    await runs.working({ submit, look }, async () => {
      await runs.client.workflow.getHandle(id).result();
    });
    expect(looks).toBeGreaterThan(4);
    const { events } = await runs.client.workflow.getHandle(id).fetchHistory();
    const asked = (events ?? []).filter(
      ({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === 'look',
    );
    expect(asked).toHaveLength(1);
  });
});

const CALL = '        return settle(step);';
const IMPORT = /import \{ (.*) \} from '@temporalio\/workflow';/;
const bundle = (workflowsPath: string) =>
  bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
async function recorded(name: string): Promise<{ workflowId: string; history: unknown }> {
  return JSON.parse(await readFile(join(HISTORIES, `${name}.json`), 'utf8')) as {
    workflowId: string;
    history: unknown;
  };
}

/** A next version that looks at the rows once more before it settles. */
describe('two versions (H2)', () => {
  it('behind patched(): runs of the old version go on under it, and their histories replay', async () => {
    const next = await editedWorkflows((text) =>
      text
        .replace(IMPORT, "import { $1, patched } from '@temporalio/workflow';")
        .replace(CALL, `        if (patched('look-before-settle')) await look(null);\n${CALL}`),
    );
    try {
      const id = await runs.start();
      const script: Partial<Activities> = {
        submit: async () => WAIT,
        look: async () => WAIT,
        collect: async () => SETTLE,
        settle,
      };
      await runs.working(script, () => atRest(id));
      await runs.working(
        script,
        async () => {
          await runs.wake(id, 'callback');
          await runs.client.workflow.getHandle(id).result();
        },
        next.path,
      );
      expect(await activitiesOf(id)).toEqual(['submit', 'collect', 'look', 'settle']);
      await recordHistory({ temporal }, id, 'patched/two-versions');
      const workflowBundle = await bundle(next.path);
      for (const name of ['callback', 'failover', 'resume', 'patched/two-versions']) {
        const { workflowId, history } = await recorded(name);
        await Worker.runReplayHistory({ workflowBundle, replayName: name }, history, workflowId);
      }
    } finally {
      await next.remove();
    }
  });

  it('without it: an added activity breaks the histories of the old version', async () => {
    const next = await editedWorkflows((text) => text.replace(CALL, `        await look(null);\n${CALL}`));
    try {
      const workflowBundle = await bundle(next.path);
      const { workflowId, history } = await recorded('callback');
      await expect(
        Worker.runReplayHistory({ workflowBundle, replayName: 'callback' }, history, workflowId),
      ).rejects.toThrow(DeterminismViolationError);
    } finally {
      await next.remove();
    }
  });
});
