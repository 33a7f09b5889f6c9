import { describe, expect, it } from 'vitest';
import { claimSubmission, findOpenRoute, recordSubmission, setProviderBudget } from '../../src/db/index.ts';
import type { CircuitLimits, SubmissionRecord } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { claimOf, create, newTenant, send } from './fixtures.ts';
import { tally, useDatabase } from './database.ts';
import { awayFromTheTurn } from './turns.ts';

const test = useDatabase();
const LIMITS: CircuitLimits = { circuitFailures: 3, circuitOpenMs: 60_000 };

let names = 0;
/** A provider that no other test has. */
function newProvider(): string {
  names += 1;
  return `provider${names}`;
}

type Kind = 'accepted' | 'refused' | 'capacity' | 'not_sent' | 'unknown';

function record(id: string, fence: number, kind: Kind, refusalCode: string): SubmissionRecord {
  const common = { submissionId: submissionId(id, 1) };
  if (kind === 'accepted') {
    return {
      ...common,
      kind,
      jobId: `job-${id}`,
      handle: { jobId: `job-${id}` },
      providerStatus: null,
      dueInMs: 1_000,
    };
  }
  const answered = { ...common, fence, problem: kind, retryInMs: 1_000 };
  return kind === 'refused'
    ? { ...answered, kind, refusalCode: refusalCode as 'provider_rejected' }
    : { ...answered, kind };
}

/** One generation whose submit at this provider is answered so; whether the circuit opened by it. */
async function submit(provider: string, kind: Kind, refusalCode = 'provider_rejected', limits = LIMITS) {
  const id = await create(test.db, await newTenant(test.db));
  const fence = await send(test.db, id, { provider });
  return (await recordSubmission(test.db, record(id, fence, kind, refusalCode), limits)).circuitOpened;
}

async function claim(provider: string) {
  const id = await create(test.db, await newTenant(test.db));
  return claimSubmission(test.db, claimOf(id, { provider, leaseMs: 40_000 }));
}

const age = (provider: string) =>
  test.sql(
    `UPDATE provider_circuit SET open_until = open_until - interval '1 hour', probe_until = probe_until - interval '1 hour' WHERE provider = $1`,
    [provider],
  );

describe('circuit of a provider', () => {
  it.each([
    ['not_sent', 'provider_rejected'],
    ['unknown', 'provider_rejected'],
    ['refused', 'provider_rejected'],
    ['refused', 'provider_unavailable'],
  ] as const)('three times %s (%s) in a row shut it', async (kind, code) => {
    const provider = newProvider();
    expect([await submit(provider, kind, code), await submit(provider, kind, code)]).toEqual([false, false]);
    expect(await submit(provider, kind, code)).toBe(true);
    const refused = await claim(provider);
    expect(refused).toMatchObject({ outcome: 'provider_closed', reason: 'circuit_open', alert: false });
    expect('inMs' in refused && refused.inMs).toBeGreaterThan(30_000);
  });

  it.each([
    ['accepted', ''],
    ['refused', 'invalid_input'],
    ['refused', 'content_rejected'],
  ] as const)('%s (%s) shows that it works: the count begins anew', async (kind, code) => {
    const provider = newProvider();
    for (const answer of ['unknown', 'unknown'] as const) await submit(provider, answer);
    await submit(provider, kind, code);
    expect([await submit(provider, 'unknown'), await submit(provider, 'unknown')]).toEqual([false, false]);
    expect((await claim(provider)).outcome).toBe('send');
  });

  it('capacity says nothing about its health', async () => {
    const provider = newProvider();
    for (let n = 0; n < 5; n += 1) await submit(provider, 'capacity');
    expect((await claim(provider)).outcome).toBe('send');
  });

  it('after its time one submit at a time is the probe; its success opens for all, its failure shuts for longer', async () => {
    const provider = newProvider();
    for (let n = 0; n < 3; n += 1) await submit(provider, 'unknown');
    await age(provider);
    const id = await create(test.db, await newTenant(test.db));
    const fence = await send(test.db, id, { provider });
    const others = await Promise.all([claim(provider), claim(provider), claim(provider)]);
    expect(tally(others.map(({ outcome }) => outcome))).toEqual({ provider_closed: 3 });
    const failed = await recordSubmission(test.db, record(id, fence, 'not_sent', ''), LIMITS);
    expect(failed.circuitOpened).toBe(true);
    const again = await claim(provider);
    expect('inMs' in again && again.inMs).toBeGreaterThan(110_000);
    await age(provider);
    expect(await submit(provider, 'accepted')).toBe(false);
    const after = await Promise.all([claim(provider), claim(provider)]);
    expect(tally(after.map(({ outcome }) => outcome))).toEqual({ send: 2 });
  });

  it('of many that come when its time is over exactly one is the probe', async () => {
    const provider = newProvider();
    for (let n = 0; n < 3; n += 1) await submit(provider, 'unknown');
    await age(provider);
    const claims = await Promise.all(Array.from({ length: 12 }, () => claim(provider)));
    expect(tally(claims.map(({ outcome }) => outcome))).toEqual({ send: 1, provider_closed: 11 });
  });

  it('a failure long ago does not add to one now', async () => {
    const provider = newProvider();
    for (let n = 0; n < 2; n += 1) await submit(provider, 'unknown');
    await test.sql(
      `UPDATE provider_circuit SET failed_at = failed_at - interval '2 minutes' WHERE provider = $1`,
      [provider],
    );
    expect(await submit(provider, 'unknown')).toBe(false);
  });
});

describe('find_open_route', () => {
  const route = (provider: string, amount = '1') => ({ provider, estimatedCost: { amount, unit: 'USD' } });

  it('is the first that takes submits now', async () => {
    await awayFromTheTurn('day', 90_000);
    const [shut, spent, open] = [newProvider(), newProvider(), newProvider()];
    for (let n = 0; n < 3; n += 1) await submit(shut, 'unknown');
    await setProviderBudget(test.db, {
      provider: spent,
      amountPerDay: '0.5',
      unit: 'USD',
      reason: 'test',
      actor: 'test',
    });
    expect(await findOpenRoute(test.db, [route(shut), route(spent), route(open)])).toMatchObject({
      index: 2,
    });
    expect(await findOpenRoute(test.db, [route(shut), route(spent, '0.5'), route(open)])).toMatchObject({
      index: 1,
    });
    const none = await findOpenRoute(test.db, [route(shut), route(spent)]);
    expect(none.index).toBeNull();
    expect(none.inMs).toBeGreaterThan(30_000);
    expect(none.inMs).toBeLessThanOrEqual(60_000);
    expect(await findOpenRoute(test.db, [])).toEqual({ index: null, inMs: null });
  });
});

describe('a later route than that of a prepared submission', () => {
  it('abandons it: its token is void, the next one is live', async () => {
    const [first, second] = [newProvider(), newProvider()];
    const id = await create(test.db, await newTenant(test.db));
    const fence = await send(test.db, id, { provider: first });
    await recordSubmission(test.db, record(id, fence, 'capacity', ''));
    const next = await claimSubmission(test.db, claimOf(id, { provider: second, ordinal: 2, routeIndex: 1 }));
    expect(next.outcome).toBe('send');
    const rows = await test.db.prisma.submission.findMany({
      where: { generationId: id },
      orderBy: { ordinal: 'asc' },
    });
    expect(rows.map(({ state, provider }) => [state, provider])).toEqual([
      ['abandoned', first],
      ['sending', second],
    ]);
    const late = await recordSubmission(test.db, record(id, fence, 'unknown', ''));
    expect(late).toMatchObject({ outcome: 'stale', state: 'abandoned' });
  });

  it('never abandons one that may have been taken', async () => {
    const [first, second] = [newProvider(), newProvider()];
    const id = await create(test.db, await newTenant(test.db));
    const fence = await send(test.db, id, { provider: first });
    await recordSubmission(test.db, record(id, fence, 'unknown', ''));
    const next = await claimSubmission(test.db, claimOf(id, { provider: second, ordinal: 2, routeIndex: 1 }));
    expect(next.outcome).toBe('unknown');
  });
});
