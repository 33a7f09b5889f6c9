import { describe, expect, it } from 'vitest';
import { deleteWebhookEndpoint } from '../../src/db/index.ts';
import { WEBHOOK_PROBLEMS } from '../../src/domain/webhook-problem.ts';
import { useDatabase } from '../db/database.ts';
import { cancelled, endpointAt, newSecret } from '../support/webhooks.ts';
import { jsonOf } from './run.ts';
import { CANARY, webhookCommands } from './webhooks.ts';

const test = useDatabase();
const { darkroom, list, setEnabled, deliveryTo, scene } = webhookCommands(test);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

describe('darkroom webhook endpoints', () => {
  it('of a tenant, newest first, with what waits, failed or is held; of the address only its origin', async () => {
    const { receiver, tenant, good, bad, at, deliver } = await scene();
    const off = await endpointAt(test.db, tenant, at('off'), { description: 'old' });
    await setEnabled(tenant, off.id, false);
    await cancelled(test.db, tenant);
    await deliver(2);
    await cancelled(test.db, tenant);
    const of = ['endpoints', '--tenant', tenant.id];
    const found = await list(...of);
    const row = {
      tenant: tenant.id,
      receiver: receiver.url,
      description: '',
      state: 'enabled',
      disabled_reason: null,
      failing_since: null,
      open_until: null,
      created_at: TIME,
      pending: 1,
      failed: 0,
      held: 0,
    };
    expect(Object.fromEntries(found.map((one) => [one.id, one]))).toEqual({
      [good.id]: { ...row, id: good.id },
      [bad.id]: { ...row, id: bad.id, failing_since: TIME, failed: 1 },
      [off.id]: {
        ...row,
        id: off.id,
        description: 'old',
        state: 'disabled',
        disabled_reason: 'tenant',
        pending: 0,
        held: 2,
      },
    });
    const times = found.map(({ created_at: at }) => String(at));
    expect(times).toEqual(times.toSorted().reverse());
    expect(idsOf(await list(...of, '--troubled')).toSorted()).toEqual([bad.id, off.id].toSorted());
    expect(idsOf(await list(...of, '--limit', '1'))).toEqual(idsOf(found).slice(0, 1));
    const text = (await darkroom(...of)).stdout;
    expect(text).toMatch(/^endpoint +tenant +receiver +state +failing since +pending +failed +held$/m);
    expect(text).toMatch(
      new RegExp(`^${off.id}  ${tenant.id}  ${receiver.url}  disabled \\(tenant\\) +0 +0 +2$`, 'm'),
    );
    expect(text + JSON.stringify(found)).not.toContain(CANARY);
    await deleteWebhookEndpoint(test.db, { tenantId: tenant.id, endpointId: good.id });
    expect(idsOf(await list(...of)).toSorted()).toEqual([bad.id, off.id].toSorted());
    const none = ['endpoints', '--tenant', `ten_${'0'.repeat(26)}`];
    expect(await darkroom(...none)).toMatchObject({ code: 0, stdout: 'No such endpoint.\n' });
    expect(await list(...none)).toEqual([]);
  });
});

describe('darkroom webhook deliveries, show', () => {
  it('finds by tenant, endpoint, generation and state, newest first', async () => {
    const { receiver, tenant, good, bad, at, deliver } = await scene();
    const other = await scene();
    await newSecret(test.db, tenant, null);
    const one = await cancelled(test.db, tenant);
    await deliver(2, true);
    const two = await cancelled(test.db, tenant, { callbackUrl: at('callback') });
    await cancelled(test.db, other.tenant);
    const of = ['deliveries', '--tenant', tenant.id];
    const all = await list(...of);
    expect(all).toHaveLength(5);
    const numbers = all.map(({ id }) => Number(id.slice(4)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
    expect(all.map((row) => row['generation_id'])).toEqual([two, two, two, one, one]);
    expect(idsOf(await list(...of, '--limit', '2'))).toEqual(idsOf(all).slice(0, 2));
    expect(await list(...of, '--state', 'delivered')).toEqual([
      {
        id: await deliveryTo(good, one),
        object: 'webhook_delivery',
        event_id: `evt_${one.slice(4)}_cancelled`,
        type: 'generation.cancelled',
        generation_id: one,
        endpoint_id: good.id,
        state: 'delivered',
        attempts: 1,
        next_attempt_at: null,
        last_status: 204,
        last_problem: null,
        created_at: TIME,
        delivered_at: TIME,
        tenant: tenant.id,
        receiver: receiver.url,
        temporal_url: expect.stringContaining(`http://ui.test/`) as string,
      },
    ]);
    expect(await list('deliveries', '--generation', two)).toHaveLength(3);
    expect(await list('deliveries', '--generation', two, '--endpoint', bad.id)).toMatchObject([
      { endpoint_id: bad.id, state: 'pending', attempts: 0, last_status: null },
    ]);
    expect(all.find((row) => row['endpoint_id'] === null)).toMatchObject({
      receiver: receiver.url,
      state: 'pending',
    });
    const failing = await deliveryTo(bad, one);
    const text = (await darkroom(...of)).stdout;
    expect(text).toMatch(
      new RegExp(
        `^${failing} +\\S+Z +generation.cancelled +${one} +${receiver.url} +pending +1 +500 http_status +\\S+Z$`,
        'm',
      ),
    );
    expect(text + JSON.stringify(all)).not.toContain(CANARY);
    expect(await darkroom(...of, '--state', 'held')).toMatchObject({
      code: 0,
      stdout: 'No such delivery.\n',
    });
  });

  it('shows the attempts of one and what comes next, never what the receiver answered', async () => {
    const { receiver, tenant, good, bad, at, deliver } = await scene();
    await newSecret(test.db, tenant, null);
    const id = await cancelled(test.db, tenant, { callbackUrl: at('callback') });
    await deliver(3, true);
    const pending = await deliveryTo(bad, id);
    const json = jsonOf(await darkroom('show', pending, '--json'));
    expect(json).toMatchObject({ id: pending, tenant: tenant.id, state: 'pending', attempts: 1 });
    expect((json as { tries: unknown }).tries).toEqual([
      {
        attempt: 1,
        at: TIME,
        duration_ms: expect.any(Number) as number,
        status: 500,
        problem: 'http_status',
        advice: WEBHOOK_PROBLEMS.http_status,
      },
    ]);
    const shown = (await darkroom('show', pending)).stdout;
    for (const line of [
      /^type +generation.cancelled$/m,
      new RegExp(`^webhook-id +evt_${id.slice(4)}_cancelled$`, 'm'),
      new RegExp(`^run +http://ui.test/.*${id}`, 'm'),
      new RegExp(`^endpoint +${bad.id}$`, 'm'),
      new RegExp(`^receiver +${receiver.url}$`, 'm'),
      /^state +pending after 1 attempt$/m,
      /^attempt 1 +\S+Z, \d+ ms, 500 http_status, It was answered/m,
      /^Next: Nothing is to be done: it is tried again by its schedule\.$/m,
    ]) {
      expect(shown).toMatch(line);
    }
    const callback = (await darkroom('show', await deliveryTo(null, id))).stdout;
    expect(callback).toMatch(/^endpoint +the callback_url of the generation$/m);
    const next = async (delivery: string) => {
      const { code, stdout } = await darkroom('show', delivery);
      expect(code).toBe(0);
      expect(stdout).not.toContain(CANARY);
      return stdout.slice(stdout.lastIndexOf('Next: '));
    };
    const delivered = await deliveryTo(good, id);
    expect(await next(delivered)).toBe('Next: Nothing is to be done: it was taken.\n');
    await setEnabled(tenant, bad.id, false);
    expect(await next(pending)).toContain(`npx darkroom webhook enable ${bad.id} --reason "…"`);
    await deleteWebhookEndpoint(test.db, { tenantId: tenant.id, endpointId: bad.id });
    expect(await next(pending)).toBe('Next: Nothing can be done: its endpoint was deleted.\n');
    const again = await endpointAt(test.db, tenant, at('bad'));
    const last = await cancelled(test.db, tenant);
    await deliver(2);
    const failed = await deliveryTo(again, last);
    expect(await next(failed)).toContain(`npx darkroom webhook redeliver ${failed} --reason "…"`);
    expect(JSON.stringify(json) + shown + callback).not.toContain(CANARY);
    for (const unknown of ['whd_999999999', 'whd_0', 'x']) {
      expect(await darkroom('show', unknown)).toEqual({
        code: 1,
        stdout: '',
        stderr: `There is no delivery ${unknown}: see "darkroom webhook deliveries".\n`,
      });
    }
  });
});
