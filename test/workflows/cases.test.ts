import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { newId } from '../../src/domain/ids.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import { ensureRunning } from '../../src/temporal/ensure-running.ts';
import { eventually } from '../simulators/control.ts';
import { startOwnTemporal } from '../support/own-temporal.ts';
import type { OwnTemporal } from '../support/own-temporal.ts';
import { DONE, scripted, SETTLE, WAIT } from './scripted.ts';
import type { Scripted } from './scripted.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const LIMIT_MS = 60_000;
const POLLS = 8;
const folder = temporaryFolder('cases');
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

const settle: Activities['settle'] = async () => DONE;
const pollAgain = (nextRetryDelay: number) =>
  ApplicationFailure.create({ message: 'still running', type: 'PollAgain', nextRetryDelay });
async function eventsOf(id: string) {
  return (await runs.client.workflow.getHandle(id).fetchHistory()).events ?? [];
}
const statusOf = async (id: string) => (await runs.client.workflow.getHandle(id).describe()).status.name;

describe('cases of others (cases.md)', () => {
  it('H1: a job that is polled again and again leaves the history that one poll leaves', async () => {
    let polls = 0;
    const collect: Activities['collect'] = async () => {
      polls += 1;
      if (polls <= POLLS) throw pollAgain(1);
      return SETTLE;
    };
    const id = await runs.start();
    await runs.working({ submit: async () => ({ ...WAIT, inMs: 0 }), collect, settle }, async () => {
      await runs.client.workflow.getHandle(id).result();
    });
    expect(polls).toBe(POLLS + 1);
    expect((await eventsOf(id)).length).toBeLessThanOrEqual(40);
  });

  it('H5: Cancel, a callback and an operator at once: one end, and no timer keeps the run open', async () => {
    const pressed: boolean[] = [];
    const collect: Activities['collect'] = async ({ cancelPressed }) => {
      pressed.push(cancelPressed);
      return SETTLE;
    };
    const id = await runs.start();
    await runs.working({ submit: async () => WAIT, collect, settle }, async () => {
      const handle = runs.client.workflow.getHandle(id);
      await Promise.all([handle.cancel(), runs.wake(id, 'callback'), runs.wake(id, 'operator')]);
      await handle.result();
    });
    expect(await statusOf(id)).toBe('COMPLETED');
    const events = await eventsOf(id);
    expect(events.filter((event) => event.workflowExecutionCompletedEventAttributes)).toHaveLength(1);
    expect(events.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
  });

  it('T50: a run has no retry policy and no time limit, so that nothing begins it again from the start', async () => {
    const generationId = newId('gen', Date.now());
    const facts = {
      generationId,
      tenantId: newId('ten'),
      accountId: newId('acc'),
      model: 'short',
      provider: 'infro',
      method: 'text-to-video',
      timings: timingsSchema.parse({}),
    };
    const deps = { client: runs.client, onDegraded: () => undefined };
    for (const reason of ['created', 'sweep'] as const) await ensureRunning(deps, facts, reason);
    const [started] = await eventsOf(generationId);
    const attributes = started?.workflowExecutionStartedEventAttributes;
    expect(attributes?.retryPolicy ?? null).toBeNull();
    expect(Number(attributes?.workflowExecutionTimeout?.seconds ?? 0)).toBe(0);
    expect(Number(attributes?.workflowRunTimeout?.seconds ?? 0)).toBe(0);
    await runs.client.workflow.getHandle(generationId).terminate('end of test');
  });

  it('T52: a submit whose time is over is not begun again beside the old one: the run looks', async () => {
    const begun: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const submit: Activities['submit'] = async () => {
      begun.push('submit');
      await held;
      return WAIT;
    };
    const look: Activities['look'] = async () => {
      begun.push('look');
      return DONE;
    };
    const id = await runs.start({ submitStartToCloseMs: 1_000 });
    await runs.working({ submit, look }, async () => {
      await runs.client.workflow.getHandle(id).result();
      release();
    });
    expect(begun).toEqual(['submit', 'look']);
  });

  it('T55: an attempt to look that hangs is followed by another one', async () => {
    let attempts = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const collect: Activities['collect'] = async () => {
      attempts += 1;
      if (attempts === 1) await held;
      return SETTLE;
    };
    const id = await runs.start();
    await runs.working({ submit: async () => ({ ...WAIT, inMs: 0 }), collect, settle }, async () => {
      await eventually(() => (attempts >= 2 ? true : undefined), LIMIT_MS);
      release();
      await runs.client.workflow.getHandle(id).result();
    });
    expect(attempts).toBe(2);
    expect(await statusOf(id)).toBe('COMPLETED');
  });
});
