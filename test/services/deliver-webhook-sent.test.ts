import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refundGeneration, requestCancel, settle } from '../../src/db/index.ts';
import { createFileLinks } from '../../src/domain/file-links.ts';
import { getGeneration } from '../../src/services/get-generation.ts';
import { callRaw, useDatabase } from '../db/database.ts';
import { newTenant, store, storing } from '../db/fixtures.ts';
import { Receiver, verifiedEvent } from '../support/receiver.ts';
import {
  attempt,
  cancelled,
  claimOf,
  deliveryContext,
  endpointAt,
  KEYRING,
  newSecret,
  succeeded,
} from '../support/webhooks.ts';

const test = useDatabase();
const REFUND = { credits: 1, note: null, actor: 'test' };
/** All retries are due at once. */
const AT_ONCE = { scheduleMs: [0, 0, 0, 0] };

async function startReceiver(options: Parameters<typeof Receiver.start>[0] = {}): Promise<Receiver> {
  const receiver = await Receiver.start(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('what is sent', () => {
  it('WHO-2 the official library verifies it; the body is the event with the generation as the API shows it', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { secret } = await endpointAt(test.db, tenant, `${receiver.url}/hooks?a=1`);
    const id = await succeeded(test.db, tenant);
    const ctx = deliveryContext(test.db, [receiver.port]);
    const [report] = await attempt(ctx, tenant);
    expect(report).toMatchObject({ outcome: 'delivered', status: 204, state: 'delivered', problem: null });

    const [received] = receiver.at('/hooks?a=1');
    const event = verifiedEvent(received!, secret);
    const eventId = `evt_${id.slice(4)}_succeeded`;
    expect(event).toMatchObject({ type: 'generation.succeeded', version: 1, id: eventId });
    expect(Object.keys(event)).toEqual(['type', 'timestamp', 'version', 'id', 'data']);
    expect(received!.headers['webhook-id']).toBe(eventId);
    const shown = await getGeneration(ctx, { tenantId: tenant.id, id });
    const [output] = event.data['outputs'] as { url: string; url_expires_at: string }[];
    const links = { url: output!.url, url_expires_at: output!.url_expires_at };
    expect(event.data).toEqual({ ...shown, outputs: [{ ...shown!.outputs[0], ...links }] });
    const happened = await test.sql(
      `SELECT 1 FROM webhook_event WHERE id = $1 AND created_at = $2::timestamptz`,
      [eventId, event.timestamp],
    );
    expect(happened).toHaveLength(1);

    // The link outlives the schedule, and opens the file.
    const lifeMs = new Date(output!.url_expires_at).getTime() - Date.now();
    expect(lifeMs).toBeGreaterThan(24 * 3_600_000 - 5_000);
    const { pathname, search } = new URL(output!.url);
    const owner = { tenantId: tenant.id, linkVersions: [1] };
    const verified = createFileLinks(KEYRING, null).verify(owner, pathname, search.slice(1));
    expect(verified).toMatchObject({ verdict: 'valid' });
  });

  it('X-Webhook-Signature verifies with the text of the secret alone', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { secret } = await endpointAt(test.db, tenant, receiver.url);
    await cancelled(test.db, tenant);
    await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    const { headers, body } = receiver.received[0]!;
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-webhook-signature']))!;
    expect(t).toBe(headers['webhook-timestamp']);
    expect(v1).toBe(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'));
  });

  it('WHO-3 a retry has the same id and the same bytes, and a new timestamp, even if the generation changed', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { secret } = await endpointAt(test.db, tenant, `${receiver.url}/retry`);
    const id = await succeeded(test.db, tenant);
    receiver.answer = (_received, before) => (before < 2 ? 500 : 200);
    let now = Date.now() - 60_000;
    const ctx = deliveryContext(test.db, [receiver.port], { nowMs: () => now });
    for (const outcome of ['failed', 'failed', 'delivered']) {
      now += 20_000;
      expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ outcome });
      if (outcome === 'failed')
        await refundGeneration(test.db, { ...REFUND, generationId: id, reason: `r${now}` });
    }
    const received = receiver.at('/retry');
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const stamps = received.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(stamps).toEqual([0, 20, 40].map((after) => stamps[0]! + after));
    expect(stamps[2]).toBe(Math.floor(now / 1_000));
    expect(received.map(({ headers }) => headers['x-webhook-attempt'])).toEqual(['1', '2', '3']);
    for (const one of received)
      expect(verifiedEvent(one, secret).data['credits']).toMatchObject({ refunded: 0 });
  });

  it('WHO-4 both secrets sign while they overlap, then only the new one', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { id, secret: old } = await endpointAt(test.db, tenant, `${receiver.url}/rotated`);
    const ctx = deliveryContext(test.db, [receiver.port]);
    const fresh = await newSecret(test.db, tenant, id);
    await cancelled(test.db, tenant);
    await attempt(ctx, tenant);
    const [both] = receiver.at('/rotated');
    expect(String(both!.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(String(both!.headers['x-webhook-signature']).match(/,v1=/g)).toHaveLength(2);
    for (const secret of [old, fresh]) expect(verifiedEvent(both!, secret).type).toBe('generation.cancelled');

    await test.sql(
      `UPDATE webhook_secret SET expires_at = now() WHERE endpoint_id = $1 AND expires_at IS NOT NULL`,
      [id],
    );
    await cancelled(test.db, tenant);
    await attempt(ctx, tenant);
    const after = receiver.at('/rotated')[1]!;
    expect(verifiedEvent(after, fresh).type).toBe('generation.cancelled');
    expect(() => verifiedEvent(after, old)).toThrow(/No matching/);
    expect(String(after.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  it('WHO-12 nothing that a tenant wrote becomes a header', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const evil = 'x\r\nwebhook-id: forged\r\nhost: evil.example';
    const url = `${receiver.url}/headers`;
    await endpointAt(test.db, tenant, url, { description: evil });
    const id = await cancelled(test.db, tenant, { input: { prompt: evil }, metadata: { [evil]: evil } });
    await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    const [{ rawHeaders, headers } = { rawHeaders: [], headers: {} }] = receiver.at('/headers');
    const names = rawHeaders.filter((_text, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names.toSorted()).toEqual([
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-webhook-attempt',
      'x-webhook-signature',
    ]);
    expect(headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'application/json',
      'user-agent': 'Darkroom/0.0.0',
      'webhook-id': `evt_${id.slice(4)}_cancelled`,
    });
    // A signature is random text, which may spell anything.
    const plain = Object.entries(headers).filter(([name]) => !name.endsWith('-signature'));
    expect(JSON.stringify(plain)).not.toMatch(/evil|forged/);
  });

  it('an input that would make it more than 20 kB is left out, and the body says so', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const { secret } = await endpointAt(test.db, tenant, receiver.url);
    const id = await cancelled(test.db, tenant, { input: { prompt: 'ż'.repeat(50_000) } });
    await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    const { data } = verifiedEvent(receiver.received[0]!, secret);
    expect(data).toMatchObject({ id, state: 'cancelled', input_omitted: true });
    expect(data).not.toHaveProperty('input');
    expect(Buffer.byteLength(receiver.received[0]!.body)).toBeLessThan(20_000);
  });

  it('the callback_url of a generation hears of its end, signed with the default secret of the tenant', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    const secret = await newSecret(test.db, tenant, null);
    const callbackUrl = `${receiver.url}/callback?order=A-1`;
    const id = await cancelled(test.db, tenant, { callbackUrl });
    const [report] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(report).toMatchObject({ endpointId: null, state: 'delivered' });
    const [received] = receiver.at('/callback?order=A-1');
    expect(verifiedEvent(received!, secret).data['id']).toBe(id);
  });
});

describe('WHO-10 a generation ends with exactly one event', () => {
  const eventsOf = (id: string) =>
    test.sql<{ id: string; type: string }>(`SELECT id, type FROM webhook_event WHERE generation_id = $1`, [
      id,
    ]);

  it('however many end it at once: one event, one delivery', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await endpointAt(test.db, tenant, receiver.url);
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    const ends = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        index % 2 === 0
          ? (await settle(test.db, id, { state: 'succeeded', errorCode: null })).outcome
          : (await requestCancel(test.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' }))
              .outcome,
      ),
    );
    expect(ends.filter((outcome) => outcome === 'settled')).toHaveLength(1);
    expect(await eventsOf(id)).toEqual([
      { id: `evt_${id.slice(4)}_succeeded`, type: 'generation.succeeded' },
    ]);
    await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(await claimOf(test.db, tenant)).toEqual([]);
    expect(receiver.received).toHaveLength(1);
  });

  it('of the transaction that ends it: undone with it, there at its commit', async () => {
    const tenant = await newTenant(test.db);
    await endpointAt(test.db, tenant, 'https://receiver.example/');
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    const client = await test.connect();
    const proposal = { generationId: id, state: 'succeeded', errorCode: null };
    for (const end of ['ROLLBACK', 'COMMIT']) {
      await client.query('BEGIN');
      expect(await callRaw(client, 'settle', proposal)).toMatchObject({ outcome: 'settled' });
      expect(await eventsOf(id)).toEqual([]);
      await client.query(end);
    }
    expect(await eventsOf(id)).toHaveLength(1);
  });
});
