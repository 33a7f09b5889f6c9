import { describe, expect, it } from 'vitest';
import {
  claimSubmission,
  createGeneration,
  findOpenRoute,
  requestCancel,
  settle,
} from '../../src/db/index.ts';
import { listPauses } from '../../src/db/pauses.ts';
import { tally, useDatabase } from './database.ts';
import {
  accept,
  accepted,
  answer,
  claimOf,
  create,
  newGeneration,
  newTenant,
  observe,
  send,
  store,
} from './fixtures.ts';
import { BY, newName, pausingOn } from './pausing.ts';

const test = useDatabase({ poolSize: 12 });
const { pause, resume, claim, dueInMs } = pausingOn(test);
const WAIT_MS = 300_000;

const actionsOn = (target: string) =>
  test.sql<{ kind: string; tenant_id: string | null; actor: string; reason: string; detail: object }>(
    `SELECT kind, tenant_id, actor, reason, detail FROM operator_action WHERE detail ->> 'target' = $1 ORDER BY id`,
    [target],
  );
const submissionsOf = (generationId: string) => test.db.prisma.submission.count({ where: { generationId } });

describe('a paused provider', () => {
  it('gets no new submit: the claim leaves no row and says to look again after 5 minutes', async () => {
    const [provider, other] = [newName('provider'), newName('provider')];
    const [waits, goes] = [
      await create(test.db, await newTenant(test.db)),
      await create(test.db, await newTenant(test.db)),
    ];
    await pause('provider', provider);
    expect([await claim(waits, provider), await claim(waits, provider)]).toEqual(
      Array.from({ length: 2 }, () => ({
        outcome: 'provider_closed',
        reason: 'provider_paused',
        inMs: WAIT_MS,
        alert: false,
      })),
    );
    expect(await submissionsOf(waits)).toBe(0);
    expect(await dueInMs(waits)).toBeGreaterThan(WAIT_MS - 60_000);
    expect((await claim(goes, other)).outcome).toBe('send');
    await resume('provider', provider);
    expect((await claim(waits, provider)).outcome).toBe('send');
  });

  it('is left out of the open routes', async () => {
    const [first, second] = [newName('provider'), newName('provider')];
    const places = [first, second].map((provider) => ({ provider, estimatedCost: null }));
    await pause('provider', first);
    expect((await findOpenRoute(test.db, places)).index).toBe(1);
    await pause('provider', second);
    const none = await findOpenRoute(test.db, places);
    expect(none.index).toBeNull();
    expect(none.inMs).toBeGreaterThan(WAIT_MS - 60_000);
    expect(none.inMs).toBeLessThanOrEqual(WAIT_MS);
    await resume('provider', first);
    expect((await findOpenRoute(test.db, places)).index).toBe(0);
  });

  it('does not use up the probe of its circuit', async () => {
    const provider = newName('provider');
    await test.sql(
      `INSERT INTO provider_circuit (provider, failures, open_until) VALUES ($1, 5, now() - interval '1 minute')`,
      [provider],
    );
    await pause('provider', provider);
    const id = await create(test.db, await newTenant(test.db));
    expect(await claim(id, provider)).toMatchObject({ reason: 'provider_paused' });
    await resume('provider', provider);
    expect((await claim(id, provider)).outcome).toBe('send');
  });

  it('goes on with what it has: accepted late, looked at, stored, settled, cancelled', async () => {
    const tenant = await newTenant(test.db);
    const [ends, cancelled] = [await create(test.db, tenant), await accepted(test.db, tenant)];
    await send(test.db, ends);
    await pause('provider', 'infro');
    await pause('model', 'infro-video');
    await pause('tenant', tenant.id);
    try {
      await accept(test.db, ends);
      await observe(test.db, ends, 'succeeded');
      await store(test.db, ends);
      expect(await settle(test.db, ends, { state: 'succeeded', errorCode: null })).toMatchObject({
        state: 'succeeded',
      });
      await requestCancel(test.db, { generationId: cancelled, tenantId: tenant.id, actor: 'tenant' });
      const row = await test.db.prisma.generation.findUniqueOrThrow({ where: { id: cancelled } });
      expect(row.cancelOutcome).toBe('requested');
    } finally {
      await resume('provider', 'infro');
      await resume('model', 'infro-video');
    }
  });
});

describe('a paused model or tenant', () => {
  it.each([
    ['model', 'model_paused'],
    ['tenant', 'tenant_paused'],
  ] as const)(
    '%s: nothing new is taken, the key stays free, nothing is held; what was taken waits',
    async (kind, reason) => {
      const tenant = await newTenant(test.db);
      const model = newName('model-');
      const earlier = newGeneration(tenant, { model });
      await createGeneration(test.db, earlier);
      const target = kind === 'model' ? model : tenant.id;
      await pause(kind, target);

      const later = newGeneration(tenant, { model });
      expect(await createGeneration(test.db, later)).toEqual({ outcome: reason });
      expect(await test.db.prisma.generation.count({ where: { tenantId: tenant.id } })).toBe(1);
      const account = await test.db.prisma.ledgerAccount.findUniqueOrThrow({
        where: { id: tenant.accountId },
      });
      expect(account.held).toBe(100n);
      expect(await createGeneration(test.db, earlier)).toMatchObject({
        outcome: 'replayed',
        generationId: earlier.generationId,
      });
      expect(await createGeneration(test.db, { ...earlier, requestSha256: 'cd'.repeat(32) })).toEqual({
        outcome: 'key_reuse',
      });

      const closed = { outcome: 'paused', reason, inMs: WAIT_MS };
      expect(await claim(earlier.generationId, newName('provider'))).toEqual(closed);
      expect(await submissionsOf(earlier.generationId)).toBe(0);
      expect(await dueInMs(earlier.generationId)).toBeGreaterThan(WAIT_MS - 60_000);

      await resume(kind, target);
      expect((await createGeneration(test.db, later)).outcome).toBe('created');
      expect((await claim(earlier.generationId, newName('provider'))).outcome).toBe('send');
    },
  );

  it('concerns no other model and no other tenant', async () => {
    const [paused, other] = [await newTenant(test.db), await newTenant(test.db)];
    const [model, free] = [newName('model-'), newName('model-')];
    await pause('tenant', paused.id);
    await pause('model', model);
    const id = await create(test.db, other, { model: free });
    expect((await claim(id, newName('provider'))).outcome).toBe('send');
    expect((await createGeneration(test.db, newGeneration(paused, { model: free }))).outcome).toBe(
      'tenant_paused',
    );
    // Of both the tenant's is told: another model would not help it.
    expect((await createGeneration(test.db, newGeneration(paused, { model }))).outcome).toBe('tenant_paused');
  });

  it('one that waits can be cancelled at once, and what is too late for a submit ends as without a pause', async () => {
    const tenant = await newTenant(test.db);
    const [cancelled, late] = [await create(test.db, tenant), await create(test.db, tenant)];
    await pause('tenant', tenant.id);
    await claim(cancelled, 'infro');
    await requestCancel(test.db, { generationId: cancelled, tenantId: tenant.id, actor: 'tenant' });
    const row = await test.db.prisma.generation.findUniqueOrThrow({ where: { id: cancelled } });
    expect(row.state).toBe('cancelled');
    const noTime = claimOf(late, { minimumRunwayMs: 3_600_000 });
    expect((await claimSubmission(test.db, noTime)).outcome).toBe('no_time');
  });
});

describe('an unknown submission', () => {
  it.each(['provider', 'model', 'tenant'] as const)(
    'is replayed with its key through a pause of the %s: it may find the job',
    async (kind) => {
      const tenant = await newTenant(test.db);
      const [provider, model] = [newName('provider'), newName('model-')];
      const id = await create(test.db, tenant, { model });
      const fence = await send(test.db, id, { provider });
      await answer(test.db, id, fence, 'unknown');
      await pause(kind, { provider, model, tenant: tenant.id }[kind]);
      const replay = await claimSubmission(test.db, claimOf(id, { provider, replay: true }));
      expect(replay).toMatchObject({ outcome: 'send', fence: fence + 1 });
      expect(await submissionsOf(id)).toBe(1);
    },
  );

  it('one that could not be sent or had no capacity waits', async () => {
    const provider = newName('provider');
    for (const kind of ['not_sent', 'capacity'] as const) {
      const id = await create(test.db, await newTenant(test.db));
      await answer(test.db, id, await send(test.db, id, { provider }), kind);
      await pause('provider', provider);
      expect(await claim(id, provider)).toMatchObject({ reason: 'provider_paused' });
      await resume('provider', provider);
      expect((await claim(id, provider)).outcome).toBe('send');
    }
  });
});

describe('pausing', () => {
  it('the first one stands, with its reason and actor, and only it is recorded', async () => {
    const target = newName('provider');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => pause('provider', target, { reason: `r${n}`, actor: `cli:${n}` })),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ paused: 1, already_paused: 9 });
    const stands = (await listPauses(test.db)).filter((one) => one.target === target);
    expect(stands.length).toBe(1);
    for (const one of answers) expect(one).toMatchObject({ pause: stands[0] });
    expect(await actionsOn(target)).toEqual([
      {
        kind: 'pause',
        tenant_id: null,
        actor: stands[0]!.actor,
        reason: stands[0]!.reason,
        detail: { kind: 'provider', target },
      },
    ]);
  });

  it('is taken back once, with a record of what stood; the record of a tenant is its own', async () => {
    const { id } = await newTenant(test.db);
    await pause('tenant', id);
    const by = { reason: 'paid', actor: 'cli:bob' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => resume('tenant', id, by)));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ resumed: 1, not_paused: 4 });
    const recorded = await actionsOn(id);
    expect(recorded.map(({ kind, tenant_id, actor, reason }) => [kind, tenant_id, actor, reason])).toEqual([
      ['pause', id, 'cli:ann', 'ticket 1'],
      ['resume', id, 'cli:bob', 'paid'],
    ]);
    expect(recorded[1]!.detail).toMatchObject({ kind: 'tenant', target: id, actor: 'cli:ann', due: 0 });
  });

  it('an unknown tenant is refused', async () => {
    expect(await pause('tenant', 'ten_none')).toEqual({ outcome: 'unknown_tenant' });
    expect(await actionsOn('ten_none')).toEqual([]);
  });

  it('lists providers, then models, then tenants', async () => {
    const { id } = await newTenant(test.db);
    const [provider, model] = [newName('provider'), newName('model-')];
    await pause('tenant', id);
    await pause('model', model);
    await pause('provider', provider);
    const own = (await listPauses(test.db)).filter(({ target }) => [id, provider, model].includes(target));
    expect(own.map(({ kind, target }) => [kind, target])).toEqual([
      ['provider', provider],
      ['model', model],
      ['tenant', id],
    ]);
    expect(own[0]).toEqual({
      kind: 'provider',
      target: provider,
      ...BY,
      createdAt: expect.any(Date) as Date,
    });
  });
});
