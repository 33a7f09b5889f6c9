import { describe, expect, it } from 'vitest';
import { deleteWebhookEndpoint } from '../../src/db/index.ts';
import { useDatabase } from '../db/database.ts';
import type { Tenant } from '../db/fixtures.ts';
import { cancelled } from '../support/webhooks.ts';
import { jsonOf } from './run.ts';
import { webhookCommands } from './webhooks.ts';

const test = useDatabase();
const { darkroom, list, setEnabled, deliveryTo, scene } = webhookCommands(test);
const BY = ['--reason', 'ticket 4711', '--actor', 'ann'];
const LONG_AGO = '2020-01-01T00:00:00Z';
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
const recordOf = (tenant: Tenant) =>
  test.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id }, orderBy: { id: 'asc' } });
const stateOf = async (id: string) =>
  (await test.db.prisma.webhookDelivery.findUniqueOrThrow({ where: { id: BigInt(id.slice(4)) } })).state;

describe('darkroom webhook redeliver, enable', () => {
  it('sends one again under the same id, and keeps who and why; a dry run changes nothing', async () => {
    const { receiver, tenant, good, bad, deliver } = await scene();
    const id = await cancelled(test.db, tenant);
    await deliver(2);
    const failed = await deliveryTo(bad, id);
    const trial = await darkroom('redeliver', failed, ...BY, '--dry-run');
    expect(trial).toMatchObject({
      code: 0,
      stdout: `${failed} would be sent again; nothing was changed\n`,
    });
    expect(jsonOf(await darkroom('redeliver', failed, ...BY, '--dry-run', '--json'))).toMatchObject({
      id: failed,
      dry_run: true,
      state: 'pending',
    });
    expect([await stateOf(failed), await recordOf(tenant)]).toEqual(['failed', []]);
    expect(jsonOf(await darkroom('redeliver', failed, ...BY, '--json'))).toMatchObject({
      id: failed,
      dry_run: false,
      state: 'pending',
      next_attempt_at: TIME,
    });
    const taken = await deliveryTo(good, id);
    expect(await darkroom('redeliver', taken, ...BY)).toMatchObject({
      code: 0,
      stdout: `${taken} is sent again\n`,
    });
    await deliver(2);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([4, 1]);
    const action = { kind: 'redeliver', actor: 'cli:ann', reason: 'ticket 4711', generationId: id };
    expect(await recordOf(tenant)).toMatchObject([
      { ...action, detail: { delivery: failed, endpoint: bad.id } },
      { ...action, detail: { delivery: taken, endpoint: good.id } },
    ]);

    await setEnabled(tenant, bad.id, false);
    const disabled = await darkroom('redeliver', failed, ...BY);
    expect([disabled.code, disabled.stdout]).toEqual([1, '']);
    expect(disabled.stderr).toContain(`npx darkroom webhook enable ${bad.id} --reason "…"`);
    await deleteWebhookEndpoint(test.db, { tenantId: tenant.id, endpointId: bad.id });
    expect(await darkroom('redeliver', failed, ...BY)).toMatchObject({
      code: 1,
      stderr: 'Its endpoint was deleted: what went there is not sent again.\n',
    });
    expect(await darkroom('redeliver', 'whd_999999999', ...BY)).toMatchObject({
      code: 1,
      stderr: 'There is no delivery whd_999999999: see "darkroom webhook deliveries".\n',
    });
    expect(await recordOf(tenant)).toHaveLength(2);
  });

  it('what an endpoint missed: enabled first, then all of it since a time, with --all also what it took', async () => {
    const { receiver, tenant, bad, deliver } = await scene();
    const failed = await deliveryTo(bad, await cancelled(test.db, tenant));
    await deliver(2);
    await setEnabled(tenant, bad.id, false);
    const held = await deliveryTo(bad, await cancelled(test.db, tenant));
    const since = (time: string, ...more: string[]) =>
      darkroom('redeliver', '--endpoint', bad.id, '--since', time, ...BY, ...more);
    expect(await since(LONG_AGO)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`npx darkroom webhook enable ${bad.id} --reason "…"`) as string,
    });

    const isDisabled = async () => (await list('endpoints', '--tenant', tenant.id, '--troubled')).length > 0;
    expect((await darkroom('enable', bad.id, ...BY, '--dry-run')).stdout).toBe(
      `${bad.id} would be enabled; nothing was changed\n`,
    );
    expect([await isDisabled(), await recordOf(tenant)]).toEqual([true, []]);
    expect(jsonOf(await darkroom('enable', bad.id, ...BY, '--json'))).toEqual({
      id: bad.id,
      dry_run: false,
      outcome: 'enabled',
    });
    expect([await isDisabled(), await stateOf(held)]).toEqual([false, 'held']);
    expect((await darkroom('enable', bad.id, ...BY)).stdout).toContain(
      `npx darkroom webhook redeliver --endpoint ${bad.id} --since TIME --reason "…"`,
    );

    receiver.answer = () => 204;
    const count = { endpoint: bad.id, next_since: null };
    expect(jsonOf(await since('2999-01-01T00:00:00+01:00', '--json'))).toEqual({
      ...count,
      dry_run: false,
      count: 0,
    });
    expect(jsonOf(await since(LONG_AGO, '--dry-run', '--json'))).toEqual({
      ...count,
      dry_run: true,
      count: 2,
    });
    expect([await stateOf(failed), await stateOf(held)]).toEqual(['failed', 'held']);
    expect(await since(LONG_AGO)).toMatchObject({ code: 0, stdout: '2 are sent again\n' });
    await deliver(2);
    expect([await stateOf(failed), await stateOf(held)]).toEqual(['delivered', 'delivered']);
    expect((await since(LONG_AGO, '--dry-run')).stdout).toBe('0 would be sent again; nothing was changed\n');
    expect((await since(LONG_AGO, '--all', '--dry-run')).stdout).toBe(
      '2 would be sent again; nothing was changed\n',
    );
    const by = { actor: 'cli:ann', reason: 'ticket 4711', generationId: null };
    expect(await recordOf(tenant)).toMatchObject([
      { ...by, kind: 'enable_endpoint', detail: { endpoint: bad.id } },
      { ...by, kind: 'enable_endpoint' },
      { ...by, kind: 'redeliver', detail: { endpoint: bad.id, all: false, count: 0 } },
      { ...by, kind: 'redeliver', detail: { since: '2020-01-01T00:00:00.000Z', all: false, count: 2 } },
    ]);
  });

  it('an unknown endpoint is 1, wrong use is 2, and both say what to do', async () => {
    const unknown = `whe_${'0'.repeat(26)}`;
    for (const id of [unknown, 'x']) {
      const refused = { code: 1, stderr: `There is no endpoint ${id}: see "darkroom webhook endpoints".\n` };
      expect(await darkroom('enable', id, ...BY)).toMatchObject(refused);
      expect(await darkroom('redeliver', '--endpoint', id, '--since', LONG_AGO, ...BY)).toMatchObject(
        refused,
      );
    }
    for (const [args, advice] of [
      [['redeliver', ...BY], 'Name one delivery'],
      [['redeliver', 'whd_1', '--since', LONG_AGO, ...BY], 'Name one delivery'],
      [['redeliver', 'whd_1', '--all', ...BY], 'Name one delivery'],
      [['redeliver', '--endpoint', unknown, ...BY], 'Name one delivery'],
      [['redeliver', '--endpoint', unknown, '--since', '2026-11-29', ...BY], 'ISO 8601'],
      [['redeliver', '--endpoint', unknown, '--since', '2026-11-29T12:00:00', ...BY], 'ISO 8601'],
      [['redeliver', '--endpoint', unknown, '--since', '2026-02-30T12:00:00Z', ...BY], 'ISO 8601'],
      [['redeliver', 'whd_1'], '--reason'],
      [['redeliver', 'whd_1', '--reason', ' '], 'Write 1 to 500 characters'],
      [['enable', unknown], '--reason'],
      [['deliveries', '--state', 'lost'], 'delivered'],
      [['deliveries', '--limit', '0'], 'from 1 to 1000'],
      [['endpoints', '--limit', '1001'], 'from 1 to 1000'],
    ] as const) {
      const { code, stdout, stderr } = await darkroom(...args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toContain(advice);
    }
  });
});
