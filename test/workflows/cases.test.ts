import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Activities } from '../../src/activities/index.ts';
import { temporaryFolder } from '../../src/dev/keeper.ts';
import { newId } from '../../src/domain/ids.ts';
import { timingsSchema } from '../../src/domain/timings.ts';
import { eventually } from '../simulators/control.ts';
import { ensured } from '../support/ensured.ts';
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

  it.each([
    ['during its first step', 'submit'],
    // As after a lost run: it begins by looking.
    ['before its first step', 'look'],
  ])(
    'H5: Cancel, a callback and an operator at once, %s: one end, and no timer keeps the run open',
    async (_when, first) => {
      const begun: string[] = [];
      // A run that ended on the first of the three would be begun again by the others.
      let told = first === 'look';
      const step = (name: string) => async () => {
        begun.push(name);
        return WAIT;
      };
      const collect: Activities['collect'] = async () => {
        begun.push('collect');
        if (!told) throw pollAgain(20);
        return SETTLE;
      };
      const id = await runs.start();
      const handle = runs.client.workflow.getHandle(id);
      const all = () => Promise.all([handle.cancel(), runs.wake(id, 'callback'), runs.wake(id, 'operator')]);
      if (first === 'look') await all();
      await runs.working({ submit: step('submit'), look: step('look'), collect, settle }, async () => {
        await eventually(() => (begun.includes(first) ? true : undefined), LIMIT_MS);
        await (first === 'look' ? runs.wake(id, 'callback') : all());
        told = true;
        await handle.result();
      });
      expect(begun[0]).toBe(first);
      expect(begun.slice(1)).toContain('collect');
      const decided = await runs.decided(id);
      expect(decided.filter((name) => name === 'submit' || name === 'look')).toEqual([first]);
      expect(await statusOf(id)).toBe('COMPLETED');
      const events = await eventsOf(id);
      expect(events.filter((event) => event.workflowExecutionCompletedEventAttributes)).toHaveLength(1);
      expect(events.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
    },
  );

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
    for (const reason of ['created', 'sweep'] as const) await ensured(runs.client, facts, reason);
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
