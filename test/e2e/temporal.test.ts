import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepDue } from '../../src/services/sweep-due.ts';
import { eventually } from '../simulators/control.ts';
import { unhurriedCatalogue as catalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  expectPromise,
  get,
  lasting,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import { historyOf } from '../support/history.ts';

const { TaskQueueType } = temporal.api.enums.v1;

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue, variables: { PROVIDER_AIGENWAY_SUBMITS_PER_SECOND: '7' } });
});
afterAll(() => room?.stop());

/** Lets the job with this prompt succeed, which is stuck until then. */
async function finish(prompt: string): Promise<void> {
  const [job] = (await room.sim.journal(prompt)).jobs;
  await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
}

describe('Reset', () => {
  it('to every workflow task after the submit: nothing is rendered or charged twice', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('reset'));
    await untilEnd(room, asked.id);
    const before = await get(room, asked.id);
    const events = await historyOf(room, asked.id);
    const targets = events
      .filter((event) => event['workflowTaskCompletedEventAttributes'])
      .map((event) => Number(event.eventId));
    // Submit, wake, collect and settle; one more where the callback comes after the answer to the submit.
    expect(targets.length).toBeGreaterThanOrEqual(4);
    const first = (await room.client.workflow.getHandle(asked.id).describe()).runId;
    for (const eventId of targets) {
      const { runId } = await room.client.workflowService.resetWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: asked.id, runId: first },
        workflowTaskFinishEventId: eventId as never,
        requestId: crypto.randomUUID(),
        reason: 'test',
      });
      await eventually(async () => {
        const { status } = await room.client.workflow.getHandle(asked.id, runId ?? '').describe();
        return status.name === 'COMPLETED' ? true : undefined;
      }, 90_000);
    }
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(lasting(await get(room, asked.id))).toEqual(lasting(before));
    expect(
      (await room.sim.journal(asked.prompt)).requests.filter(({ method }) => method === 'POST').length,
    ).toBe(1);
  });
});

describe('G3 Terminate', () => {
  it.each(['waiting', 'storing'] as const)(
    'while %s: the next wake or sweep starts a run that goes on',
    async (stage) => {
      const prompt = uniquePrompt(`terminate ${stage}`);
      if (stage === 'storing') await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_000, times: 1 });
      else await room.sim.fault(prompt, { kind: 'stuck' });
      const asked = await ask(room, 'by-callback', prompt);
      await until(room, asked.id, (generation) => generation.stage === stage);
      await room.client.workflow.getHandle(asked.id).terminate('test');
      if (stage === 'waiting') await finish(prompt);
      await untilEnd(room, asked.id, 60_000);
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    },
  );

  it('E4: a cancel after it is still obeyed', async () => {
    const prompt = uniquePrompt('terminate, then cancel');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await room.client.workflow.getHandle(asked.id).terminate('test');
    expect((await call(room, 'DELETE', `/v1/generations/${asked.id}`)).status).toBe(202);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
  });
});

describe('the sweep', () => {
  it('finds nothing due in a healthy system, and one failing run never stops the others', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('sweep'));
    await untilEnd(room, asked.id);
    const { count } = await room.db.prisma.generation.updateMany({
      where: { completedAt: { not: null } },
      data: { sweepCount: 0 },
    });
    expect(count).toBeGreaterThanOrEqual(1);
    const woken: string[] = [];
    const { due } = await sweepDue({
      db: room.db,
      ensure: async ({ generationId }) => {
        woken.push(generationId);
      },
      onProblem: () => undefined,
    });
    expect({ due, woken }).toEqual({ due: 0, woken: [] });
  });
});

describe('the queue of a provider', () => {
  it('takes as many submits a second as its setting says, else 10', async () => {
    const rate = (provider: string) =>
      eventually(async () => {
        const { pollers } = await room.client.workflowService.describeTaskQueue({
          namespace: 'default',
          taskQueue: { name: `darkroom-submit-${provider}` },
          taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        });
        return pollers?.[0]?.ratePerSecond ?? undefined;
      });
    expect([await rate('aigenway'), await rate('infro')]).toEqual([7, 10]);
  });
});

describe('Temporal itself', () => {
  it('away: POST answers 202, cancel of unsent work works; back: the run starts', async () => {
    await room.temporal.kill();
    const kept = await ask(room, 'by-callback', uniquePrompt('while Temporal is away'));
    const dropped = await ask(room, 'by-callback', uniquePrompt('cancelled while Temporal is away'));
    const answer = await call(room, 'DELETE', `/v1/generations/${dropped.id}`);
    expect(answer.status).toBe(200);
    expect(answer.body.state).toBe('cancelled');
    // A slow machine may leave the check of the database too little time.
    const ready = await eventually(async () => {
      const readyz = await fetch(`${room.apiUrl}/readyz`);
      return readyz.status === 200 ? ((await readyz.json()) as object) : undefined;
    }, 60_000);
    expect(ready).toMatchObject({
      status: 'degraded',
      checks: { database: 'ok', temporal: 'missing', workers: 'missing' },
    });
    await room.temporal.start();
    await untilEnd(room, kept.id, 60_000);
    await expectPromise(room, kept, { state: 'succeeded', jobs: 1 });
    await expectPromise(room, dropped, { state: 'cancelled', jobs: 0 });
  });

  it('its whole store wiped in mid-flight: every generation goes on from its row', async () => {
    const rendering = uniquePrompt('wiped while waiting');
    await room.sim.fault(rendering, { kind: 'stuck' });
    const polled = uniquePrompt('wiped while polled');
    await room.sim.fault(polled, { kind: 'stuck' });
    const a = await ask(room, 'by-callback', rendering);
    const b = await ask(room, 'by-poll', polled);
    await until(room, a.id, ({ stage }) => stage === 'waiting');
    await until(room, b.id, ({ stage }) => stage === 'waiting');
    await room.temporal.kill();
    await room.temporal.wipe();
    // The one ends while Temporal is away, the other once it is back.
    await finish(rendering);
    await room.temporal.start();
    await finish(polled);
    await untilEnd(room, a.id, 60_000);
    await untilEnd(room, b.id, 60_000);
    await expectPromise(room, a, { state: 'succeeded', jobs: 1 });
    await expectPromise(room, b, { state: 'succeeded', jobs: 1 });
  });
});

describe('a namespace without our search attributes', () => {
  it('runs are started without them, end all the same, and readiness says what to do', async () => {
    const bare = await startDarkroom({ catalogue });
    try {
      await bare.client.connection.operatorService.removeSearchAttributes({
        namespace: 'default',
        searchAttributes: ['TenantId', 'Provider', 'Model', 'GenerationState'],
      });
      const asked = await ask(bare, 'by-callback', uniquePrompt('no attributes'));
      await untilEnd(bare, asked.id);
      await expectPromise(bare, asked, { state: 'succeeded', jobs: 1 });
      await eventually(async () => {
        const { status } = await bare.client.workflow.getHandle(asked.id).describe();
        return status.name === 'COMPLETED' ? true : undefined;
      }, 90_000);
      const ready = (await (await fetch(`${bare.apiUrl}/readyz`)).json()) as {
        checks: Record<string, string>;
      };
      expect(ready.checks['search_attributes']).toBe('missing');
    } finally {
      await bare.stop();
    }
  });
});
