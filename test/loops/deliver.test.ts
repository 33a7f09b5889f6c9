import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { claimDeliveries, openChangeFeed } from '../../src/db/index.ts';
import type { ChangeFeed, Db } from '../../src/db/index.ts';
import { runDeliveries, type DeliverDeps, type DeliverOptions } from '../../src/loops/deliver.ts';
import type { AttemptReport } from '../../src/services/deliver-webhook.ts';
import { useDatabase } from '../db/database.ts';
import { newTenant } from '../db/fixtures.ts';
import { eventually } from '../simulators/control.ts';
import { HANG, Receiver } from '../support/receiver.ts';
import { cancelled, deliveryContext, endpointAt, newSecret } from '../support/webhooks.ts';

const test = useDatabase();
const soon = <T>(ask: () => T | undefined) => eventually(ask, 60_000);
/** Looks only when it is told to. */
const NEVER_MS = 3_600_000;
/** Longer than a busy machine can hold up what a test does while attempts are under way. */
const PATIENT = { timeoutMs: 60_000, leaseMs: 90_000 };
const SILENT: DeliverDeps['feed'] = { subscribe: () => () => {} };

// What one test left undelivered would be attempted, and reported, in another.
beforeEach(() =>
  test.sql(`UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL, leased_until = NULL
     WHERE state IN ('pending', 'held')`),
);

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

async function openFeed(): Promise<ChangeFeed> {
  const feed = openChangeFeed(test.url, () => {});
  onTestFinished(() => feed.close());
  // The first call tells that it listens.
  await new Promise<void>((resolve) => {
    feed.subscribe('darkroom_webhook', () => resolve());
  });
  return feed;
}

/** Runs the loop until the end of the test. */
function run(
  ports: readonly number[],
  over: Partial<DeliverDeps> = {},
  options: Partial<DeliverOptions> = {},
) {
  const reports: AttemptReport[] = [];
  const problems: unknown[] = [];
  const stop = new AbortController();
  const deps: DeliverDeps = {
    ...deliveryContext(test.db, ports),
    feed: SILENT,
    onAttempt: (report) => void reports.push(report),
    onProblem: (error) => void problems.push(error),
    ...over,
  };
  const ended = runDeliveries(deps, stop.signal, { everyMs: 20, ...options });
  const end = async () => {
    stop.abort();
    await ended;
  };
  onTestFinished(end);
  return { reports, problems, stop, ended, end };
}

describe('when it looks', () => {
  it('at once when the database tells that something is due', async () => {
    const [receiver, tenant, feed] = [await startReceiver(), await newTenant(test.db), await openFeed()];
    await endpointAt(test.db, tenant, receiver.url);
    run([receiver.port], { feed }, { everyMs: NEVER_MS });
    for (let count = 1; count <= 3; count += 1) {
      await cancelled(test.db, tenant);
      await receiver.until('/', count);
    }
  });

  it('now and then by itself, for hints that were lost and for retries', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    receiver.answer = (_received, before) => (before < 2 ? 500 : 200);
    await endpointAt(test.db, tenant, receiver.url);
    const { reports } = run([receiver.port], {}, { scheduleMs: [0, 50, 50] });
    await cancelled(test.db, tenant);
    await soon(() => (reports.length === 3 ? true : undefined));
    expect(reports.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'pending'],
      [2, 'pending'],
      [3, 'delivered'],
    ]);
  });

  it('as soon as an attempt has ended, since that makes room at its receiver', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await endpointAt(test.db, tenant, receiver.url);
    for (let count = 0; count < 6; count += 1) await cancelled(test.db, tenant);
    run([receiver.port], {}, { everyMs: NEVER_MS, perTarget: 1 });
    await receiver.until('/', 6);
  });
});

describe('WHO-7 a receiver that hangs', () => {
  it('takes a few places and no more: everything for another one arrives meanwhile', async () => {
    const [hanging, healthy] = [await startReceiver(), await startReceiver()];
    hanging.answer = () => HANG;
    const tenant = await newTenant(test.db);
    await endpointAt(test.db, tenant, hanging.url);
    for (let count = 0; count < 12; count += 1) await cancelled(test.db, tenant);
    const { reports } = run([hanging.port, healthy.port], {}, PATIENT);
    await hanging.until('/', 4);
    await endpointAt(test.db, tenant, healthy.url);
    for (let count = 0; count < 12; count += 1) await cancelled(test.db, tenant);
    await healthy.until('/', 12);
    await soon(() => (reports.length === 12 ? true : undefined));
    expect(reports.every(({ state }) => state === 'delivered')).toBe(true);
    // None of the hanging ones has ended, none was added.
    expect(hanging.received).toHaveLength(4);
    await hanging.close();
  });

  it('many of them, of one tenant, leave places to other tenants', async () => {
    const [hanging, healthy] = [await startReceiver(), await startReceiver()];
    hanging.answer = () => HANG;
    const [one, other] = [await newTenant(test.db), await newTenant(test.db)];
    for (let count = 0; count < 5; count += 1) await endpointAt(test.db, one, `${hanging.url}/${count}`);
    await cancelled(test.db, one);
    await cancelled(test.db, one);
    run([hanging.port, healthy.port], {}, { concurrency: 8, perTenant: 6, ...PATIENT });
    await soon(() => (hanging.received.length === 6 ? true : undefined));
    await newSecret(test.db, other, null);
    for (let count = 0; count < 6; count += 1) await cancelled(test.db, other, { callbackUrl: healthy.url });
    await healthy.until('/', 6);
    expect(hanging.received).toHaveLength(6);
    await hanging.close();
  });

  it('F-13 one that fails again and again is left alone for a while; another one gets all, each once', async () => {
    const [failing, healthy] = [await startReceiver(), await startReceiver()];
    failing.answer = () => 500;
    const tenant = await newTenant(test.db);
    await endpointAt(test.db, tenant, failing.url);
    await endpointAt(test.db, tenant, healthy.url);
    const { reports } = run([failing.port, healthy.port], {}, { scheduleMs: Array<number>(10).fill(0) });
    for (let count = 0; count < 30; count += 1) await cancelled(test.db, tenant);
    await healthy.until('/', 30);
    await eventually(() =>
      reports.filter(({ state }) => state === 'delivered').length === 30 ? true : undefined,
    );
    expect(new Set(healthy.received.map(({ headers }) => headers['webhook-id'])).size).toBe(30);
    // Five in a row open its circuit; those under way then still end.
    expect(failing.received.length).toBeLessThanOrEqual(8);
  });
});

describe('at least once', () => {
  it('WHO-9 an attempt whose process died is made again by another, under the same id', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await endpointAt(test.db, tenant, receiver.url);
    const id = await cancelled(test.db, tenant);
    const claimed = await claimDeliveries(test.db, { limit: 100, perTarget: 4, leaseMs: 200 });
    expect(claimed.filter(({ tenantId }) => tenantId === tenant.id)).toHaveLength(1);
    const { reports } = run([receiver.port]);
    const [received] = await receiver.until('/', 1);
    expect(received!.headers).toMatchObject({
      'webhook-id': `evt_${id.slice(4)}_cancelled`,
      'x-webhook-attempt': '2',
    });
    await soon(() => (reports.length === 1 ? true : undefined));
  });

  it('two processes share what is due: each event once', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await endpointAt(test.db, tenant, receiver.url);
    run([receiver.port]);
    run([receiver.port]);
    const ids = await Promise.all(Array.from({ length: 40 }, () => cancelled(test.db, tenant)));
    const received = await receiver.until('/', 40);
    expect(received.map(({ headers }) => String(headers['webhook-id'])).toSorted()).toEqual(
      ids.map((id) => `evt_${id.slice(4)}_cancelled`).toSorted(),
    );
  });

  it('a database that fails is told of, and it goes on when it is back', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    await endpointAt(test.db, tenant, receiver.url);
    await cancelled(test.db, tenant);
    const failures = ['claim_deliveries', 'claim_deliveries', 'record_delivery_attempt'];
    const failing: Db = {
      ...test.db,
      call(name, ...rest) {
        if (failures[0] !== name) return test.db.call(name, ...rest);
        failures.shift();
        return Promise.reject(new Error('away'));
      },
    };
    const { problems, reports } = run([receiver.port], { db: failing }, { leaseMs: 600_000 });
    await soon(() => (problems.length === 3 ? true : undefined));
    // What was sent and could not be recorded counts as lost with its lease.
    await test.sql(
      `UPDATE webhook_delivery SET next_attempt_at = now(), leased_until = now() WHERE tenant_id = $1`,
      [tenant.id],
    );
    await soon(() => (reports.length > 0 ? true : undefined));
    expect(problems).toHaveLength(3);
    expect(reports[0]).toMatchObject({ attempt: 2, state: 'delivered' });
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  });
});

describe('a stop', () => {
  it('waits for the attempts under way, and begins no other', async () => {
    const [receiver, tenant] = [await startReceiver(), await newTenant(test.db)];
    let answer = (): void => {};
    receiver.answer = () => (response) => {
      answer = () => void response.writeHead(200).end();
    };
    await endpointAt(test.db, tenant, receiver.url);
    await cancelled(test.db, tenant);
    const { reports, stop, ended } = run([receiver.port], {}, { everyMs: NEVER_MS, ...PATIENT });
    await receiver.until('/', 1);
    stop.abort();
    await cancelled(test.db, tenant);
    answer();
    await ended;
    expect(reports).toMatchObject([{ state: 'delivered' }]);
    expect(receiver.received).toHaveLength(1);
  });

  it('ends at once when nothing is under way', async () => {
    const { stop, ended } = run([], {}, { everyMs: NEVER_MS });
    stop.abort();
    await ended;
  });
});
