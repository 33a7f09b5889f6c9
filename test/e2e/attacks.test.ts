import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordSubmission } from '../../src/db/index.ts';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { eventually } from '../simulators/control.ts';
import { fastCatalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  expectInvariants,
  expectPromise,
  get,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import { historyOf } from '../support/history.ts';

const [first] = fastCatalogue.models;
const catalogue = catalogueSchema.parse({
  models: [
    ...fastCatalogue.models,
    {
      ...first,
      id: 'nobody-there',
      routes: [{ provider: 'runway', providerModel: 'gen4.5' }],
      deadlineSeconds: { default: 4, max: 60 },
    },
  ],
});

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue, unknownToWorker: 'runway' });
});
afterAll(() => room?.stop());

const posts = async (prompt: string) =>
  (await room.sim.journal(prompt)).requests.filter(({ method }) => method === 'POST').length;

describe('a provider that', () => {
  it('asks for a retry after 0 seconds is not hammered', async () => {
    const prompt = uniquePrompt('retry after 0');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 0 });
    const asked = await ask(room, 'by-callback', prompt);
    await eventually(async () => ((await posts(prompt)) > 0 ? true : undefined), 90_000);
    await sleep(4_000);
    const sent = await posts(prompt);
    await call(room, 'DELETE', `/v1/generations/${asked.id}`);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 0 });
    expect(sent).toBeLessThanOrEqual(12);
  });

  it('refuses for capacity until the deadline: failed, at most 11 events a try', async () => {
    const prompt = uniquePrompt('busy until the deadline');
    await room.sim.fault(prompt, { kind: 'status_429' });
    const asked = await ask(room, 'short-deadline', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'failed', jobs: 0 });
    const sent = await posts(prompt);
    const events = (await historyOf(room, asked.id)).length;
    expect(events).toBeLessThanOrEqual(11 * sent + 25);
  });

  it('says Retry-After: one day still has its row due by the deadline', async () => {
    const prompt = uniquePrompt('retry after a day');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 86_400 });
    const asked = await ask(room, 'short-deadline', prompt, { deadline_seconds: 10 });
    await eventually(async () => ((await posts(prompt)) > 0 ? true : undefined), 90_000);
    await until(room, asked.id, ({ stage }) => stage === 'queued');
    await room.client.workflow.getHandle(asked.id).terminate('test');
    const { dueAt, deadlineAt } = await room.db.prisma.generation.findUniqueOrThrow({
      where: { id: asked.id },
    });
    expect(dueAt!.getTime()).toBeLessThanOrEqual(deadlineAt.getTime());
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'failed', jobs: 0 });
  });

  it('answers "running" after a success: the first success stands', async () => {
    const prompt = uniquePrompt('back to running');
    await room.sim.fault(prompt, { kind: 'link_404', times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing' || stage === 'done');
    await room.sim.fault(prompt, { kind: 'unknown_status', status: 'running', times: 2 });
    await untilEnd(room, asked.id);
    await room.sim.post('faults', []);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('is not configured any more: the generation ends or is set aside, its hold is not kept for ever', async () => {
    const prompt = uniquePrompt('closed down');
    const asked = await ask(room, 'nobody-there', prompt);
    const generation = await until(
      room,
      asked.id,
      ({ stage }) => stage === 'done' || stage === 'needs_operator',
    );
    expect(['done', 'needs_operator']).toContain(generation.stage);
  });
});

describe('cancel', () => {
  it('while unknown, then a callback that names the job: the provider is asked at once', async () => {
    const prompt = uniquePrompt('unknown, named by a progress callback');
    await room.sim.fault(prompt, { kind: 'reset_after_accept' }, { kind: 'stuck' }, { kind: 'no_callbacks' });
    // Else the sweep would find in the inbox, after some seconds, a callback that had woken nobody.
    await room.db.prisma.$executeRaw`
      INSERT INTO sweep_mark (name, updated_at) VALUES ('inbox', now() + interval '1 hour')
      ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at`;
    const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 600 });
    await until(room, asked.id, ({ stage }) => stage === 'submission_unknown');
    expect((await call(room, 'DELETE', `/v1/generations/${asked.id}`)).status).toBe(202);
    const [job] = (await room.sim.journal(prompt)).jobs;
    await room.sim.post('callback', { job_id: job?.id, type: 'job.running', event_id: `evt_${job?.id}` });
    const end = await untilEnd(room, asked.id, 60_000).catch(() => get(room, asked.id));
    expect(end).toMatchObject({ stage: 'done' });
    await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
  });

  it('in the Temporal UI while refused for capacity: cancelled, no job, the run completes', async () => {
    const prompt = uniquePrompt('UI cancel in 429');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 3_000 });
    const asked = await ask(room, 'by-callback', prompt, { deadline_seconds: 3_000 });
    await eventually(async () => ((await posts(prompt)) > 0 ? true : undefined), 90_000);
    await until(room, asked.id, ({ stage }) => stage === 'queued');
    await room.client.workflow.getHandle(asked.id).cancel();
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'cancelled', jobs: 0 });
    await untilClosed(asked.id);
  });

  it('racing the success, twenty times: each ends once, captured or released, never both', async () => {
    const runs = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const prompt = uniquePrompt(`race ${i}`);
        const asked = await ask(room, 'by-callback', prompt);
        await until(room, asked.id, ({ stage }) => stage === 'waiting' || stage === 'done');
        await sleep(500 + i * 25);
        await call(room, 'DELETE', `/v1/generations/${asked.id}`);
        return asked;
      }),
    );
    for (const asked of runs) {
      const { state } = await untilEnd(room, asked.id);
      expect(['succeeded', 'cancelled']).toContain(state);
      await expectPromise(room, asked, { state, jobs: 1 });
    }
  });

  it('of a parked run while Temporal is away: settled at once; its run ends at the next look', async () => {
    const prompt = uniquePrompt('parked, then cancelled');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'queued');
    // Nobody can ask for this, and the row is guarded: only so is there an input that no adapter takes.
    const sql = (text: string) => room.db.prisma.$executeRawUnsafe(text);
    await room.db.prisma.$transaction([
      // First and whole: the weaker lock of ALTER TABLE deadlocks with a step that has locked its row and then writes it.
      sql('LOCK TABLE generation IN ACCESS EXCLUSIVE MODE'),
      sql('ALTER TABLE generation DISABLE TRIGGER generation_guard'),
      sql(`UPDATE generation SET input = '{"nonsense": 1}' WHERE id = '${asked.id}'`),
      sql('ALTER TABLE generation ENABLE TRIGGER generation_guard'),
    ]);
    await until(room, asked.id, ({ stage }) => stage === 'needs_operator');
    await room.temporal.kill();
    const answer = await call(room, 'DELETE', `/v1/generations/${asked.id}`);
    expect(answer.status).toBe(200);
    expect(answer.body.state).toBe('cancelled');
    await room.temporal.start();
    await room.client.workflow.getHandle(asked.id).signal('wake', { reason: 'operator' });
    await untilClosed(asked.id);
    await expectInvariants(room);
  });
});

describe('late', () => {
  it('acceptance after expiry attaches, changes nothing for the tenant, and a second job is an orphan', async () => {
    const prompt = uniquePrompt('late acceptance');
    await room.sim.fault(prompt, { kind: 'reset_before_accept' });
    const asked = await ask(room, 'short-deadline', prompt, { deadline_seconds: 10 });
    await untilEnd(room, asked.id);
    const before = await get(room, asked.id);
    const row = await room.db.prisma.submission.findFirstOrThrow({ where: { generationId: asked.id } });
    for (const [jobId, outcome] of [
      ['job_late', 'attached_late'],
      ['job_late', 'attached'],
      ['job_later', 'orphan'],
    ] as const) {
      const handle = { jobId };
      const record = { submissionId: row.id, kind: 'accepted', jobId, handle, providerStatus: null } as const;
      expect((await recordSubmission(room.db, { ...record, dueInMs: 1_000 })).outcome).toBe(outcome);
    }
    expect(await get(room, asked.id)).toEqual(before);
    await expectPromise(room, asked, { state: 'expired', jobs: 0 });
  });
});

async function untilClosed(id: string): Promise<void> {
  await eventually(async () => {
    const status = await room.client.workflow
      .getHandle(id)
      .describe()
      .catch(() => undefined);
    return status === undefined || status.status.name === 'RUNNING' ? undefined : true;
  }, 90_000);
}
