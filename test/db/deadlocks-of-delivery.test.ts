import { describe, expect, it } from 'vitest';
import {
  claimDeliveries,
  claimFileRemovals,
  createGeneration,
  deleteOutputs,
  deleteWebhookEndpoint,
  eraseGeneration,
  finishFileRemoval,
  keepWebhookBody,
  pruneHistory,
  redeliverWebhooks,
  requestCancel,
  rotateWebhookSecret,
  settle,
  updateWebhookEndpoint,
} from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { finish } from './finish.ts';
import { create, newGeneration, newTenant, observe, receive, store, storing } from './fixtures.ts';
import { newInput, uses } from './inputs.ts';
import { FAILED, SUCCEEDED } from './money.ts';
import { CALLBACK_URL, newEndpoint, record } from './webhooks.ts';

const test = useDatabase({ poolSize: 24 });
const OUTCOMES = ['delivered', 'failed', 'gone', 'failed', 'ended'] as const;

interface Scene {
  readonly tenantId: string;
  readonly generations: readonly string[];
  readonly endpoints: readonly string[];
  readonly inputs: readonly string[];
}

/** Every way in which what is delivered and what is removed meet, for the n-th time. */
function operations(
  { tenantId, generations, endpoints, inputs }: Scene,
  n: number,
): (() => Promise<unknown>)[] {
  const { db } = test;
  const id = generations[n % generations.length]!;
  const of = { tenantId, generationId: id };
  const endpoint = { tenantId, endpointId: endpoints[n % endpoints.length]! };
  const event = { eventId: `evt_${id.slice(4)}_succeeded`, body: `{"n":${n}}` };
  const again = { ...endpoint, since: '2020-01-01T00:00:00Z', all: true, limit: 50 };
  const input = inputs[n % inputs.length]!;
  return [
    () => settle(db, id, SUCCEEDED),
    () => settle(db, id, FAILED),
    () => requestCancel(db, { ...of, actor: 'tenant' }),
    () => store(db, id),
    () => observe(db, id, 'succeeded', { storeLeaseMs: 0 }),
    () => receive(db, { submissionId: submissionId(id, 1), terminal: true, jobId: `job-${id}` }),
    () =>
      createGeneration(
        db,
        newGeneration({ id: tenantId, accountId: '' }, { callbackUrl: CALLBACK_URL, ...uses(input) }),
      ),
    () => deleteOutputs(db, of),
    () => eraseGeneration(db, of),
    () => updateWebhookEndpoint(db, { ...endpoint, enabled: n % 3 !== 0 }),
    () => updateWebhookEndpoint(db, { ...endpoint, types: ['generation.updated', 'generation.succeeded'] }),
    () => rotateWebhookSecret(db, { ...endpoint, keyId: 'k1', overlapMs: 1_000 }, Buffer.from('x')),
    () => redeliverWebhooks(db, again),
    () => keepWebhookBody(db, event),
    async () => {
      const claimed = await claimDeliveries(db, {
        limit: 20,
        perTarget: 20,
        leaseMs: n % 2 === 0 ? 0 : 60_000,
      });
      const over = { delaysMs: [0, 0, 0], disableAfterMs: n % 5 === 0 ? 0 : 60_000 };
      await Promise.all(claimed.map((one, i) => record(db, one, OUTCOMES[(n + i) % OUTCOMES.length]!, over)));
    },
    async () => {
      const files = await claimFileRemovals(db, { limit: 10, leaseMs: 0 });
      await Promise.all(files.map((file) => finishFileRemoval(db, file)));
    },
    // Everything that has ended is old; those with a callback_url, which an invariant looks for, end only afterwards.
    () => pruneHistory(db, { keepMs: n % 4 === 0 ? 0 : 1, unmatchedKeepMs: 0, limit: 20 }),
  ];
}

describe('G7 no deadlock in delivery and removal', () => {
  it('settles, endpoints, attempts, deletions, erasures, pruning at once: no error, and all invariants hold', async () => {
    const { db } = test;
    const tenant = await newTenant(db, 100_000);
    const inputs = await Promise.all(Array.from({ length: 3 }, () => newInput(db, tenant)));
    const endpoints = await Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        newEndpoint(db, tenant, {
          types:
            i % 2 === 0
              ? ['generation.updated', 'generation.succeeded']
              : ['generation.failed', 'generation.cancelled'],
        }),
      ),
    );
    const generations = await Promise.all([
      ...Array.from({ length: 8 }, () => storing(db, tenant)),
      ...Array.from({ length: 4 }, () => create(db, tenant, uses(...inputs))),
    ]);
    const scene = { tenantId: tenant.id, generations, endpoints, inputs };
    const calls = Array.from({ length: 24 }, (_, n) => operations(scene, n)).flat();
    const shuffled = calls
      .map((call, i) => ({ call, at: (i * 7_919) % calls.length }))
      .toSorted((a, b) => a.at - b.at);
    const results = await Promise.allSettled(shuffled.map(({ call }) => call()));
    expect(calls).toHaveLength(408);
    expect(
      results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
    ).toEqual([]);

    await Promise.all(
      endpoints.map((endpointId) => deleteWebhookEndpoint(db, { tenantId: tenant.id, endpointId })),
    );
    const all = await db.prisma.generation.findMany({ where: { tenantId: tenant.id }, select: { id: true } });
    await Promise.all(all.map(({ id }) => finish(db, id)));
    const ends = await db.prisma.generationEvent.groupBy({
      by: ['generationId'],
      where: { type: 'terminal', generation: { tenantId: tenant.id } },
      _count: true,
    });
    expect(ends.map(({ _count }) => _count)).toEqual(all.map(() => 1));
    const pending = await db.prisma.webhookDelivery.count({
      where: { endpointId: { not: null }, state: 'pending' },
    });
    expect(pending).toBe(0);
  });
});
