import { describe, expect, it, onTestFinished } from 'vitest';
import { testKeyring } from '../api/api.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant } from '../db/fixtures.ts';
import { Receiver, verifiedEvent } from '../support/receiver.ts';
import { attempt, cancelled, deliveryContext, endpointAt, KEYRING, newSecret } from '../support/webhooks.ts';

const test = useDatabase();
const AT_ONCE = { scheduleMs: [0, 0, 0, 0] };
const NEW_RING = testKeyring('k2', 2);
const BOTH = { keys: [...NEW_RING.keys, ...KEYRING.keys] } as const;

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('a secret whose key has left the ring', () => {
  it('nothing is sent, the attempt says why; delivered when the key is back', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { secret } = await endpointAt(test.db, tenant, receiver.url);
    await cancelled(test.db, tenant);
    const without = deliveryContext(test.db, [receiver.port], { keyring: NEW_RING });
    const [report] = await attempt(without, tenant, AT_ONCE);
    expect(report).toMatchObject({
      outcome: 'failed',
      status: null,
      problem: 'secret_unavailable',
      state: 'pending',
      secretsLost: 1,
    });
    expect(receiver.received).toEqual([]);
    const withBoth = deliveryContext(test.db, [receiver.port], { keyring: { keys: BOTH.keys } });
    expect((await attempt(withBoth, tenant, AT_ONCE))[0]).toMatchObject({
      state: 'delivered',
      secretsLost: 0,
    });
    expect(verifiedEvent(receiver.received[0]!, secret).type).toBe('generation.cancelled');
  });

  it('beside one that can be opened: that one signs, and the loss is told', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { id } = await endpointAt(test.db, tenant, receiver.url);
    const fresh = await newSecret(test.db, tenant, id, { keyring: NEW_RING });
    await cancelled(test.db, tenant);
    const ctx = deliveryContext(test.db, [receiver.port], { keyring: NEW_RING });
    expect((await attempt(ctx, tenant))[0]).toMatchObject({ state: 'delivered', secretsLost: 1 });
    const [received] = receiver.received;
    expect(verifiedEvent(received!, fresh).type).toBe('generation.cancelled');
    expect(String(received!.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  it('a callback_url of a tenant without a default secret is not called unsigned', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await cancelled(test.db, tenant, { callbackUrl: receiver.url });
    const ctx = deliveryContext(test.db, [receiver.port]);
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({
      problem: 'secret_unavailable',
      state: 'pending',
      secretsLost: 0,
    });
    const secret = await newSecret(test.db, tenant, null);
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ state: 'delivered' });
    expect(receiver.received.map((received) => verifiedEvent(received, secret).type)).toEqual([
      'generation.cancelled',
    ]);
  });
});

it('an event whose body can not be made is told as such, and holds up no other', async () => {
  const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
  await endpointAt(test.db, tenant, receiver.url);
  const [broken, good] = [await cancelled(test.db, tenant), await cancelled(test.db, tenant)];
  await test.sql(`UPDATE webhook_event SET generation_id = NULL WHERE generation_id = $1`, [broken]);
  const reports = await attempt(deliveryContext(test.db, [receiver.port]), tenant, {}, 2);
  expect(reports.map(({ problem, state }) => `${problem} ${state}`).toSorted()).toEqual([
    'body_unavailable pending',
    'null delivered',
  ]);
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([
    `evt_${good.slice(4)}_cancelled`,
  ]);
});

it('one event, many receivers: all get the same bytes', async () => {
  const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
  const paths = Array.from({ length: 8 }, (_, index) => `/${index}`);
  for (const path of paths) await endpointAt(test.db, tenant, receiver.url + path);
  await cancelled(test.db, tenant);
  await attempt(deliveryContext(test.db, [receiver.port]), tenant, {}, 8);
  expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(paths);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-signature'])).size).toBe(8);
});
