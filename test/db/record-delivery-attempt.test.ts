import { describe, expect, it } from 'vitest';
import { deleteWebhookEndpoint, updateWebhookEndpoint } from '../../src/db/index.ts';
import type { NewEndpoint } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { untilWaiting } from './waiting.ts';
import { claimedDelivery, claimNext, deliveryOf, endpointOf, record, SCHEDULE_MS } from './webhooks.ts';

const test = useDatabase();

const claimedOnce = (over: Partial<NewEndpoint> = {}) => claimedDelivery(test, over);
const claimAgain = (deliveryId: number) => claimNext(test, deliveryId);
/** By the clock of the database. */
async function waitsMs(deliveryId: number): Promise<number> {
  const [row] = await test.sql<{ ms: number }>(
    `SELECT extract(epoch FROM d.next_attempt_at - a.at)::float8 * 1000 AS ms
     FROM webhook_delivery d JOIN webhook_attempt a ON a.delivery_id = d.id WHERE d.id = $1 ORDER BY a.attempt DESC LIMIT 1`,
    [deliveryId],
  );
  return Math.round(row!.ms);
}
const attemptsOf = (deliveryId: number) =>
  test.db.prisma.webhookAttempt.findMany({ where: { deliveryId }, orderBy: { attempt: 'asc' } });

describe('the schedule', () => {
  it('WHO-8 ten attempts with the given delays, then failed; each attempt is on record', async () => {
    const { endpoint, deliveryId } = await claimedOnce();
    const jittered = SCHEDULE_MS.map((ms) => Math.round(ms * 1.1));
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const recorded = await record(
        test.db,
        { deliveryId, attempt },
        'failed',
        { delaysMs: jittered, status: 500 + attempt },
        `answer ${attempt}`,
      );
      const state = attempt < 10 ? 'pending' : 'failed';
      expect(recorded).toEqual({ state, disabled: null, endpointId: endpoint });
      if (attempt === 10) break;
      expect(await waitsMs(deliveryId)).toBe(jittered[attempt]);
      expect(await deliveryOf(test.db, deliveryId)).toMatchObject({
        leasedUntil: null,
        lastStatus: 500 + attempt,
        lastProblem: 'http_status',
      });
      expect(await claimAgain(deliveryId)).toBe(attempt + 1);
    }
    expect(await deliveryOf(test.db, deliveryId)).toMatchObject({ attempts: 10, nextAttemptAt: null });
    const attempts = await attemptsOf(deliveryId);
    expect(attempts.map(({ attempt, status, durationMs }) => [attempt, status, durationMs])).toEqual(
      SCHEDULE_MS.map((_, i) => [i + 1, 501 + i, 12]),
    );
    expect(Buffer.from(attempts[3]!.answer).toString()).toBe('answer 4');
  });

  it.each([
    [2_000, 5_000, 'is shorter than the schedule'],
    [90_000, 90_000, 'is longer'],
  ])('WHO-6 a Retry-After of %i ms waits %i ms: it %s', async (retryAfterMs, waits) => {
    const { deliveryId } = await claimedOnce();
    await record(test.db, { deliveryId, attempt: 1 }, 'failed');
    const attempt = await claimAgain(deliveryId);
    await record(test.db, { deliveryId, attempt }, 'failed', { status: 429, retryAfterMs });
    expect(await waitsMs(deliveryId)).toBe(waits);
    await record(test.db, { deliveryId, attempt: 2 }, 'delivered');
  });

  it('an attempt without any answer has no status', async () => {
    const { deliveryId } = await claimedOnce();
    await record(test.db, { deliveryId, attempt: 1 }, 'failed', { status: null, problem: 'timeout' });
    expect(await attemptsOf(deliveryId)).toMatchObject([{ status: null, problem: 'timeout' }]);
    await record(test.db, { deliveryId, attempt: 1 }, 'delivered');
  });

  it('of an answer the first 20,000 bytes are kept, whatever they are', async () => {
    const { deliveryId } = await claimedOnce();
    const answer = Buffer.alloc(50_000, Buffer.from([0, 255, 10]));
    await record(test.db, { deliveryId, attempt: 1 }, 'delivered', {}, answer);
    const [attempt] = await attemptsOf(deliveryId);
    expect(Buffer.from(attempt!.answer).equals(answer.subarray(0, 20_000))).toBe(true);
  });
});

describe('attempts that overtake each other', () => {
  it('WHO-9 a late success counts, also after a newer claim; the newer one changes nothing any more', async () => {
    const { endpoint, deliveryId } = await claimedOnce();
    const second = await claimAgain(deliveryId);
    expect(await record(test.db, { deliveryId, attempt: 1 }, 'delivered')).toMatchObject({
      state: 'delivered',
    });
    const { deliveredAt } = await deliveryOf(test.db, deliveryId);
    expect(await record(test.db, { deliveryId, attempt: second }, 'failed')).toMatchObject({
      state: 'delivered',
      disabled: null,
    });
    expect(await deliveryOf(test.db, deliveryId)).toMatchObject({
      state: 'delivered',
      deliveredAt,
      lastStatus: 204,
      nextAttemptAt: null,
      leasedUntil: null,
    });
    expect(await attemptsOf(deliveryId)).toHaveLength(2);
    expect((await endpointOf(test.db, endpoint)).failures).toBe(1);
  });

  it('a stale failure changes nothing but the record of attempts', async () => {
    const { endpoint, deliveryId } = await claimedOnce();
    await claimAgain(deliveryId);
    const before = [await deliveryOf(test.db, deliveryId), await endpointOf(test.db, endpoint)];
    for (const outcome of ['failed', 'gone', 'ended'] as const) {
      const over = { disableAfterMs: 0 };
      const recorded = await record(test.db, { deliveryId, attempt: 1 }, outcome, over);
      expect(recorded).toEqual({ state: 'pending', disabled: null, endpointId: endpoint });
    }
    expect([await deliveryOf(test.db, deliveryId), await endpointOf(test.db, endpoint)]).toEqual(before);
    expect(await attemptsOf(deliveryId)).toMatchObject([{ attempt: 1, status: 500 }]);
    await record(test.db, { deliveryId, attempt: 2 }, 'delivered');
  });

  it('a success after the last failure, or after its endpoint was disabled or deleted, counts', async () => {
    const failed = await claimedOnce();
    await record(test.db, { deliveryId: failed.deliveryId, attempt: 1 }, 'failed', { delaysMs: [0] });
    const disabled = await claimedOnce();
    await updateWebhookEndpoint(test.db, {
      endpointId: disabled.endpoint,
      tenantId: disabled.tenant.id,
      enabled: false,
    });
    const deleted = await claimedOnce();
    await deleteWebhookEndpoint(test.db, { endpointId: deleted.endpoint, tenantId: deleted.tenant.id });
    for (const [{ deliveryId }, state] of [
      [failed, 'failed'],
      [disabled, 'held'],
      [deleted, 'cancelled'],
    ] as const) {
      expect(await deliveryOf(test.db, deliveryId)).toMatchObject({ state });
      await record(test.db, { deliveryId, attempt: 1 }, 'delivered');
      expect(await deliveryOf(test.db, deliveryId)).toMatchObject({ state: 'delivered' });
    }
  });

  it('a failure after its endpoint was disabled leaves it held', async () => {
    const { tenant, endpoint, deliveryId } = await claimedOnce();
    await updateWebhookEndpoint(test.db, { endpointId: endpoint, tenantId: tenant.id, enabled: false });
    const recorded = await record(test.db, { deliveryId, attempt: 1 }, 'gone');
    expect(recorded).toEqual({ state: 'held', disabled: null, endpointId: endpoint });
    expect(await endpointOf(test.db, endpoint)).toMatchObject({ disabledReason: 'tenant' });
  });

  it('a failure in the very moment in which its endpoint is disabled says nothing more against it', async () => {
    const { tenant, endpoint, deliveryId } = await claimedOnce();
    const client = await test.connect();
    await client.query('BEGIN');
    const off = { endpointId: endpoint, tenantId: tenant.id, enabled: false };
    await client.query('SELECT update_webhook_endpoint($1::jsonb)', [JSON.stringify(off)]);
    const recording = record(test.db, { deliveryId, attempt: 1 }, 'gone');
    await untilWaiting(test, 1);
    await client.query('COMMIT');
    expect(await recording).toEqual({ state: 'held', disabled: null, endpointId: endpoint });
    expect(await endpointOf(test.db, endpoint)).toMatchObject({ failures: 0, disabledReason: 'tenant' });
  });

  it('one whose row was pruned meanwhile is answered as cancelled', async () => {
    const recorded = await record(test.db, { deliveryId: 999_999_999, attempt: 1 }, 'delivered');
    expect(recorded).toEqual({ state: 'cancelled', disabled: null, endpointId: null });
  });
});
