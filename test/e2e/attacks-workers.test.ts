import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Child } from '../../src/dev/child.ts';
import { claimDueGenerations } from '../../src/db/index.ts';
import { sweepDue } from '../../src/services/sweep-due.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';

/** DOWNLOADS of src/worker/main.ts. */
const DOWNLOAD_SLOTS = 8;

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

async function withWorkers(scenario: (start: (crashAt?: string) => Promise<Child>) => Promise<void>) {
  const workers: Child[] = [];
  try {
    await scenario(async (crashAt) => {
      const worker = await room.startWorker(crashAt);
      workers.push(worker);
      return worker;
    });
  } finally {
    for (const worker of workers) if (worker.isRunning()) process.kill(worker.pid, 'SIGCONT');
    await Promise.all(workers.map((worker) => worker.stop(3_000, 'SIGKILL')));
  }
}

describe('cancel and a dying worker', () => {
  it('killed between the provider’s cancel and its record: still "may bill", not "confirmed"', () =>
    withWorkers(async (start) => {
      const worker = await start('before:record_observation');
      const prompt = uniquePrompt('cancel, then death');
      await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'no_callbacks' });
      const asked = await ask(room, 'by-callback', prompt);
      await until(room, asked.id, ({ stage }) => stage === 'waiting');
      await call(room, 'DELETE', `/v1/generations/${asked.id}`);
      await worker.ended;
      await start();
      await untilEnd(room, asked.id);
      const { cancellation } = await expectPromise(room, asked, { state: 'cancelled', jobs: 1 });
      expect(cancellation?.outcome).toBe('accepted_may_bill');
    }));

  it('killed before the UI’s Cancel is in the row: the wish is not forgotten', () =>
    withWorkers(async (start) => {
      const worker = await start('before:request_cancel');
      const prompt = uniquePrompt('UI cancel, then death');
      await room.sim.fault(
        prompt,
        { kind: 'status_429', retry_after: 30, times: 1 },
        { kind: 'render_ms', ms: 2_000 },
      );
      const asked = await ask(room, 'by-callback', prompt);
      await eventually(async () => {
        const row = await room.db.prisma.submission.findFirst({ where: { generationId: asked.id } });
        return row?.state === 'prepared' ? true : undefined;
      }, 90_000);
      await room.client.workflow.getHandle(asked.id).cancel();
      await worker.ended;
      await start();
      await untilEnd(room, asked.id, 60_000);
      expect((await get(room, asked.id)).state).toBe('cancelled');
    }));
});

describe('a zombie: a worker that stands still, then goes on', () => {
  it('in the middle of a submit: one job', () =>
    withWorkers(async (start) => {
      const zombie = await start();
      const prompt = uniquePrompt('zombie submit');
      await room.sim.fault(prompt, { kind: 'slow_submit', ms: 1_500 });
      const asked = await ask(room, 'by-callback', prompt);
      await eventually(
        async () => ((await room.sim.journal(prompt)).jobs.length > 0 ? true : undefined),
        90_000,
      );
      process.kill(zombie.pid, 'SIGSTOP');
      const healthy = await start();
      await sleep(4_000);
      process.kill(zombie.pid, 'SIGCONT');
      await untilEnd(room, asked.id);
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
      expect(healthy.isRunning()).toBe(true);
    }));

  it(
    'in the middle of a download: the row’s file is there, whichever attempt won',
    () =>
      withWorkers(async (start) => {
        const zombie = await start();
        const prompt = uniquePrompt('zombie download');
        await room.sim.fault(prompt, { kind: 'link_slow', ms: 300 });
        const asked = await ask(room, 'by-callback', prompt);
        await until(room, asked.id, ({ stage }) => stage === 'storing' || stage === 'done');
        process.kill(zombie.pid, 'SIGSTOP');
        await start();
        await eventually(async () => {
          const row = await room.db.prisma.output.findFirst({ where: { generationId: asked.id } });
          return (row?.attempt ?? 0) > 1 || row?.state === 'stored' ? true : undefined;
          // Temporal may hand the repeated step to the open polls of the frozen worker first, 5 s each.
        }, 60_000);
        process.kill(zombie.pid, 'SIGCONT');
        await untilEnd(room, asked.id);
        await sleep(4_000);
        await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
      }),
    180_000,
  );
});

describe('many slow downloads', () => {
  it('more than there are slots: each file is fetched once, nobody queues twice for it', () =>
    withWorkers(async (start) => {
      await start();
      const runs = await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const prompt = uniquePrompt(`slow download ${i}`);
          await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_800 });
          return ask(room, 'by-callback', prompt);
        }),
      );
      await Promise.all(runs.map(({ id }) => untilEnd(room, id, 80_000)));
      const rows = await room.db.prisma.output.findMany({
        where: { generationId: { in: runs.map(({ id }) => id) } },
      });
      const downloads = await Promise.all(
        runs.map(async ({ prompt }) => (await room.sim.journal(prompt)).jobs[0]?.downloads ?? 0),
      );
      expect(Math.max(...rows.map(({ attempt }) => attempt))).toBe(1);
      expect(Math.max(...downloads)).toBe(1);
    }));
});

describe('a storage folder that cannot be written for a moment', () => {
  it('F2 F-15: nothing is charged and no slot is kept; afterwards the same worker delivers all of it', () =>
    withWorkers(async (start) => {
      await start();
      await rename(join(room.outputs, 'tmp'), join(room.outputs, 'tmp-away')).catch(() => undefined);
      await writeFile(join(room.outputs, 'tmp'), 'in the way');
      const lost = await ask(room, 'short-store', uniquePrompt('no folder for too long'));
      const runs = await Promise.all(
        Array.from({ length: DOWNLOAD_SLOTS }, (_, i) =>
          ask(room, 'by-callback', uniquePrompt(`no folder ${i}`)),
        ),
      );
      await eventually(async () => {
        const rows = await room.db.prisma.output.findMany({
          where: { generationId: { in: runs.map(({ id }) => id) }, problem: 'storage_unavailable' },
        });
        return rows.length === runs.length ? true : undefined;
      }, 90_000);
      for (const { id } of runs) {
        expect(await get(room, id)).toMatchObject({ state: 'running', stage: 'storing' });
      }
      await untilEnd(room, lost.id, 30_000);
      const { error } = await expectPromise(room, lost, { state: 'failed', jobs: 1 });
      expect(error?.code).toBe('output_lost');
      await rm(join(room.outputs, 'tmp'));
      for (const asked of runs) {
        await untilEnd(room, asked.id, 30_000);
        await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
      }
    }));
});

describe('the sweep', () => {
  it('goes on within 15 s after Temporal was away, however long', async () => {
    await room.running.api.stop(0, 'SIGKILL');
    await room.db.prisma.generation.updateMany({
      where: { completedAt: null },
      data: { dueAt: new Date(Date.now() + 3_600_000) },
    });
    const api = await room.startApi();
    const asked = await ask(room, 'by-callback', uniquePrompt('swept in vain'));
    await api.stop(0, 'SIGKILL');
    const fail = async () => {
      // As the client says it: only this counts as Temporal being away.
      throw new ServiceError('away', {
        cause: Object.assign(new Error('away'), { code: 14, details: 'away', metadata: {} }),
      });
    };
    for (let pass = 0; pass < 6; pass += 1) {
      // The time that would have passed until it is due again.
      await room.db.prisma.generation.update({
        where: { id: asked.id },
        data: { dueAt: new Date(Date.now() - 6_000), wakeRequestedAt: null },
      });
      await sweepDue({ db: room.db, ensure: fail, onProblem: () => undefined });
    }
    const row = await room.db.prisma.generation.findUniqueOrThrow({ where: { id: asked.id } });
    await room.startApi();
    expect((row.dueAt?.getTime() ?? 0) - Date.now()).toBeLessThanOrEqual(15_000);
  });

  it('one row that cannot be read never stops the others', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('beside an unreadable row'));
    const good = await room.db.prisma.generation.findUniqueOrThrow({ where: { id: asked.id } });
    const bad = `gen_${asked.id.slice(4, -4)}zzzz`;
    await room.db.prisma.$executeRawUnsafe(
      `INSERT INTO generation SELECT (jsonb_populate_record(g, jsonb_build_object('id', '${bad}', 'idempotency_key', '${bad}',
         'plan', g.plan || '{"timings": {"fromANewerVersion": 1}}', 'event_seq', 0, 'due_at', now() - interval '1 minute'))).*
       FROM generation g WHERE id = '${good.id}'`,
    );
    try {
      // The API sweeps too, and what it has claimed is not due for us.
      const claimed = await eventually(async () => {
        await room.db.prisma.generation.updateMany({
          where: { id: { in: [asked.id, bad] } },
          data: { dueAt: new Date(Date.now() - 60_000) },
        });
        const { runs, unreadable } = await claimDueGenerations(room.db, { limit: 10, graceMs: 5_000 });
        const ids = runs.map(({ generationId }) => generationId);
        const seen = new Set([...ids, ...unreadable]);
        return seen.has(asked.id) && seen.has(bad) ? { ids, unreadable } : undefined;
      }, 60_000);
      expect(claimed.ids).toContain(asked.id);
      expect(claimed.unreadable).toEqual([]);
    } finally {
      await room.db.prisma.$executeRawUnsafe(`DELETE FROM generation WHERE id = '${bad}'`);
    }
  });
});
