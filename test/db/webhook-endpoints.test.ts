import { describe, expect, it } from 'vitest';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  keepWebhookBody,
  rotateWebhookSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { tally, useDatabase } from './database.ts';
import { newTenant } from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import {
  claim,
  claimOne,
  deliveriesOf,
  endedGeneration,
  endpointOf,
  newDefaultSecret,
  newEndpoint,
  newEndpointOf,
  record,
} from './webhooks.ts';

const test = useDatabase({ poolSize: 16 });
const DAY_MS = 86_400_000;
const secret = Buffer.from('first');
const secretsOf = async (tenant: Tenant, endpointId: string | null) => {
  const rows = await test.db.prisma.webhookSecret.findMany({
    where: { tenantId: tenant.id, endpointId },
    orderBy: { id: 'desc' },
  });
  return rows.map(({ sealed, keyId, expiresAt }) => [
    Buffer.from(sealed).toString(),
    keyId,
    expiresAt !== null,
  ]);
};
const states = async (tenant: Tenant) =>
  tally((await deliveriesOf(test.db, tenant)).map(({ state }) => state));

describe('create_webhook_endpoint', () => {
  it('once per idempotency key and tenant; another request under it is refused', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const wanted = newEndpointOf(tenant);
    const create = (over: object = {}) =>
      createWebhookEndpoint(test.db, { ...wanted, endpointId: newId('whe'), ...over }, secret);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 1, replayed: 7 });
    const [id] = new Set(answers.map(({ endpointId }) => endpointId));
    expect(new Set(answers.map(({ endpointId }) => endpointId)).size).toBe(1);
    expect(await create({ requestSha256: 'cd'.repeat(32) })).toEqual({
      outcome: 'key_reuse',
      endpointId: id,
    });
    expect(await create({ tenantId: other.id })).toMatchObject({ outcome: 'created' });
    expect(await secretsOf(tenant, id!)).toEqual([['first', 'k1', false]]);
  });

  it('at most so many live ones, also of many asked for at once; a deleted one makes room', async () => {
    const tenant = await newTenant(test.db);
    const create = () => createWebhookEndpoint(test.db, newEndpointOf(tenant, { maxEndpoints: 3 }), secret);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 3, too_many: 5 });
    const { endpointId } = answers.find(({ outcome }) => outcome === 'created')!;
    await deleteWebhookEndpoint(test.db, { endpointId: endpointId!, tenantId: tenant.id });
    expect(await create()).toMatchObject({ outcome: 'created' });
  });
});

describe('update_webhook_endpoint', () => {
  it('changes what is given and nothing else, of its own tenant only', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const endpointId = await newEndpoint(test.db, tenant, { description: 'one' });
    const of = { endpointId, tenantId: tenant.id };
    const before = await endpointOf(test.db, endpointId);
    expect(await updateWebhookEndpoint(test.db, { ...of, endOn4xx: true })).toEqual({ outcome: 'updated' });
    expect(await endpointOf(test.db, endpointId)).toEqual({
      ...before,
      endOn4xx: true,
      updatedAt: expect.any(Date) as Date,
    });
    const types = ['generation.updated'];
    await updateWebhookEndpoint(test.db, { ...of, url: 'https://b.example/', types, description: '' });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({
      url: 'https://b.example/',
      types,
      description: '',
      endOn4xx: true,
    });
    const foreign = { endpointId, tenantId: other.id, url: 'https://evil.example/' };
    expect(await updateWebhookEndpoint(test.db, foreign)).toEqual({ outcome: 'not_found' });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({ url: 'https://b.example/' });
  });

  it('disabled: what waits is held; enabled: begins afresh, what was held stays so', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    const of = { endpointId, tenantId: tenant.id };
    await endedGeneration(test.db, tenant);
    await record(test.db, await claimOne(test.db), 'failed');
    await updateWebhookEndpoint(test.db, { ...of, enabled: false });
    const { disabledAt } = await endpointOf(test.db, endpointId);
    await updateWebhookEndpoint(test.db, { ...of, enabled: false, url: 'https://c.example/' });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({ disabledAt, disabledReason: 'tenant' });
    await endedGeneration(test.db, tenant);
    expect(await states(tenant)).toEqual({ held: 2 });
    await updateWebhookEndpoint(test.db, { ...of, enabled: true });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({
      disabledAt: null,
      disabledReason: null,
      failures: 0,
      failingSince: null,
    });
    await endedGeneration(test.db, tenant);
    expect(await states(tenant)).toEqual({ held: 2, pending: 1 });
    await record(test.db, await claimOne(test.db), 'delivered');
  });

  it('a new URL begins afresh, and closes the circuit of the old one', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    await test.sql(
      `UPDATE webhook_endpoint SET failures = 9, failing_since = now(), open_until = now() + interval '1 hour' WHERE id = $1`,
      [endpointId],
    );
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, description: 'same URL' });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({ failures: 9 });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, url: 'https://d.example/' });
    expect(await endpointOf(test.db, endpointId)).toMatchObject({
      failures: 0,
      failingSince: null,
      openUntil: null,
    });
  });
});

describe('delete_webhook_endpoint', () => {
  it('cancels what waits or is held, keeps what was, and forgets the secrets', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const endpointId = await newEndpoint(test.db, tenant);
    const of = { endpointId, tenantId: tenant.id };
    await endedGeneration(test.db, tenant);
    await record(test.db, await claimOne(test.db), 'delivered');
    await endedGeneration(test.db, tenant);
    await updateWebhookEndpoint(test.db, { ...of, enabled: false });
    await updateWebhookEndpoint(test.db, { ...of, enabled: true });
    await endedGeneration(test.db, tenant);
    expect(await deleteWebhookEndpoint(test.db, { ...of, tenantId: other.id })).toEqual({
      outcome: 'not_found',
    });
    expect(await deleteWebhookEndpoint(test.db, of)).toEqual({ outcome: 'deleted' });
    expect(await states(tenant)).toEqual({ delivered: 1, cancelled: 2 });
    expect(await secretsOf(tenant, endpointId)).toEqual([]);
    expect(await deleteWebhookEndpoint(test.db, of)).toEqual({ outcome: 'not_found' });
    expect(await updateWebhookEndpoint(test.db, { ...of, enabled: true })).toEqual({ outcome: 'not_found' });
    const rotate = { ...of, keyId: 'k1', overlapMs: 0 };
    expect(await rotateWebhookSecret(test.db, rotate, secret)).toEqual({ outcome: 'not_found' });
  });
});

describe('rotate_webhook_secret', () => {
  it('WHO-4 the new one signs with those before it until their time', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    const rotate = (keyId: string, overlapMs: number) =>
      rotateWebhookSecret(test.db, { tenantId: tenant.id, endpointId, keyId, overlapMs }, Buffer.from(keyId));
    const signing = async () => {
      await endedGeneration(test.db, tenant);
      const claimed = await claimOne(test.db);
      await record(test.db, claimed, 'delivered');
      return claimed.secrets.map(({ sealed }) => sealed.toString());
    };
    expect(await signing()).toEqual(['first']);
    expect(await rotate('k2', DAY_MS)).toEqual({ outcome: 'rotated' });
    expect(await signing()).toEqual(['k2', 'first']);
    await rotate('k3', DAY_MS);
    expect(await signing()).toEqual(['k3', 'k2', 'first']);
    await test.sql(`UPDATE webhook_secret SET expires_at = now() WHERE sealed = 'first'`);
    expect(await signing()).toEqual(['k3', 'k2']);
    await test.sql(`UPDATE webhook_secret SET expires_at = now() WHERE expires_at IS NOT NULL`);
    expect(await signing()).toEqual(['k3']);
    await rotate('k4', 0);
    expect(await signing()).toEqual(['k4']);
    const other = await newTenant(test.db);
    const foreign = { tenantId: other.id, endpointId, keyId: 'k5', overlapMs: 0 };
    expect(await rotateWebhookSecret(test.db, foreign, secret)).toEqual({ outcome: 'not_found' });
    expect(await signing()).toEqual(['k4']);
  });

  it('the first default secret of a tenant is made once, whoever asks first', async () => {
    const tenant = await newTenant(test.db);
    const first = { tenantId: tenant.id, endpointId: null, keyId: 'k1', overlapMs: DAY_MS, onlyFirst: true };
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => rotateWebhookSecret(test.db, first, Buffer.from(`${i}`))),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ rotated: 1, exists: 5 });
    await newDefaultSecret(test.db, tenant, 'second');
    expect((await secretsOf(tenant, null)).map(([, keyId, ends]) => [keyId, ends])).toEqual([
      ['k1', false],
      ['k1', true],
    ]);
    const nobody = { ...first, tenantId: newId('ten') };
    expect(await rotateWebhookSecret(test.db, nobody, secret)).toEqual({ outcome: 'not_found' });
  });

  it('rotated by many at once, one is current and at most four more sign', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    const rotate = { tenantId: tenant.id, endpointId, keyId: 'k2', overlapMs: DAY_MS };
    await Promise.all(Array.from({ length: 8 }, () => rotateWebhookSecret(test.db, rotate, secret)));
    expect((await secretsOf(tenant, endpointId)).map(([, , ends]) => ends)).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
  });
});

describe('the bytes of an event', () => {
  it('WHO-3 the first writer’s stand, for all its attempts', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const { eventId, deliveryId } = await claimOne(test.db);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => keepWebhookBody(test.db, { eventId, body: `{"n":${i}}` })),
    );
    expect(new Set(answers).size).toBe(1);
    expect(await keepWebhookBody(test.db, { eventId, body: '{"n":9}' })).toBe(answers[0]);
    await record(test.db, { deliveryId, attempt: 1 }, 'failed');
    await test.sql('UPDATE webhook_delivery SET next_attempt_at = now() WHERE id = $1', [deliveryId]);
    const again = await claimOne(test.db);
    expect(again).toMatchObject({ attempt: 2, body: answers[0] });
    await record(test.db, again, 'delivered');
  });

  it('of an event that is gone, none: nothing is sent', async () => {
    expect(await keepWebhookBody(test.db, { eventId: 'evt_nothing', body: '{}' })).toBeNull();
  });
});

describe('test_webhook_endpoint', () => {
  it('an event of its own, also beside its types; not for a disabled, deleted or foreign one', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const endpointId = await newEndpoint(test.db, tenant, { types: ['generation.failed'] });
    const of = { endpointId, tenantId: tenant.id, body: '{"type":"webhook.test"}' };
    const tried = await testWebhookEndpoint(test.db, { ...of, eventId: 'evt_test_1' });
    expect(tried).toEqual({ outcome: 'created', deliveryId: expect.any(Number) as number });
    const claimed = await claim(test.db);
    expect(claimed).toMatchObject([
      {
        type: 'webhook.test',
        generationId: null,
        endpointId,
        body: of.body,
        eventId: 'evt_test_1',
        attempt: 1,
      },
    ]);
    await record(test.db, claimed[0]!, 'delivered');
    const foreign = { ...of, tenantId: other.id, eventId: 'evt_test_2' };
    expect(await testWebhookEndpoint(test.db, foreign)).toEqual({ outcome: 'not_found' });
    await updateWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id, enabled: false });
    expect(await testWebhookEndpoint(test.db, { ...of, eventId: 'evt_test_3' })).toEqual({
      outcome: 'endpoint_disabled',
    });
    await deleteWebhookEndpoint(test.db, { endpointId, tenantId: tenant.id });
    expect(await testWebhookEndpoint(test.db, { ...of, eventId: 'evt_test_4' })).toEqual({
      outcome: 'not_found',
    });
    expect(await deliveriesOf(test.db, tenant)).toHaveLength(1);
  });
});
