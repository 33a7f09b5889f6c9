import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  checkInvariants,
  claimFileRemovals,
  claimOutputs,
  deleteOutputs,
  eraseGeneration,
  finishFileRemoval,
  loadGeneration,
  openDb,
  pruneHistory,
  readCredits,
  recordOutput,
  refundGeneration,
  settle,
} from '../../src/db/index.ts';
import type { Db } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { createTestDatabase } from '../support/stack.ts';
import type { TestDatabase } from '../support/stack.ts';
import { newGeneration, observe } from './fixtures.ts';
import { apply } from './versions.ts';

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

const submissionOf = (id: string) => `sub_${id.slice(4)}_1`;

async function claim(id: string, leaseMs: number): Promise<void> {
  await call('claim_submission', {
    generationId: id,
    ordinal: 1,
    routeIndex: 0,
    submissionId: submissionOf(id),
    provider: 'infro',
    credential: 'default',
    idempotencyKey: id,
    request: { method: 'POST', path: '/', contentType: 'x', body: '{}' },
    callbackBase: null,
    callbackKeyId: null,
    leaseMs,
    minimumRunwayMs: 0,
    replay: true,
    replayWindowMs: 1,
  });
}

/**
 * What a person had ended after the lease of its submit, by what its worker told of that submit later, and how it is found
 * after the upgrade: until then nobody looked for its job.
 */
const LEFT = [
  { told: null, days: 0, finds: { state: 'unknown', due: true } },
  { told: 'unknown', days: 0, finds: { state: 'unknown', due: true } },
  { told: 'capacity', days: 0, finds: { state: 'abandoned', due: null } },
  // Longer ago than any look is planned.
  { told: 'unknown', days: 3, finds: { state: 'unknown', due: null } },
] as const;

async function endByHand(id: string, { told, days }: (typeof LEFT)[number]): Promise<string> {
  await claim(id, 0);
  const end = { state: 'failed', errorCode: 'provider_failed', reason: 'r', actor: 'a' };
  expect(await call('resolve_generation', { generationId: id, ...end })).toMatchObject({
    outcome: 'resolved',
  });
  if (told !== null) {
    const answer = { submissionId: submissionOf(id), fence: 1, kind: told, problem: told, retryInMs: 0 };
    expect(await call('record_submission', answer)).toMatchObject({ outcome: 'recorded' });
  }
  await client.query(`BEGIN; SET LOCAL session_replication_role = replica;
    UPDATE generation SET completed_at = completed_at - interval '${days} days' WHERE id = '${id}'; COMMIT`);
  return id;
}

async function accept(id: string): Promise<void> {
  await claim(id, 40_000);
  await call('record_submission', {
    submissionId: submissionOf(id),
    kind: 'accepted',
    jobId: id,
    handle: { jobId: id },
    providerStatus: 'q',
    dueInMs: 1,
  });
}

async function succeed(id: string, cost: string | null): Promise<void> {
  await call('record_observation', {
    submissionId: submissionOf(id),
    by: 'poll',
    kind: 'succeeded',
    status: 's',
    outputCount: 1,
    storeForMs: 100_000,
    linkInMs: null,
    // Over at once, so that the next attempt need not wait.
    storeLeaseMs: 0,
    dueInMs: 1,
    cost: cost === null ? null : { amount: cost, unit: 'USD', final: false },
  });
}

const outputOf = (id: string, attempt: number) =>
  ({
    generationId: id,
    index: 0,
    attempt,
    result: 'stored',
    path: `${id}/0-${attempt}`,
    bytes: 5,
    sha256: 'ab'.repeat(32),
    mediaType: 'video/mp4',
    retentionMs: 30 * 86_400_000,
  }) as const;

/** Kept for a moment only, so that its time is over after the upgrade. */
async function storeOutput(id: string): Promise<void> {
  await call('record_output', { ...outputOf(id, 1), retentionMs: 1 });
}

async function callBack(submissionId: string | null, eventKey: string): Promise<void> {
  const facts = { provider: 'infro', credential: 'default', type: 't', terminal: false, progress: null };
  await client.query('SELECT record_callback($1::jsonb, $2::bytea)', [
    JSON.stringify({ ...facts, submissionId, eventKey, jobId: submissionId === null ? 'nobody' : null }),
    Buffer.from('{}'),
  ]);
}

it('a database of version 0.1 with money in it goes on under every later version', async () => {
  await apply(client, '0.1');
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
  const [settled, underWay, queued] = [await create(), await create(), await create()];
  await accept(settled);
  await succeed(settled, '0.25');
  await storeOutput(settled);
  await call('settle', { generationId: settled, state: 'succeeded', errorCode: null });
  await accept(underWay);
  await succeed(underWay, null);
  await storeOutput(underWay);

  await apply(client, '0.2');

  const credits = () => readCredits(db, tenant.id, 'default');
  const ofAll = (available: number, held: number, spent: number) => ({
    available,
    held,
    spent,
    granted: 1_000,
  });
  expect(await credits()).toEqual(ofAll(700, 200, 100));
  const { rows } = await client.query<{ cost: string }>(
    `SELECT trim_scale(cost_amount) || ' ' || cost_unit || ' by ' || cost_source AS cost FROM submission WHERE generation_id = $1`,
    [settled],
  );
  expect(rows).toEqual([{ cost: '0.25 USD by observation' }]);
  const refund = { generationId: settled, credits: 40, reason: 'late', note: null, actor: 'test' };
  expect(await call('refund_generation', refund)).toMatchObject({ outcome: 'refunded', credits: 40 });
  const [running, storing] = [await create(), await create()];
  for (const id of [running, storing]) await accept(id);
  await succeed(storing, null);
  await callBack(submissionOf(running), 'its own');
  await callBack(null, 'of nobody');
  await client.query(`UPDATE callback SET received_at = now() - interval '8 days'`);

  await apply(client, '0.3');

  const sound = async () => (await checkInvariants(db)).filter(({ violations }) => violations > 0);
  expect(await sound()).toEqual([]);
  expect(await credits()).toEqual(ofAll(540, 400, 60));
  const found = await loadGeneration(db, { generationId: queued, dueInMs: 1_000 });
  expect(found?.generation.plan.routes).toHaveLength(1);

  const succeeded = { state: 'succeeded', errorCode: null } as const;
  expect(await settle(db, underWay, succeeded)).toMatchObject({ outcome: 'settled', captured: 100 });
  const { attempts } = await observe(db, running, 'succeeded');
  expect(attempts).toEqual([{ index: 0, attempt: 1 }]);
  expect(await claimOutputs(db, { generationId: storing, storeLeaseMs: 60_000 })).toEqual([
    { index: 0, attempt: 2 },
  ]);
  for (const [id, attempt] of [
    [running, 1],
    [storing, 2],
  ] as const) {
    await recordOutput(db, { ...outputOf(id, attempt), width: 1, height: 1, durationSeconds: 1 });
    expect(await settle(db, id, succeeded)).toMatchObject({ outcome: 'settled', captured: 100 });
  }
  expect(await refundGeneration(db, { ...refund, credits: null, reason: 'more' })).toMatchObject({
    outcome: 'refunded',
    credits: 60,
  });
  expect(await credits()).toEqual(ofAll(600, 100, 300));

  expect(await deleteOutputs(db, { generationId: running, tenantId: tenant.id })).toEqual({
    outcome: 'deleting',
    count: 1,
  });
  // Those of version 0.1, whose second is over, and the one that was just deleted.
  const removals = await claimFileRemovals(db, { limit: 10, leaseMs: 60_000 });
  expect(removals.map(({ path }) => path).toSorted()).toEqual(
    [settled, underWay, running].map((id) => `${id}/0-1`).toSorted(),
  );
  for (const file of removals) await finishFileRemoval(db, file);
  expect(await eraseGeneration(db, { generationId: settled, tenantId: tenant.id })).toEqual({
    outcome: 'erased',
  });
  const DAY_MS = 86_400_000;
  expect(await pruneHistory(db, { keepMs: 30 * DAY_MS, unmatchedKeepMs: 7 * DAY_MS, limit: 100 })).toEqual({
    callbacks: 1,
    events: 0,
    webhooks: 0,
    more: false,
  });
  expect(await sound()).toEqual([]);
  const left = new Map<string, (typeof LEFT)[number]>();
  for (const row of LEFT) left.set(await endByHand(await create(), row), row);

  await apply(client, 'later');

  expect(await sound()).toEqual([]);
  for (const [id, { finds }] of left) {
    const stands = await client.query<{ state: string; due: boolean | null }>(
      `SELECT s.state, s.late_due_at = g.completed_at + interval '1 hour' AS due
       FROM submission s JOIN generation g ON g.id = s.generation_id WHERE g.id = $1`,
      [id],
    );
    expect(stands.rows).toEqual([finds]);
  }

  const last = await create();
  await accept(last);
  await succeed(last, null);
  await storeOutput(last);
  expect(await settle(db, last, succeeded)).toMatchObject({
    outcome: 'settled',
    times: { provider: 'infro', sinceCallbackMs: null, sinceSuccessMs: expect.any(Number) as number },
  });
  expect(await sound()).toEqual([]);
});
