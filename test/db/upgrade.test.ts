import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  checkInvariants,
  loadGeneration,
  openDb,
  readCredits,
  refundGeneration,
  settle,
} from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { createTestDatabase } from '../support/stack.ts';
import type { TestDatabase } from '../support/stack.ts';
import { newGeneration } from './fixtures.ts';

const FOLDER = new URL('../../prisma/migrations/', import.meta.url);
const VERSION_0_1 = ['20261129100000_tables', '20261129100100_functions'];
const VERSION_0_2 = [
  '20261129200000_money_tables',
  '20261129200050_routing_tables',
  '20261129200100_money_functions',
];

let database: TestDatabase;
let client: pg.Client;
let db: Db;
const name = `upgrade_${process.pid}`;
let admin: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  client = new pg.Client({ connectionString: url.href, options: '-c TimeZone=UTC' });
  await client.connect();
  db = openDb(url.href, { poolSize: 2 });
});
afterAll(async () => {
  await db.close();
  await client.end();
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
  await database.drop();
});

async function apply(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    await client.query(await readFile(new URL(`${folder}/migration.sql`, FOLDER), 'utf8'));
  }
}

async function call(fn: string, params: object): Promise<Record<string, unknown>> {
  const { rows } = await client.query<{ result: Record<string, unknown> }>(
    `SELECT ${fn}($1::jsonb) AS result`,
    [JSON.stringify(params)],
  );
  return rows[0]!.result;
}

/** What version 0.1 froze: no price of one output, no params, no costs. */
const OLD_PLAN = {
  method: 'text-to-video',
  routes: [{ provider: 'infro', providerModel: 'm-video', callbacks: true }],
  timings: {},
  expectedDurationSeconds: 60,
  outputs: { count: 1, mediaTypes: ['video/mp4'], maxBytes: 1_000_000 },
  creditsTotal: 100,
};

it('a database of version 0.1 with money in it goes on under version 0.2', async () => {
  await apply(VERSION_0_1);
  const tenant = { id: newId('ten'), accountId: newId('acc') };
  await client.query(`INSERT INTO tenant (id, name) VALUES ($1, 'old')`, [tenant.id]);
  const grant = {
    tenantId: tenant.id,
    account: 'default',
    accountId: tenant.accountId,
    reason: 'r',
    actor: 'a',
  };
  await call('grant_credits', { ...grant, credits: 1_000, businessKey: 'one' });
  const create = async () => {
    const generation = { ...newGeneration(tenant), plan: OLD_PLAN, credits: 100 };
    expect(await call('create_generation', generation)).toMatchObject({ outcome: 'created' });
    return generation.generationId;
  };
  const accept = async (id: string, cost: string | null) => {
    const submissionId = `sub_${id.slice(4)}_1`;
    await call('claim_submission', {
      generationId: id,
      ordinal: 1,
      routeIndex: 0,
      submissionId,
      provider: 'infro',
      credential: 'default',
      idempotencyKey: id,
      request: { method: 'POST', path: '/', contentType: 'x', body: '{}' },
      callbackBase: null,
      callbackKeyId: null,
      leaseMs: 40_000,
      minimumRunwayMs: 0,
      replay: true,
      replayWindowMs: 1,
    });
    await call('record_submission', {
      submissionId,
      kind: 'accepted',
      jobId: id,
      handle: { jobId: id },
      providerStatus: 'q',
      dueInMs: 1,
    });
    await call('record_observation', {
      submissionId,
      by: 'poll',
      kind: 'succeeded',
      status: 's',
      outputCount: 1,
      storeForMs: 100_000,
      linkInMs: null,
      storeLeaseMs: 1_000,
      dueInMs: 1,
      cost: cost === null ? null : { amount: cost, unit: 'USD', final: false },
    });
    await call('record_output', {
      generationId: id,
      index: 0,
      attempt: 1,
      result: 'stored',
      path: `${id}/0-1`,
      bytes: 5,
      sha256: 'ab'.repeat(32),
      mediaType: 'video/mp4',
      retentionMs: 1_000,
    });
  };
  const [settled, underWay, queued] = [await create(), await create(), await create()];
  await accept(settled, '0.25');
  await call('settle', { generationId: settled, state: 'succeeded', errorCode: null });
  await accept(underWay, null);

  await apply(VERSION_0_2);

  const sound = async () => (await checkInvariants(db)).filter(({ violations }) => violations > 0);
  expect(await sound()).toEqual([]);
  expect(await readCredits(db, tenant.id, 'default')).toEqual({
    available: 700,
    held: 200,
    spent: 100,
    granted: 1_000,
  });
  const [submission] = await db.prisma.submission.findMany({ where: { generationId: settled } });
  expect([submission?.costAmount?.toString(), submission?.costUnit, submission?.costSource]).toEqual([
    '0.25',
    'USD',
    'observation',
  ]);
  expect(
    (await loadGeneration(db, { generationId: queued, dueInMs: 1_000 }))?.generation.plan.routes,
  ).toHaveLength(1);
  expect(await settle(db, underWay, { state: 'succeeded', errorCode: null })).toMatchObject({
    outcome: 'settled',
    captured: 100,
  });
  const refund = { generationId: settled, credits: null, reason: 'late', note: null, actor: 'test' };
  expect(await refundGeneration(db, refund)).toMatchObject({ outcome: 'refunded', credits: 100 });
  expect(await readCredits(db, tenant.id, 'default')).toEqual({
    available: 800,
    held: 100,
    spent: 100,
    granted: 1_000,
  });
  expect(await sound()).toEqual([]);
});
