import { Gauge, Registry } from 'prom-client';
import { readWebhookStates } from '../db/webhook-states.ts';
import type { Db } from '../db/index.ts';
import { createFreshReading } from './fresh-reading.ts';
import type { DatabaseGauges } from './provider-gauges.ts';

/**
 * How the deliveries to tenants stand in the database; no values while it cannot be read.
 * @param nowMs a clock that only goes forward
 */
export function createWebhookGauges(db: Db, nowMs: () => number = () => performance.now()): DatabaseGauges {
  const registry = new Registry();
  const deliveries = new Gauge({
    name: 'darkroom_webhook_deliveries',
    help: 'Webhooks to tenants that wait for their next attempt (pending), for their disabled endpoint (held), or were given up (failed).',
    labelNames: ['state'],
    registers: [registry],
  });
  const oldestDue = new Gauge({
    name: 'darkroom_webhook_oldest_due_seconds',
    help: 'For how long the oldest webhook has been due that no worker takes; 0 when there is none. Receivers that fail do not count.',
    registers: [registry],
  });
  const read = createFreshReading(() => readWebhookStates(db), nowMs);
  return {
    registry,
    async refresh() {
      const states = await read();
      deliveries.reset();
      oldestDue.reset();
      if (states === null) {
        oldestDue.remove();
        return;
      }
      deliveries.set({ state: 'pending' }, states.pending);
      deliveries.set({ state: 'held' }, states.held);
      deliveries.set({ state: 'failed' }, states.failed);
      oldestDue.set(states.oldestDueSeconds);
    },
  };
}
