import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';

// Each stops a worker with all its grace and starts another.
vi.setConfig({ testTimeout: 240_000 });

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ worker: false });
});
afterAll(() => room?.stop());

async function filesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).length;
}

describe('H8 SIGTERM', () => {
  it('in the middle of a download: status 0, whole files only, stored once', async () => {
    const prompt = uniquePrompt('stopped in a download');
    await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_000, times: 1 });
    const first = await room.startWorker();
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'storing', 60_000);
    expect(await first.stop(60_000, 'SIGTERM')).toEqual({ code: 0, signal: null });
    const second = await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await filesBelow(room.outputs)).toBe(
      await room.db.prisma.output.count({ where: { state: 'stored' } }),
    );
    await second.stop(3_000, 'SIGKILL');
  });

  it('while credits are being captured: status 0, captured once', async () => {
    const prompt = uniquePrompt('stopped in a settle');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const first = await room.startWorker();
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting', 60_000);
    const [job] = (await room.sim.journal(prompt)).jobs;
    // The settle has to wait for this row, with the worker already asked to stop.
    const stopped = await room.db.prisma.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM hold WHERE generation_id = ${asked.id} FOR UPDATE`;
        await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
        await eventually(async () => ((await settlesThatWait()) > 0 ? true : undefined), 45_000);
        return { end: first.stop(60_000, 'SIGTERM') };
      },
      { timeout: 60_000 },
    );
    expect(await stopped.end).toEqual({ code: 0, signal: null });
    const second = await room.startWorker();
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    await second.stop(3_000, 'SIGKILL');
  });
});

async function settlesThatWait(): Promise<number> {
  const rows = await room.db.prisma.$queryRaw<object[]>`
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%settle(%'`;
  return rows.length;
}
