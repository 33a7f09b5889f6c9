import { onTestFinished, vi } from 'vitest';
import { updateWebhookEndpoint } from '../../src/db/index.ts';
import type { TestDb } from '../db/database.ts';
import { newTenant, type Tenant } from '../db/fixtures.ts';
import { Receiver } from '../support/receiver.ts';
import { attempt, deliveryContext, endpointAt } from '../support/webhooks.ts';
import { commandsOn, jsonOf } from './run.ts';

/** In each address of a tenant and each answer of a receiver: no command may print it. */
export const CANARY = 'canary4711';

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

/** `darkroom webhook …` on this database, with real receivers. */
export function webhookCommands(test: TestDb) {
  const command = commandsOn({ databaseUrl: () => test.url });
  const darkroom = (...args: string[]) => {
    vi.stubEnv('TEMPORAL_UI_URL', 'http://ui.test');
    return command('webhook', ...args);
  };
  const list = async (...args: string[]) => jsonOf(await darkroom(...args, '--json')) as Row[];
  const setEnabled = (tenant: Tenant, endpointId: string, enabled: boolean) =>
    updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled });
  /** The delivery of this generation to this endpoint; null = to its callback_url. */
  const deliveryTo = async (endpoint: { readonly id: string } | null, generation: string) => {
    const rows = await list('deliveries', '--generation', generation);
    const row = rows.find((one) => one['endpoint_id'] === (endpoint?.id ?? null));
    return row!.id;
  };

  /** A tenant whose receiver takes everything at /good and nothing at /bad. */
  async function scene() {
    const receiver = await Receiver.start();
    onTestFinished(() => receiver.close());
    receiver.answer = ({ path }) =>
      path.startsWith('/bad') ? (response) => void response.writeHead(500).end(CANARY) : 204;
    const tenant = await newTenant(test.db);
    const at = (path: string) => `${receiver.url}/${path}?token=${CANARY}`;
    const good = await endpointAt(test.db, tenant, at('good'));
    const bad = await endpointAt(test.db, tenant, at('bad'));
    const ctx = deliveryContext(test.db, [receiver.port]);
    /** One attempt at each of `count` that are due; none of them is made again in the time of a test. */
    const deliver = (count: number, retries = false) =>
      attempt(ctx, tenant, { scheduleMs: retries ? [0, 3_600_000] : [0] }, count);
    return { receiver, tenant, good, bad, at, deliver };
  }
  return { darkroom, list, setEnabled, deliveryTo, scene };
}
