import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createGeneration, isDatabaseUnavailable, openDb, settle } from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { eventually } from '../simulators/control.ts';
import { useDatabase } from './database.ts';
import { create, newGeneration, newTenant } from './fixtures.ts';

const test = useDatabase();

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value: unknown) => {
      throw new Error(`Nothing was thrown, but ${JSON.stringify(value)} returned.`);
    },
    (error: unknown) => error,
  );
}

/** The error of one simple query at this address, with a pool of its own. */
async function errorAt(url: string): Promise<unknown> {
  const db = openDb(url, { poolSize: 1 });
  try {
    return await errorOf(db.prisma.$queryRawUnsafe('SELECT 1'));
  } finally {
    await db.close();
  }
}

function urlWith(change: (url: URL) => void): string {
  const url = new URL(test.url);
  change(url);
  return url.href;
}

/** The error of the second statement, in one transaction with the first. */
function errorAfter(setting: string, statement: string): Promise<unknown> {
  const { prisma } = test.db;
  return errorOf(
    prisma.$transaction([prisma.$executeRawUnsafe(setting), prisma.$executeRawUnsafe(statement)]),
  );
}

/** The session that sleeps, once it does. */
function untilSleeping(): Promise<number> {
  return eventually(async () => {
    const [row] = await test.sql<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`,
    );
    return row?.pid;
  });
}

describe('isDatabaseUnavailable: true', () => {
  it('connection refused', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(isDatabaseUnavailable(await errorAt(urlWith((url) => (url.port = String(port)))))).toBe(true);
  });

  it('the server ends the session in the middle of a statement', async () => {
    const failing = errorOf(test.db.prisma.$queryRawUnsafe('SELECT pg_sleep(60)::text'));
    await test.sql('SELECT pg_terminate_backend($1)', [await untilSleeping()]);
    expect(isDatabaseUnavailable(await failing)).toBe(true);
    expect(await test.db.prisma.$queryRawUnsafe('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('the server ends an idle session: the pool goes on', async () => {
    const db = openDb(test.url, { poolSize: 1 });
    try {
      const [row] = await db.prisma.$queryRawUnsafe<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
      await test.sql('SELECT pg_terminate_backend($1)', [row!.pid]);
      const answers = await Promise.allSettled(
        [1, 2, 3].map(() => db.prisma.$queryRawUnsafe('SELECT 1 AS one')),
      );
      for (const answer of answers)
        if (answer.status === 'rejected') expect(isDatabaseUnavailable(answer.reason)).toBe(true);
      expect(await db.prisma.$queryRawUnsafe('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await db.close();
    }
  });

  it('by the driver itself: no connection, a session that is ended, a pool that is closed', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const nowhere = openDb(
      urlWith((url) => ((url.hostname = 'localhost'), (url.port = String(port)))),
      { poolSize: 1 },
    );
    const refused = await errorOf(nowhere.query('SELECT 1', []));
    await nowhere.close();
    const failing = errorOf(test.db.query('SELECT pg_sleep(60)::text', []));
    await test.sql('SELECT pg_terminate_backend($1)', [await untilSleeping()]);
    const closed = await errorOf(nowhere.query('SELECT 1', []));
    expect([refused, await failing, closed].map(isDatabaseUnavailable)).toEqual([true, true, true]);
    // Of a name with two addresses that both refuse.
    const both = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    expect(isDatabaseUnavailable(both)).toBe(true);
    expect(isDatabaseUnavailable(await errorOf(test.db.query('SELECT $1::int', ['none'])))).toBe(false);
    expect(await test.db.query('SELECT $1::int AS one', [1])).toEqual([{ one: 1 }]);
  });

  it('lock timeout', async () => {
    const id = await create(test.db, await newTenant(test.db));
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [id]);
    const error = await errorAfter(
      `SET LOCAL lock_timeout = '50ms'`,
      `UPDATE generation SET progress = 0 WHERE id = '${id}'`,
    );
    await client.query('ROLLBACK');
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('statement timeout', async () => {
    const error = await errorAfter(`SET LOCAL statement_timeout = '50ms'`, 'SELECT pg_sleep(5)');
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('read-only server (a standby)', async () => {
    const error = await errorAfter('SET TRANSACTION READ ONLY', 'DELETE FROM callback');
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('too many connections', async () => {
    const role = `few_${randomBytes(6).toString('hex')}`;
    await test.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT 0`);
    try {
      const url = urlWith((address) => {
        address.username = role;
        address.password = 'p';
      });
      expect(isDatabaseUnavailable(await errorAt(url))).toBe(true);
    } finally {
      await test.sql(`DROP ROLE ${role}`);
    }
  });

  it('a server that never answers, and a pool without a free connection, within about 5 s', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const busy = openDb(test.url, { poolSize: 1 });
    const startedAt = performance.now();
    // A Prisma promise begins when it is waited for.
    const sleeping = busy.prisma.$queryRawUnsafe('SELECT pg_sleep(6)::text').then(() => undefined);
    const errors = await Promise.all([
      errorAt(urlWith((url) => (url.port = String(port)))),
      errorOf(busy.prisma.$queryRawUnsafe('SELECT 1')),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    await sleeping;
    await busy.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
    expect(errors.map(isDatabaseUnavailable)).toEqual([true, true]);
  });
});

describe('isDatabaseUnavailable: false', () => {
  const cases: [string, (db: Db) => Promise<unknown>][] = [
    [
      'a CHECK violation',
      async (db) => createGeneration(db, newGeneration(await newTenant(db), { credits: 0 })),
    ],
    [
      'a refused foreign key',
      (db) =>
        db.prisma.$executeRawUnsafe(`INSERT INTO hold VALUES ('gen_x', 'acc_x', 1, 'held', 0, now(), NULL)`),
    ],
    [
      'a unique violation',
      (db) =>
        db.prisma.$executeRawUnsafe(
          `INSERT INTO ledger_account (id, name, kind) VALUES ('sys_world', 'w', 'system')`,
        ),
    ],
    [
      'a guard of a row',
      (db) =>
        db.prisma.$executeRawUnsafe(
          `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'integrity_constraint_violation'; END $$`,
        ),
    ],
    [
      'a result of another shape',
      (db) => db.call('settle', { generationId: 'none' }, z.object({ other: z.string() })),
    ],
    ['a function that is not there', (db) => db.call('no_such_function', {}, z.unknown())],
    [
      'a parameter that is no number',
      async (db) => createGeneration(db, newGeneration(await newTenant(db), { credits: 1.5 })),
    ],
  ];

  it.each(cases)('%s', async (_name, cause) => {
    expect(isDatabaseUnavailable(await errorOf(cause(test.db)))).toBe(false);
  });

  it.each([undefined, null, 'ECONNREFUSED', 42, {}, new Error('Something else')])('%s', (value) => {
    expect(isDatabaseUnavailable(value)).toBe(false);
  });

  it('a cause that points to itself ends the search', () => {
    const error = new Error('round');
    error.cause = error;
    expect(isDatabaseUnavailable(error)).toBe(false);
    expect(isDatabaseUnavailable(new Error('outer', { cause: new Error('read ECONNRESET') }))).toBe(true);
    for (const text of [
      'connect EHOSTUNREACH 10.0.0.1:5432',
      'connect ENETUNREACH 10.0.0.1:5432',
      'getaddrinfo EAI_AGAIN db',
      'Client has encountered a connection error and is not queryable',
    ])
      expect(isDatabaseUnavailable(new Error(text)), text).toBe(true);
  });

  it('settling a generation that is not there is no error', async () => {
    expect(
      await settle(test.db, `gen_${'0'.repeat(26)}`, { state: 'failed', errorCode: 'no_output' }),
    ).toEqual({
      outcome: 'already',
      state: 'failed',
      errorCode: null,
      captured: 0,
    });
  });
});
