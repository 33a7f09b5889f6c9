import { describe, expect, it } from 'vitest';
import {
  pruneHistory,
  readEvents,
  redeliverWebhooks,
  settle,
  updateWebhookEndpoint,
} from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { accepted, newTenant, receive } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { DAY_MS } from './inputs.ts';
import { captured, failedAtProvider, FAILED } from './money.ts';
import {
  CALLBACK_URL,
  claim,
  claimOne,
  deliveriesOf,
  endedGeneration,
  newEndpoint,
  record,
} from './webhooks.ts';
import { untilWaiting } from './waiting.ts';

const test = useDatabase();
const prune = (limit = 1_000) =>
  pruneHistory(test.db, { keepMs: 30 * DAY_MS, unmatchedKeepMs: 7 * DAY_MS, limit });
const NOTHING = { callbacks: 0, events: 0, webhooks: 0, more: false };

/** Makes everything of a tenant older, past every guard. */
async function age(tenant: Tenant, days: number): Promise<void> {
  const client = await test.connect();
  await client.query('SET session_replication_role = replica');
  const by = `- interval '${days} days'`;
  await client.query(
    `UPDATE generation SET created_at = created_at ${by}, completed_at = completed_at ${by} WHERE tenant_id = '${tenant.id}';
     UPDATE callback c SET received_at = received_at ${by} FROM submission s JOIN generation g ON g.id = s.generation_id
       WHERE s.id = c.submission_id AND g.tenant_id = '${tenant.id}';
     UPDATE webhook_event SET created_at = created_at ${by} WHERE tenant_id = '${tenant.id}';
     UPDATE webhook_delivery SET created_at = created_at ${by} WHERE tenant_id = '${tenant.id}'`,
  );
  await client.end();
}
const callbacksOf = (generationId: string) =>
  test.db.prisma.callback.count({ where: { submissionId: submissionId(generationId, 1) } });
const eventsOf = async (generationId: string) =>
  (await test.db.prisma.generationEvent.findMany({ where: { generationId }, orderBy: { seq: 'asc' } })).map(
    ({ type }) => type,
  );

/** Failed at the provider, after a callback. */
async function ended(tenant: Tenant): Promise<string> {
  const id = await failedAtProvider(test.db, tenant);
  await receive(test.db, { submissionId: submissionId(id, 1), progress: 0.5 });
  await settle(test.db, id, FAILED);
  return id;
}

describe('events and callbacks of a generation', () => {
  it('go when it ended 30 days ago; the last event stays, readable as before', async () => {
    const [old, young] = [await newTenant(test.db), await newTenant(test.db)];
    const [id, kept] = [await ended(old), await ended(young)];
    const count = (await eventsOf(id)).length;
    await age(old, 30);
    await age(young, 29);
    expect(await prune()).toEqual({ callbacks: 1, events: count - 1, webhooks: 0, more: false });
    expect([await eventsOf(id), await callbacksOf(id)]).toEqual([['terminal'], 0]);
    expect([(await eventsOf(kept)).length, await callbacksOf(kept)]).toEqual([count, 1]);
    const { eventSeq, eventsPrunedAt } = await test.db.prisma.generation.findUniqueOrThrow({ where: { id } });
    expect([eventSeq, eventsPrunedAt]).toEqual([count, expect.any(Date)]);
    expect(
      await readEvents(test.db, { generationId: id, tenantId: old.id, after: 0, limit: 10 }),
    ).toMatchObject([{ seq: count, type: 'terminal' }]);
    expect(await prune()).toEqual(NOTHING);
    await age(young, 1);
    await prune();
    expect(await eventsOf(kept)).toEqual(['terminal']);
  });

  it('stay while it runs, however old', async () => {
    const tenant = await newTenant(test.db);
    const id = await accepted(test.db, tenant);
    await receive(test.db, { submissionId: submissionId(id, 1), progress: 0.5 });
    await age(tenant, 400);
    expect(await prune()).toEqual(NOTHING);
    expect([(await eventsOf(id)).length, await callbacksOf(id)]).toEqual([4, 1]);
  });

  it('a callback that came long after the end has its own 30 days', async () => {
    const tenant = await newTenant(test.db);
    const id = await ended(tenant);
    await age(tenant, 40);
    await receive(test.db, { submissionId: submissionId(id, 1), terminal: true });
    expect(await prune()).toMatchObject({ callbacks: 1 });
    expect(await callbacksOf(id)).toBe(1);
  });

  it('no event can be removed or changed in any other way', async () => {
    const tenant = await newTenant(test.db);
    const [pruned, kept] = [await ended(tenant), await ended(tenant)];
    await age(tenant, 31);
    await prune(1);
    const [first, second] = (await eventsOf(pruned)).length === 1 ? [pruned, kept] : [kept, pruned];
    for (const [id, type] of [
      [first, 'terminal'],
      [second, 'created'],
    ]) {
      await expect(
        test.sql('DELETE FROM generation_event WHERE generation_id = $1 AND type = $2', [id, type]),
      ).rejects.toThrow(/append-only/);
    }
    await expect(
      test.sql(`UPDATE generation_event SET data = '{}' WHERE generation_id = $1`, [first]),
    ).rejects.toThrow(/append-only/);
    await prune();
  });
});

describe('callbacks that nobody knows', () => {
  it('go after 7 days', async () => {
    for (const jobId of ['nobody-1', 'nobody-2']) await receive(test.db, { submissionId: null, jobId });
    const older = (jobId: string, by: string) =>
      test.sql('UPDATE callback SET received_at = now() - $2::interval WHERE provider_job_id = $1', [
        jobId,
        by,
      ]);
    await older('nobody-1', '7 days 1 second');
    await older('nobody-2', '6 days 23 hours');
    expect(await prune()).toEqual({ ...NOTHING, callbacks: 1 });
    await older('nobody-2', '8 days');
    expect(await prune()).toEqual({ ...NOTHING, callbacks: 1 });
  });
});

describe('webhooks', () => {
  it('go with deliveries and attempts after 30 days, whatever became of them, but not while one waits', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    await record(test.db, await claimOne(test.db), 'delivered', {}, 'thank you');
    await endedGeneration(test.db, tenant, { callbackUrl: CALLBACK_URL });
    const claimed = await claim(test.db);
    const [mine, theirs] = [true, false].map((isUrl) =>
      claimed.find((one) => (one.endpointId === null) === isUrl)!,
    );
    await record(test.db, theirs!, 'failed', { delaysMs: [0] });
    await record(test.db, mine!, 'failed', { retryAfterMs: 40 * DAY_MS });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled: false });
    await endedGeneration(test.db, tenant);
    const states = async () => tally((await deliveriesOf(test.db, tenant)).map(({ state }) => state));
    await age(tenant, 29);
    expect(await prune()).toMatchObject({ webhooks: 0 });
    await age(tenant, 1);
    // Delivered, and held; not the two of the event that still waits for one of its receivers.
    expect(await prune()).toMatchObject({ webhooks: 2 });
    expect([await states(), await test.db.prisma.webhookAttempt.count()]).toEqual([
      { failed: 1, pending: 1 },
      2,
    ]);
    await test.sql(
      `UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL WHERE state = 'pending'`,
    );
    await prune();
    expect([await states(), await test.db.prisma.webhookEvent.count()]).toEqual([{}, 0]);
  });

  it('one that is asked for again in this very moment stays', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const { deliveryId } = await claimOne(test.db);
    await record(test.db, { deliveryId, attempt: 1 }, 'delivered');
    await age(tenant, 31);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT redeliver_webhooks($1::jsonb)', [
      JSON.stringify({ tenantId: tenant.id, deliveryId }),
    ]);
    const pruning = prune();
    await untilWaiting(test, 1);
    await client.query('COMMIT');
    expect(await pruning).toMatchObject({ webhooks: 0 });
    await record(test.db, await claimOne(test.db), 'delivered');
    expect(await redeliverWebhooks(test.db, { tenantId: tenant.id, deliveryId })).toMatchObject({ count: 1 });
    await record(test.db, await claimOne(test.db), 'delivered');
    expect(await prune()).toMatchObject({ webhooks: 1 });
  });
});

describe('one pass', () => {
  it('is bounded, says whether there is more, and leaves every invariant as it was', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant, { types: ['generation.failed', 'generation.succeeded'] });
    for (let i = 0; i < 4; i += 1) await ended(tenant);
    await captured(test.db, tenant);
    for (const delivery of await claim(test.db, { perTarget: 9 }))
      await record(test.db, delivery, 'delivered');
    await age(tenant, 60);
    const passes = [];
    for (let more = true; more;) {
      const pass = await prune(2);
      passes.push([pass.callbacks, pass.webhooks, pass.more]);
      more = pass.more;
    }
    expect(passes).toEqual([
      [2, 2, true],
      [2, 2, true],
      [0, 1, false],
    ]);
  });

  it('one process prunes at a time; the others leave it at once', async () => {
    const tenant = await newTenant(test.db);
    await ended(tenant);
    await age(tenant, 31);
    const client = await test.connect();
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('darkroom_prune'))`);
    expect(await prune()).toEqual(NOTHING);
    await client.query('COMMIT');
    expect(await prune()).toMatchObject({ callbacks: 1 });
  });
});
