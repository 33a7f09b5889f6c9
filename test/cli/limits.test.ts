import { describe, expect, it } from 'vitest';
import { createGeneration, listUsageLimits } from '../../src/db/index.ts';
import { callRaw, useDatabase } from '../db/database.ts';
import { create, grant, newGeneration, newTenant } from '../db/fixtures.ts';
import { estimated, started } from '../db/sales.ts';
import { untilWaiting } from '../db/waiting.ts';
import { commandsOn, jsonOf } from './run.ts';
import { awayFromTheTurn } from '../db/turns.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });
const REASON = ['--reason', 'plan change', '--actor', 'ann'];
const setLimit = (tenant: string, ...args: string[]) => darkroom('limit', 'set', tenant, ...REASON, ...args);
const ALL_NONE = {
  generationsInFlight: null,
  creditsPerDay: null,
  requestsPerMinute: null,
  cancelsPerDay: null,
};
const NONE = {
  generations_in_flight: null,
  credits_per_day: null,
  requests_per_minute: null,
  cancels_per_day: null,
};

describe('darkroom limit', () => {
  it('sets what is named and keeps the rest; none lifts', async () => {
    const { id } = await newTenant(test.db);
    expect((await darkroom('limit', 'show', id)).stdout).toBe(`${id} has no limits.\n`);
    expect(jsonOf(await setLimit(id, '--in-flight', '2', '--credits-per-day', '500', '--json'))).toEqual({
      scope: 'tenant',
      account: null,
      ...NONE,
      generations_in_flight: 2,
      credits_per_day: 500,
    });
    await setLimit(id, '--requests-per-minute', '60', '--cancels-per-day', '0');
    await setLimit(id, '--credits-per-day', 'none');
    expect(jsonOf(await darkroom('limit', 'show', id, '--json'))).toEqual([
      {
        scope: 'tenant',
        account: null,
        generations_in_flight: 2,
        credits_per_day: null,
        requests_per_minute: 60,
        cancels_per_day: 0,
      },
    ]);
    expect((await darkroom('limit', 'show', id)).stdout).toBe(
      'of          in flight  credits a day  requests a minute  cancels a day\n' +
        'the tenant          2           none                 60              0\n',
    );
    const actions = await test.db.prisma.operatorAction.findMany({
      where: { tenantId: id },
      orderBy: { id: 'asc' },
    });
    expect(actions.map(({ kind, actor, reason }) => [kind, actor, reason])).toEqual(
      Array.from({ length: 3 }, () => ['usage_limit', 'cli:ann', 'plan change']),
    );
  });

  it('really limits', async () => {
    const tenant = await newTenant(test.db);
    await setLimit(tenant.id, '--in-flight', '1');
    await create(test.db, tenant);
    expect(await createGeneration(test.db, newGeneration(tenant))).toMatchObject({
      outcome: 'limit_reached',
      limit: 'generations_in_flight',
      scope: 'tenant',
      max: 1,
    });
  });

  it('each account, and one account, whose own row begins as a copy of that of each', async () => {
    const tenant = await newTenant(test.db);
    await grant(test.db, tenant, 5, 'k', 'user-1');
    await setLimit(tenant.id, '--each-account', '--in-flight', '3', '--cancels-per-day', '9');
    await setLimit(tenant.id, '--account', 'user-1', '--cancels-per-day', 'none');
    await setLimit(tenant.id, '--account', 'user-1', '--credits-per-day', '9007199254740991');
    expect(await listUsageLimits(test.db, tenant.id)).toEqual([
      {
        scope: 'each_account',
        account: null,
        generationsInFlight: 3,
        creditsPerDay: null,
        requestsPerMinute: null,
        cancelsPerDay: 9,
      },
      {
        scope: 'account',
        account: 'user-1',
        generationsInFlight: 3,
        creditsPerDay: Number.MAX_SAFE_INTEGER,
        requestsPerMinute: null,
        cancelsPerDay: null,
      },
    ]);
  });

  it('waits for another operator, and keeps what that one changed', async () => {
    const { id } = await newTenant(test.db);
    const other = await test.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM tenant WHERE id = $1 FOR NO KEY UPDATE', [id]);
    const mine = setLimit(id, '--credits-per-day', '2');
    const limit = { ...ALL_NONE, tenantId: id, scope: 'tenant', account: null, reason: 'r', actor: 'other' };
    await untilWaiting(test, 1);
    await callRaw(other, 'set_usage_limit', { ...limit, generationsInFlight: 1 });
    await other.query('COMMIT');
    expect(await mine).toMatchObject({ code: 0 });
    expect(await listUsageLimits(test.db, id)).toMatchObject([{ generationsInFlight: 1, creditsPerDay: 2 }]);
  });

  it('refuses with 1 what is not there', async () => {
    const { id } = await newTenant(test.db);
    expect(await setLimit(id, '--account', 'nobody', '--in-flight', '1')).toMatchObject({
      code: 1,
      stderr: `${id} has no account nobody; it is made by its first grant.\n`,
    });
    for (const args of [
      ['show', 'ten_x'],
      ['set', 'ten_x', '--in-flight', '1', ...REASON],
    ]) {
      expect(await darkroom('limit', ...args)).toMatchObject({
        code: 1,
        stderr: 'There is no tenant ten_x: see "darkroom tenant list".\n',
      });
    }
    expect(await listUsageLimits(test.db, id)).toEqual([]);
  });

  it.each([
    [['--in-flight', '-1'], 'Write a whole number of generations, from 0 to 2147483647, or none.'],
    [['--in-flight', '2147483648'], 'from 0 to 2147483647, or none'],
    [['--credits-per-day', '9007199254740992'], 'from 0 to 9007199254740991, or none'],
    [['--requests-per-minute', '0'], 'Write a whole number of requests, from 1 to 2147483647, or none.'],
    [['--cancels-per-day', 'no'], 'Write a whole number of cancels'],
    [['--account', 'a', '--each-account', '--in-flight', '1'], "cannot be used with option '--each-account'"],
    [[], 'Name what to change: --in-flight'],
  ])('wrong use %j ends with 2', async (args, message) => {
    const { code, stderr } = await setLimit('ten_x', ...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) as string });
  });
});

describe('darkroom budget', () => {
  const set = (...args: string[]) => darkroom('budget', 'set', ...args, ...REASON);

  it('set, shown with what is spent, reached, lifted', async () => {
    await awayFromTheTurn('day');
    const tenant = await newTenant(test.db);
    const buy = () => started(test.db, tenant, { provider: 'kling', estimate: estimated('0.6', 'units') });
    expect((await darkroom('budget', 'show')).stdout).toBe('No provider has a budget.\n');
    await buy();
    expect(await set('kling', '1.50', 'units')).toEqual({
      code: 0,
      stdout: 'kling: at most 1.50 units a day\n',
      stderr: '',
    });
    await buy();
    expect((await darkroom('budget', 'show')).stdout).toBe(
      'provider  spent today  a day  unit   submits stopped since\n' +
        'kling             1.2    1.5  units  -\n',
    );
    await expect(buy()).rejects.toThrow('provider_closed');
    expect(jsonOf(await darkroom('budget', 'show', '--json'))).toEqual([
      {
        provider: 'kling',
        unit: 'units',
        amount_per_day: '1.5',
        spent_today: '1.2',
        reached_at: expect.stringMatching(/Z$/) as string,
      },
    ]);
    expect(await darkroom('budget', 'lift', 'kling', ...REASON)).toMatchObject({
      code: 0,
      stdout: 'kling: no budget\n',
    });
    await buy();
    expect(await darkroom('budget', 'lift', 'kling', ...REASON)).toMatchObject({
      code: 1,
      stderr: 'kling has no budget: see "darkroom budget show".\n',
    });
    const actions = await test.db.prisma.operatorAction.findMany({ where: { kind: 'provider_budget' } });
    expect(actions.map(({ actor, reason }) => [actor, reason])).toEqual([
      ['cli:ann', 'plan change'],
      ['cli:ann', 'plan change'],
    ]);
  });

  it('notes a provider or unit in which nothing was booked yet: such a budget stops nothing', async () => {
    expect((await set('infor', '5', 'USD')).stderr).toContain('no job at infor has a cost yet');
    await started(test.db, await newTenant(test.db), { provider: 'fal', estimate: estimated('1') });
    expect((await set('fal', '5', 'credits')).stderr).toContain(
      'no job at fal has a cost in credits, but in USD',
    );
    expect(await set('fal', '0', 'USD')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    ['infro', '-1', 'USD'],
    ['infro', '1e3', 'USD'],
    ['infro', 'NaN', 'USD'],
    ['infro', '1.12345678901', 'USD'],
    ['infro', '5', '$'],
    ['In fro', '5', 'USD'],
  ])('%s %s %s is wrong use', async (...args) => {
    expect(await darkroom('budget', 'set', ...REASON, '--', ...args)).toMatchObject({ code: 2, stdout: '' });
  });
});
