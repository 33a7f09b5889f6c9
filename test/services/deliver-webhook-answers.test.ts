import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redeliverWebhooks } from '../../src/db/index.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { createOutboundHttp } from '../../src/net/index.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant, type Tenant } from '../db/fixtures.ts';
import { HANG, Receiver, RESET, verifiedEvent } from '../support/receiver.ts';
import { attempt, cancelled, claimOf, deliveryContext, endpointAt, newSecret } from '../support/webhooks.ts';

const test = useDatabase();
const AT_ONCE = { scheduleMs: [0, 0, 0, 0] };

async function startReceiver(options: Parameters<typeof Receiver.start>[0] = {}): Promise<Receiver> {
  const receiver = await Receiver.start(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** A tenant with an endpoint at a receiver, and one event that is due there. */
async function due(receiver: { readonly url: string }, endOn4xx = false) {
  const tenant = await newTenant(test.db);
  const endpoint = await endpointAt(test.db, tenant, receiver.url, { endOn4xx });
  const generationId = await cancelled(test.db, tenant);
  return { tenant, endpoint, generationId };
}

interface Kept {
  readonly state: string;
  readonly status: number | null;
  readonly problem: string | null;
  readonly waitsMs: number | null;
  readonly answer: Buffer;
}

/** The last attempt of the tenant's first delivery, and how long the next one waits. */
async function kept(tenant: Tenant): Promise<Kept> {
  const [row] = await test.sql<Kept>(
    `SELECT d.state, a.status, a.problem, a.answer, (extract(epoch FROM d.next_attempt_at - a.at) * 1000)::float8 AS "waitsMs"
     FROM webhook_delivery d JOIN webhook_attempt a ON a.delivery_id = d.id AND a.attempt = d.attempts
     WHERE d.tenant_id = $1 ORDER BY d.id LIMIT 1`,
    [tenant.id],
  );
  return row!;
}

describe('WHO-5 a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is not followed and counts as a failure', async (status) => {
    const [receiver, target] = [await startReceiver(), await startReceiver()];
    receiver.answer = () => (response) => void response.writeHead(status, { location: target.url }).end();
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port, target.port]);
    const [report] = await attempt(ctx, tenant);
    expect(report).toMatchObject({ outcome: 'failed', status, problem: 'redirect', state: 'pending' });
    expect(target.received).toEqual([]);
    expect(await kept(tenant)).toMatchObject({ status, problem: 'redirect', waitsMs: 1_000 });
  });
});

describe('WHO-6', () => {
  it('410 disables the endpoint at once; what waits for it is held', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => 410;
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port]);
    const [report] = await attempt(ctx, tenant);
    expect(report).toMatchObject({ outcome: 'gone', problem: 'gone', state: 'held', disabled: 'gone' });
    await cancelled(test.db, tenant);
    expect(await claimOf(test.db, tenant)).toEqual([]);
    const states = await test.sql(`SELECT DISTINCT state FROM webhook_delivery WHERE tenant_id = $1`, [
      tenant.id,
    ]);
    expect(states).toEqual([{ state: 'held' }]);
  });

  it('410 at a callback_url ends that delivery alone', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    receiver.answer = () => 410;
    await newSecret(test.db, tenant, null);
    await cancelled(test.db, tenant, { callbackUrl: `${receiver.url}/a` });
    const [report] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(report).toMatchObject({ outcome: 'gone', state: 'failed', disabled: null, endpointId: null });
    receiver.answer = () => 200;
    await cancelled(test.db, tenant, { callbackUrl: `${receiver.url}/b` });
    const [next] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(next).toMatchObject({ outcome: 'delivered' });
  });

  const NOW_MS = Date.UTC(2026, 10, 29, 12, 0, 0);
  it.each([
    [429, '120', 120_000],
    [503, '120', 120_000],
    [429, 'Sun, 29 Nov 2026 12:05:00 GMT', 300_000],
    [503, 'Sunday, 29-Nov-26 12:05:00 GMT', 300_000],
    [429, '999999', 86_400_000],
    [429, 'Fri, 31 Dec 2099 12:00:00 GMT', 86_400_000],
    [429, '0', 1_000],
    [429, 'soon', 1_000],
    [429, '-5', 1_000],
    [500, '120', 1_000],
    [404, '120', 1_000],
  ])('%i with Retry-After "%s": not before %i ms', async (status, retryAfter, waitsMs) => {
    const receiver = await startReceiver();
    receiver.answer = () => (response) =>
      void response.writeHead(status, { 'retry-after': retryAfter }).end();
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port], { nowMs: () => NOW_MS });
    const [report] = await attempt(ctx, tenant);
    expect(report).toMatchObject({ outcome: 'failed', status, problem: 'http_status', state: 'pending' });
    expect((await kept(tenant)).waitsMs).toBe(waitsMs);
  });

  const endless = (response: ServerResponse): void => {
    response.writeHead(200);
    response.on('error', () => {});
    const more = () =>
      void (response.destroyed || response.write('x'.repeat(9_000), () => setImmediate(more)));
    more();
  };
  const huge = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-length': '30000000' });
    response.on('error', () => {});
    response.end('x'.repeat(30_000_000));
  };
  it.each([
    ['endless', endless],
    ['huge', huge],
  ])('2xx with an %s body is a success; its first 20,000 bytes are kept', async (_name, answer) => {
    const receiver = await startReceiver();
    receiver.answer = () => answer;
    const { tenant } = await due(receiver);
    const [report] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(report).toMatchObject({ outcome: 'delivered', status: 200, state: 'delivered' });
    expect((await kept(tenant)).answer.toString()).toBe('x'.repeat(20_000));
  });

  it('what a failed attempt was answered is kept too', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => (response) => void response.writeHead(500).end('out of coffee');
    const { tenant } = await due(receiver);
    await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect((await kept(tenant)).answer.toString()).toBe('out of coffee');
  });
});

describe('a 4xx', () => {
  it.each([400, 401, 403, 404, 422])('%i is tried again', async (status) => {
    const receiver = await startReceiver();
    receiver.answer = (_received, before) => (before === 0 ? status : 200);
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port]);
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ outcome: 'failed', state: 'pending' });
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ state: 'delivered' });
  });

  it.each([
    [404, 'ended', 'failed'],
    [400, 'ended', 'failed'],
    [408, 'failed', 'pending'],
    [425, 'failed', 'pending'],
    [429, 'failed', 'pending'],
    [500, 'failed', 'pending'],
    [301, 'failed', 'pending'],
  ])('%i at an endpoint that wants a 4xx to end it: %s', async (status, outcome, state) => {
    const receiver = await startReceiver();
    receiver.answer = () => status;
    const { tenant } = await due(receiver, true);
    const [report] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(report).toMatchObject({ outcome, state, disabled: null });
  });
});

describe('F-13 a receiver that does not answer', () => {
  it('WHO-8 is down for the whole schedule: given up, can be sent again, the same id then', async () => {
    // Not one that was just closed, which the system may give to another.
    const [port = 0] = await freePorts(1);
    const { tenant, endpoint, generationId } = await due({ url: `http://127.0.0.1:${port}` });
    const ctx = deliveryContext(test.db, [port]);
    for (const state of ['pending', 'pending', 'pending', 'failed']) {
      const [report] = await attempt(ctx, tenant, AT_ONCE);
      expect(report).toMatchObject({ outcome: 'failed', status: null, problem: 'unreachable', state });
    }
    expect(await claimOf(test.db, tenant)).toEqual([]);

    const again = await startReceiver();
    await test.sql(`UPDATE webhook_endpoint SET url = $2, open_until = NULL WHERE id = $1`, [
      endpoint.id,
      again.url,
    ]);
    const [row] = await test.sql<{ id: string }>(`SELECT id FROM webhook_delivery WHERE endpoint_id = $1`, [
      endpoint.id,
    ]);
    const redelivery = { tenantId: tenant.id, deliveryId: Number(row!.id) };
    expect(await redeliverWebhooks(test.db, redelivery)).toMatchObject({ outcome: 'redelivering', count: 1 });
    const [report] = await attempt(deliveryContext(test.db, [again.port]), tenant);
    expect(report).toMatchObject({ attempt: 5, state: 'delivered' });
    const { id } = verifiedEvent(again.received[0]!, endpoint.secret);
    expect([id, again.received[0]!.headers['webhook-id']]).toEqual(
      Array(2).fill(`evt_${generationId.slice(4)}_cancelled`),
    );
  });

  it('hangs: given up after the timeout', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => HANG;
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port]);
    const [report] = await attempt(ctx, tenant, { timeoutMs: 3_000 });
    expect(report).toMatchObject({ outcome: 'failed', problem: 'timeout', state: 'pending' });
  });

  it('has processed it, then resets: sent again under the same id', async () => {
    const receiver = await startReceiver();
    receiver.answer = (_received, before) => (before === 0 ? RESET : 200);
    const { tenant } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port]);
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({
      problem: 'connection_lost',
      state: 'pending',
    });
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ state: 'delivered' });
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('has failed for five days: the endpoint is disabled, what waits is held', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => 500;
    const { tenant, endpoint } = await due(receiver);
    const ctx = deliveryContext(test.db, [receiver.port]);
    const since = (ago: string) =>
      test.sql(`UPDATE webhook_endpoint SET failing_since = now() - $2::interval WHERE id = $1`, [
        endpoint.id,
        ago,
      ]);
    await since('4 days 23:59:00');
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ state: 'pending', disabled: null });
    await since('5 days');
    expect((await attempt(ctx, tenant, AT_ONCE))[0]).toMatchObject({ state: 'held', disabled: 'failing' });
  });
});

describe('the way out is guarded', () => {
  it('WHO-11 a certificate that nobody vouches for: nothing is sent', async () => {
    const receiver = await startReceiver({ tls: true });
    const { tenant } = await due(receiver);
    const [report] = await attempt(deliveryContext(test.db, [receiver.port]), tenant);
    expect(report).toMatchObject({ outcome: 'failed', status: null, problem: 'tls_failed' });
    expect(receiver.received).toEqual([]);
  });

  const { url: dead } = { url: 'https://dead.example/' };
  it.each([
    ['a private literal', 'https://10.0.0.1/'],
    ['the metadata service', 'https://169.254.169.254/latest/meta-data'],
    ['loopback', 'https://127.0.0.1/'],
    ['loopback, spelt as a number', 'https://2130706433/'],
    ['IPv6 loopback', 'https://[::1]/'],
    ['localhost', 'https://localhost/'],
    ['plain http', 'http://receiver.example/'],
    ['another port', 'https://receiver.example:5432/'],
    ['a name that resolves to a private address', 'https://inside.example/'],
    ['a name that does not resolve', 'https://nowhere.example/'],
    ['a name at which nobody listens', dead],
  ])('SSRF-1 SSRF-8 %s is told like any address that can not be reached', async (_name, url) => {
    const http = createOutboundHttp({
      allow: [{ host: 'dead.example', port: 443 }],
      lookup: async (name) => {
        if (name === 'nowhere.example') throw new Error('ENOTFOUND');
        return [{ address: name === 'inside.example' ? '10.1.2.3' : '127.0.0.1', family: 4 }];
      },
    });
    onTestFinished(() => http.close());
    const { tenant } = await due({ url });
    const [report] = await attempt(deliveryContext(test.db, [], { http }), tenant);
    // The whole of it: nothing more that could tell one from the other.
    expect(report).toEqual({
      deliveryId: expect.any(Number) as number,
      endpointId: expect.stringMatching(/^whe_/) as string,
      generationId: expect.stringMatching(/^gen_/) as string,
      attempt: 1,
      durationMs: expect.any(Number) as number,
      outcome: 'failed',
      status: null,
      problem: 'unreachable',
      state: 'pending',
      disabled: null,
      secretsLost: 0,
    });
    expect(await kept(tenant)).toMatchObject({
      status: null,
      problem: 'unreachable',
      answer: Buffer.alloc(0),
    });
  });
});
