import { describe, expect, it } from 'vitest';
import { claimDeliveries } from '../../src/db/index.ts';
import { workerMetrics } from '../../src/metrics/index.ts';
import { createWebhookGauges } from '../../src/metrics/webhook-gauges.ts';
import { countWebhookAttempt } from '../../src/metrics/webhook-metrics.ts';
import { stubDb } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant } from '../db/fixtures.ts';
import { cancelled, endpointAt } from '../support/webhooks.ts';
import { Scrape } from './samples.ts';

const database = useDatabase();
const STATES = ['pending', 'held', 'failed'] as const;

const shown = () => Scrape.fresh(() => createWebhookGauges(database.db));
async function counts(): Promise<(number | undefined)[]> {
  const scrape = await shown();
  return STATES.map((state) => scrape.value('darkroom_webhook_deliveries', { state }));
}
const oldestDue = async () => (await shown()).value('darkroom_webhook_oldest_due_seconds');
const shift = (column: string, seconds: number) =>
  database.sql(
    `UPDATE webhook_delivery SET ${column} = now() + make_interval(secs => $1) WHERE state = 'pending'`,
    [seconds],
  );

describe('gauges of webhooks', () => {
  it('deliveries by what they wait for; a delivered one counts no more', async () => {
    expect(await counts()).toEqual([0, 0, 0]);
    const tenant = await newTenant(database.db);
    await endpointAt(database.db, tenant, 'https://receiver.example/');
    for (let count = 0; count < 4; count += 1) await cancelled(database.db, tenant);
    expect(await counts()).toEqual([4, 0, 0]);
    const end = (state: string, more: string) =>
      database.sql(
        `UPDATE webhook_delivery SET state = $1, next_attempt_at = NULL, attempts = 1 ${more}
         WHERE id = (SELECT min(id) FROM webhook_delivery WHERE state = 'pending')`,
        [state],
      );
    await end('failed', '');
    await end('held', '');
    await end('delivered', ', delivered_at = now()');
    expect(await counts()).toEqual([1, 1, 1]);
    await end('cancelled', '');
    expect(await counts()).toEqual([0, 1, 1]);
  });

  it('the age of the oldest that is due and that nobody works on', async () => {
    expect(await oldestDue()).toBe(0);
    const tenant = await newTenant(database.db);
    const endpoint = await endpointAt(database.db, tenant, 'https://receiver.example/');
    await cancelled(database.db, tenant);
    await cancelled(database.db, tenant);
    await shift('next_attempt_at', 60);
    expect(await oldestDue()).toBe(0);
    await shift('next_attempt_at', -91);
    const age = await oldestDue();
    expect(age).toBeGreaterThanOrEqual(90);
    expect(age).toBeLessThan(120);

    // One of the two is under way at their receiver, so that the other one waits for its turn.
    expect(await claimDeliveries(database.db, { limit: 1, perTarget: 1, leaseMs: 60_000 })).toHaveLength(1);
    expect(await oldestDue()).toBe(0);
    await shift('leased_until', -1);
    expect(await oldestDue()).toBeGreaterThanOrEqual(90);
    const open = (until: string) =>
      database.sql(`UPDATE webhook_endpoint SET open_until = now() + $2::interval WHERE id = $1`, [
        endpoint.id,
        until,
      ]);
    await open('60 seconds');
    expect(await oldestDue()).toBe(0);
    await open('-1 second');
    expect(await oldestDue()).toBeGreaterThanOrEqual(90);
  });

  it('show nothing while the database is away', async () => {
    const gauges = createWebhookGauges(stubDb().db);
    await gauges.refresh();
    expect(new Scrape(await gauges.registry.metrics()).samples).toEqual([]);
  });
});

it('attempts and disabled endpoints are counted, from 0 on', async () => {
  const { render } = workerMetrics(database.db, []);
  const before = new Scrape(await render());
  const outcomes = ['delivered', 'failed', 'gone', 'ended', 'unsent'];
  const labels = {
    name: 'darkroom_webhook_attempts_total',
    disabled: 'darkroom_webhook_endpoints_disabled_total',
  };
  for (const outcome of outcomes) expect(before.value(labels.name, { outcome })).toBeTypeOf('number');
  const http = { problem: 'http_status', disabled: null };
  countWebhookAttempt({ outcome: 'delivered', problem: null, disabled: null });
  countWebhookAttempt({ ...http, outcome: 'failed' });
  countWebhookAttempt({ ...http, outcome: 'failed', disabled: 'failing' });
  countWebhookAttempt({ ...http, outcome: 'ended' });
  countWebhookAttempt({ outcome: 'gone', problem: 'gone', disabled: 'gone' });
  countWebhookAttempt({ outcome: 'failed', problem: 'secret_unavailable', disabled: null });
  countWebhookAttempt({ outcome: 'failed', problem: 'body_unavailable', disabled: null });
  const after = new Scrape(await render());
  const grown = (name: string, label: Record<string, string>) =>
    after.value(name, label)! - before.value(name, label)!;
  expect(outcomes.map((outcome) => grown(labels.name, { outcome }))).toEqual([1, 2, 1, 1, 2]);
  expect(['gone', 'failing'].map((reason) => grown(labels.disabled, { reason }))).toEqual([1, 1]);
});
