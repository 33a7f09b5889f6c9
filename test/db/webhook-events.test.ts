import { describe, expect, it } from 'vitest';
import { deleteWebhookEndpoint, requestCancel, settle, updateWebhookEndpoint } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { accepted, create, newTenant, receive } from './fixtures.ts';
import { CANCELLED, delivered, EXPIRED, FAILED, failedAtProvider, SUCCEEDED } from './money.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { CALLBACK_URL, deliveriesOf, endedGeneration, newEndpoint } from './webhooks.ts';

const test = useDatabase();
const eventsOf = (generationId: string) =>
  test.db.prisma.webhookEvent.findMany({ where: { generationId }, orderBy: { createdAt: 'asc' } });
const idOf = (generationId: string, word: string) => `evt_${generationId.slice(4)}_${word}`;

describe('what tenants are told', () => {
  it('WHO-10 one event with a delivery for each endpoint that wants its type, held where it is disabled', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const wants = await newEndpoint(test.db, tenant);
    await newEndpoint(test.db, tenant, { types: ['generation.failed'] });
    const disabled = await newEndpoint(test.db, tenant, { types: ['generation.cancelled'] });
    await updateWebhookEndpoint(test.db, { endpointId: disabled, tenantId: tenant.id, enabled: false });
    const deleted = await newEndpoint(test.db, tenant);
    await deleteWebhookEndpoint(test.db, { endpointId: deleted, tenantId: tenant.id });
    await newEndpoint(test.db, other);
    const id = await endedGeneration(test.db, tenant, { callbackUrl: CALLBACK_URL });
    const eventId = idOf(id, 'cancelled');
    expect(await eventsOf(id)).toMatchObject([
      { id: eventId, type: 'generation.cancelled', tenantId: tenant.id, body: null },
    ]);
    const pending = { state: 'pending', eventId, attempts: 0, nextAttemptAt: expect.any(Date) as Date };
    expect(await deliveriesOf(test.db, tenant)).toMatchObject([
      { ...pending, endpointId: wants, target: wants },
      { ...pending, endpointId: disabled, target: disabled, state: 'held', nextAttemptAt: null },
      { ...pending, endpointId: null, target: `${tenant.id} https://product.example:8443` },
    ]);
    expect(await deliveriesOf(test.db, other)).toEqual([]);
  });

  it('nobody to tell, no rows', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant, { types: ['generation.failed'] });
    expect(await eventsOf(await endedGeneration(test.db, tenant))).toEqual([]);
    expect(await deliveriesOf(test.db, tenant)).toEqual([]);
  });

  it('each end has its type', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const ends = {
      succeeded: await delivered(test.db, tenant),
      failed: await failedAtProvider(test.db, tenant),
      expired: await accepted(test.db, tenant, { deadlineSeconds: 0 }),
      cancelled: await create(test.db, tenant),
    };
    await settle(test.db, ends.succeeded, SUCCEEDED);
    await settle(test.db, ends.failed, FAILED);
    await settle(test.db, ends.expired, EXPIRED);
    await requestCancel(test.db, { generationId: ends.cancelled, tenantId: tenant.id, actor: 'tenant' });
    for (const [state, id] of Object.entries(ends)) {
      expect(await eventsOf(id)).toMatchObject([{ id: idOf(id, state), type: `generation.${state}` }]);
    }
  });

  it('moves on the way go to those that chose them, numbered; never to a callback_url, and no progress', async () => {
    const tenant = await newTenant(test.db);
    const chose = await newEndpoint(test.db, tenant, { types: ['generation.updated'] });
    await newEndpoint(test.db, tenant);
    const id = await accepted(test.db, tenant, { callbackUrl: CALLBACK_URL });
    await receive(test.db, { submissionId: submissionId(id, 1), progress: 0.5 });
    await requestCancel(test.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
    const events = await test.db.prisma.generationEvent.findMany({ where: { generationId: id } });
    const moves = events.filter(({ type }) => type === 'stage' || type === 'cancellation');
    expect(moves.map(({ type }) => type)).toEqual(['stage', 'stage', 'cancellation']);
    expect((await eventsOf(id)).map((event) => event.id).toSorted()).toEqual(
      moves.map(({ seq }) => idOf(id, `updated_${seq}`)).toSorted(),
    );
    expect((await deliveriesOf(test.db, tenant)).map(({ endpointId }) => endpointId)).toEqual([
      chose,
      chose,
      chose,
    ]);
  });

  it('WHO-10 an end that is settled twice, or told again after a restore, is one event', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const id = await failedAtProvider(test.db, tenant);
    await Promise.all(Array.from({ length: 5 }, () => settle(test.db, id, FAILED)));
    await settle(test.db, id, CANCELLED);
    const once = await deliveriesOf(test.db, tenant);
    expect(once).toHaveLength(1);
    await test.sql(`SELECT emit_webhook($1, 'failed', NULL)`, [id]);
    expect(await eventsOf(id)).toHaveLength(1);
    expect(await deliveriesOf(test.db, tenant)).toEqual(once);
  });
});

describe('WHO-10 the transaction that ends a generation', () => {
  it('leaves no event when it fails at its very end', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const id = await failedAtProvider(test.db, tenant);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT settle($1::jsonb)', [JSON.stringify({ generationId: id, ...FAILED })]);
    expect((await client.query('SELECT 1 FROM webhook_delivery')).rowCount).toBeGreaterThan(0);
    // Noticed only when the transaction ends.
    await client.query(
      `WITH t AS (INSERT INTO ledger_transaction (kind, business_key, reason, actor) VALUES ('grant', 'odd', 'x', 'x') RETURNING id)
       INSERT INTO ledger_entry (transaction_id, account_id, amount) SELECT id, 'sys_world', 5 FROM t`,
    );
    await expect(client.query('COMMIT')).rejects.toThrow(/does not balance/);
    expect([await eventsOf(id), await deliveriesOf(test.db, tenant)]).toEqual([[], []]);
    await settle(test.db, id, FAILED);
    expect(await deliveriesOf(test.db, tenant)).toHaveLength(1);
  });

  it('tells listeners only when it has ended', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const id = await failedAtProvider(test.db, tenant);
    const [listener, writer] = [await test.connect(), await test.connect()];
    const heard: string[] = [];
    listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));
    await listener.query('LISTEN darkroom_webhook; LISTEN darkroom_generation');
    await writer.query('BEGIN');
    await writer.query('SELECT settle($1::jsonb)', [JSON.stringify({ generationId: id, ...FAILED })]);
    await listener.query('SELECT 1');
    expect(heard).toEqual([]);
    await writer.query('COMMIT');
    await listener.query('SELECT 1');
    expect(heard.toSorted()).toEqual([`darkroom_generation ${id}`, 'darkroom_webhook ']);
  });
});
