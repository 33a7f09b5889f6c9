import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../src/activities/index.ts';
import { submit } from '../../src/activities/submit.ts';
import { claimSubmission, parkGeneration, requestCancel } from '../../src/db/index.ts';
import type { Provider } from '../../src/domain/provider.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  expectInvariants,
  expectPromise,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import { historyOf } from '../support/history.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom();
});
afterAll(() => room?.stop());

async function resetToStart(id: string): Promise<void> {
  const { runId } = await room.client.workflow.getHandle(id).describe();
  // The run that the reset before has begun has none until its worker answers.
  const target = await eventually(async () => {
    const history = await room.client.workflow.getHandle(id, runId).fetchHistory();
    return history.events?.find((event) => event.workflowTaskCompletedEventAttributes);
  }, 60_000);
  await room.client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id, runId },
    workflowTaskFinishEventId: target.eventId ?? null,
    requestId: crypto.randomUUID(),
    reason: 'test',
  });
}

describe('Reset in mid-flight, again and again', () => {
  it.each([
    ['submitting', { kind: 'slow_submit', ms: 1_800 }],
    ['waiting', { kind: 'render_ms', ms: 2_500 }],
    ['storing', { kind: 'link_slow', ms: 250 }],
  ] as const)('while %s: one job, one capture', async (stage, fault) => {
    const prompt = uniquePrompt(`reset while ${stage}`);
    await room.sim.fault(prompt, fault);
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, (generation) => generation.stage === stage || generation.stage === 'done');
    for (let i = 0; i < 4; i += 1) {
      await resetToStart(asked.id);
      await sleep(250);
    }
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('the deadline and a success at the same moment', () => {
  // The first and the last are far enough from deadline and grace, 12 s and 13.5 s, to be sure of their ends.
  const RENDER_MS = [3_000, ...Array.from({ length: 10 }, (_, i) => 10_000 + i * 500), 22_000];

  it('twelve times around deadline and grace: each ends once, as the rows say', async () => {
    const runs = await Promise.all(
      RENDER_MS.map(async (ms) => {
        const prompt = uniquePrompt(`deadline ${ms}`);
        await room.sim.fault(prompt, { kind: 'render_ms', ms }, { kind: 'cancel_5xx' });
        return ask(room, 'short-deadline', prompt, { deadline_seconds: 12 });
      }),
    );
    const states: string[] = [];
    for (const asked of runs) {
      const { state } = await untilEnd(room, asked.id);
      states.push(state);
      await expectPromise(room, asked, { state, jobs: 1 });
    }
    expect(new Set(states)).toEqual(new Set(['succeeded', 'expired']));
  });
});

describe('a storm of callbacks', () => {
  it('the same terminal event 160 times while the job runs on: few wakes, few events', async () => {
    const prompt = uniquePrompt('storm');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    const job = await eventually(async () => (await room.sim.journal(prompt)).jobs[0]?.id, 90_000);
    await room.sim.post('callback', {
      job_id: job,
      type: 'job.succeeded',
      event_id: 'evt_storm',
      times: 160,
    });
    await sleep(1_000);
    const events = await historyOf(room, asked.id);
    const signals = events.filter((event) => event['workflowExecutionSignaledEventAttributes']).length;
    await room.sim.post(`jobs/${job}`, { status: 'succeeded' });
    await untilEnd(room, asked.id);
    await expectInvariants(room);
    expect(signals).toBeLessThanOrEqual(5);
  });
});

describe('the fence around a replay', () => {
  it('the key’s window must still cover the whole lease, else the re-send may be a second job', async () => {
    const prompt = uniquePrompt('end of the window');
    await room.sim.fault(prompt, { kind: 'reset_before_accept' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'submission_unknown');
    await room.client.workflow.getHandle(asked.id).terminate('test');
    const row = await eventually(async () => {
      const found = await room.db.prisma.submission.findFirst({ where: { generationId: asked.id } });
      return found?.state === 'unknown' ? found : undefined;
    }, 90_000);
    const outcome = await eventually(async () => {
      const sentMs = Date.now() - (row.firstSentAt?.getTime() ?? 0);
      const claim = await claimSubmission(room.db, {
        generationId: asked.id,
        ordinal: 1,
        routeIndex: 0,
        submissionId: row.id,
        provider: row.provider,
        credential: row.credential,
        idempotencyKey: row.idempotencyKey,
        request: { method: 'POST', path: '/', contentType: 'application/json', body: '' },
        callbackBase: null,
        callbackKeyId: null,
        leaseMs: 40_000,
        minimumRunwayMs: 1_000,
        replay: true,
        // One second before the provider forgets the key, with 40 s in which the bytes may leave.
        estimatedCost: null,
        replayWindowMs: sentMs + 1_000,
      });
      // The sweep starts the run again, which may be sending at this moment.
      return claim.outcome === 'leased' ? undefined : claim.outcome;
    });
    expect(outcome).toBe('unknown');
  });
});

describe('setting aside for an operator', () => {
  it('does not swallow a cancel that came since the row was read', async () => {
    const prompt = uniquePrompt('cancelled while being parked');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    await room.client.workflow.getHandle(asked.id).terminate('test');
    // The API commits the wish and dies before its signal; the run then parks by what it had read before.
    await requestCancel(room.db, { generationId: asked.id, tenantId: room.tenantId, actor: 'tenant' });
    await parkGeneration(room.db, { generationId: asked.id, reason: 'step_failed', dueInMs: 3_600_000 });
    const row = await room.db.prisma.generation.findUniqueOrThrow({ where: { id: asked.id } });
    expect(row.wakeRequestedAt ?? row.completedAt).not.toBeNull();
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
  });
});

describe('a job attached after the end', () => {
  it('is cancelled at the provider once, also when its id came through the history', async () => {
    const prompt = uniquePrompt('attached after the end');
    await room.sim.fault(prompt, { kind: 'reset_before_accept' });
    const asked = await ask(room, 'short-deadline', prompt, { deadline_seconds: 10 });
    await untilEnd(room, asked.id);
    const row = await room.db.prisma.submission.findFirstOrThrow({ where: { generationId: asked.id } });
    const cancelled: string[] = [];
    const provider = {
      name: 'infro',
      handleFromJobId: (jobId: string) => ({ jobId }),
      cancel: async ({ jobId }: { jobId: string }) => {
        cancelled.push(jobId);
        return { kind: 'answered', observation: { kind: 'cancelled', status: 'canceled' } };
      },
    } as unknown as Provider;
    const credential = { name: row.credential, apiKey: 'sim-key' };
    const providers = new Map([['infro', { provider, current: credential, credential: () => credential }]]);
    const log = { info: () => undefined, warn: () => undefined };
    const deps = { db: room.db, providers, log, random: Math.random } as unknown as ActivityDeps;
    const step = await submit(deps, {
      generationId: asked.id,
      cancelPressed: false,
      attach: { submissionId: row.id, jobId: 'job_through_history' },
    });
    expect(step).toEqual({ step: 'done', state: 'expired' });
    expect(cancelled).toEqual(['job_through_history']);
    await expectInvariants(room);
  });
});
