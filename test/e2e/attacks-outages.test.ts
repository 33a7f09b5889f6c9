import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { isDatabaseUnavailable, loadGeneration, openDb } from '../../src/db/index.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import type { Asked } from '../support/generations.ts';
import { ask, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { historyOf } from '../support/history.ts';

let room: Darkroom;
let database: string;
let admin: pg.Client;
beforeAll(async () => {
  room = await startDarkroom();
  const rows = await room.db.prisma.$queryRaw<{ name: string }[]>`SELECT current_database() AS name`;
  database = rows[0]?.name ?? '';
  const url = new URL(inject('templateUrl'));
  url.pathname = '/postgres';
  admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await room?.stop();
});

const cut = () =>
  admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);

/** Ten generations of every kind of trouble, asked for with patience while things are being broken. */
async function askTen(words: string): Promise<Asked[]> {
  return Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const prompt = uniquePrompt(`${words} ${i}`);
      if (i === 1) await room.sim.fault(prompt, { kind: 'answer_lost_then_ok', times: 1 });
      if (i === 2) await room.sim.fault(prompt, { kind: 'status_429', retry_after: 1, times: 2 });
      if (i === 3) await room.sim.fault(prompt, { kind: 'link_slow', ms: 300 });
      if (i === 4) await room.sim.fault(prompt, { kind: 'slow_submit', ms: 1_500 });
      if (i === 5) await room.sim.fault(prompt, { kind: 'callback_before_answer' });
      if (i === 6) await room.sim.fault(prompt, { kind: 'link_404', times: 1 });
      return ask(room, i % 2 === 0 ? 'by-callback' : 'by-poll', prompt, { deadline_seconds: 600 });
    }),
  );
}

async function allSucceed(runs: readonly Asked[], limitMs: number): Promise<void> {
  for (const asked of runs) {
    const { state, stage } = await untilEnd(room, asked.id, limitMs).catch(() => get(room, asked.id));
    expect({ id: asked.id, state, stage }).toEqual({ id: asked.id, state: 'succeeded', stage: 'done' });
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  }
}

describe('Postgres', () => {
  it('every session cut again and again while ten generations run: all delivered once', async () => {
    const runs = await askTen('cut');
    for (let i = 0; i < 25; i += 1) {
      await cut();
      await sleep(150 + i * 10);
    }
    await allSucceed(runs, 45_000);
  });

  it('refuses connections for a while (locked out): no flood of events, goes on by itself', async () => {
    const prompt = uniquePrompt('locked out');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    const [job] = (await room.sim.journal(prompt)).jobs;
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
    try {
      await cut();
      const handle = room.client.workflow.getHandle(asked.id);
      await handle.signal('wake', { reason: 'operator' });
      await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
      await sleep(6_000);
      const events = (await historyOf(room, asked.id)).length;
      expect(events).toBeLessThanOrEqual(60);
    } finally {
      await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
    }
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('a network that swallows packets', () => {
  it('a call to Postgres ends by itself, not when the kernel gives up (every wait has a limit)', async () => {
    const target = new URL(inject('templateUrl'));
    const { port, hostname } = target;
    let frozen = false;
    const sockets: Socket[] = [];
    const proxy = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.push(from);
        from.on('error', () => undefined);
        from.on('data', (chunk) => {
          if (!frozen) to.write(chunk);
        });
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    target.port = String((proxy.address() as AddressInfo).port);
    target.pathname = `/${database}`;
    const db = openDb(target.href, { poolSize: 1 });
    try {
      const id = 'gen_00000000000000000000000000';
      expect(await loadGeneration(db, { generationId: id, dueInMs: 1 })).toBeNull();
      frozen = true;
      const error = await Promise.race([
        loadGeneration(db, { generationId: id, dueInMs: 1 }).catch((reason: unknown) => reason),
        sleep(80_000, 'still waiting'),
      ]);
      expect(isDatabaseUnavailable(error)).toBe(true);
    } finally {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await db.close();
    }
  }, 120_000);
});

describe('Temporal', () => {
  it('killed and started again three times while ten generations run: all delivered once', async () => {
    const runs = await askTen('Temporal');
    for (let i = 0; i < 3; i += 1) {
      await sleep(700);
      await room.temporal.kill();
      await sleep(300);
      await room.temporal.start();
    }
    await allSucceed(runs, 60_000);
  });

  it('lost a search attribute: the run is started without it, and ends', async () => {
    const { operatorService } = room.client.connection;
    await operatorService.removeSearchAttributes({
      namespace: 'default',
      searchAttributes: ['GenerationState'],
    });
    const asked = await ask(room, 'by-callback', uniquePrompt('without attributes'));
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const { status } = await eventually(async () => {
      const described = await room.client.workflow.getHandle(asked.id).describe();
      return described.status.name === 'RUNNING' ? undefined : described;
    }, 90_000);
    expect(status.name).toBe('COMPLETED');
  });
});
