import { describe, expect, it } from 'vitest';
import { refundGeneration, settle } from '../../src/db/index.ts';
import { useDatabase } from '../db/database.ts';
import { accepted, create, grant, newTenant, observe } from '../db/fixtures.ts';
import { sold } from '../db/sales.ts';
import { commandsOn, jsonOf } from './run.ts';

const test = useDatabase();
const darkroom = commandsOn({ databaseUrl: () => test.url });

interface Printed {
  readonly credits: object;
  readonly entries: readonly {
    readonly type: string;
    readonly available: number;
    readonly held: number;
    readonly available_after: number;
    readonly held_after: number;
    readonly reason: string | null;
  }[];
}
const ledger = async (...args: string[]) => jsonOf(await darkroom('ledger', ...args, '--json')) as Printed;

describe('darkroom ledger', () => {
  it('G2 a failed generation: HOLD -226, RELEASE +226, and the sums are exact', async () => {
    const tenant = await newTenant(test.db, 0);
    await grant(test.db, tenant, 1_000, 'order-1');
    const id = await accepted(test.db, tenant, { credits: 226 });
    await observe(test.db, id, 'failed');
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
    const { credits, entries } = await ledger(tenant.id);
    expect(credits).toEqual({ available: 1_000, held: 0, spent: 0, granted: 1_000 });
    expect(entries.map((e) => [e.type, e.available, e.held, e.available_after, e.held_after])).toEqual([
      ['release', 226, -226, 1_000, 0],
      ['hold', -226, 226, 774, 226],
      ['grant', 1_000, 0, 1_000, 0],
    ]);
  });

  it('running sums go from nothing to the balance through everything that can happen', async () => {
    const tenant = await newTenant(test.db, 1_000);
    const id = await sold(test.db, tenant, { outputs: 3, lost: 1 });
    await refundGeneration(test.db, { generationId: id, credits: 30, reason: 'bad', note: null, actor: 'x' });
    await create(test.db, tenant, { credits: 50 });
    const { credits, entries } = await ledger(tenant.id);
    expect(credits).toEqual({ available: 780, held: 50, spent: 170, granted: 1_000 });
    expect(entries.map(({ type }) => type).toSorted()).toEqual([
      'capture',
      'grant',
      'hold',
      'hold',
      'refund',
      'release',
    ]);
    let [available, held] = [0, 0];
    for (const entry of entries.toReversed()) {
      available += entry.available;
      held += entry.held;
      expect([entry.available_after, entry.held_after]).toEqual([available, held]);
    }
    expect({ available, held }).toEqual({ available: 780, held: 50 });
    expect((await ledger(tenant.id, '--limit', '2')).entries).toEqual(entries.slice(0, 2));
  });

  it('as a table, of the account that is named', async () => {
    const tenant = await newTenant(test.db, 0);
    await grant(test.db, tenant, 250, 'k', 'user-1');
    const { stdout } = await darkroom('ledger', tenant.id, '--account', 'user-1');
    const [head, line, , sums] = stdout.split('\n');
    expect(head).toMatch(/^at +entry  available  held  available after  held after  generation  reason$/);
    expect(line).toMatch(/^\S+Z  grant       \+250     0              250           0  -           test$/);
    expect(sums).toBe('user-1: 250 available, 0 held, 0 spent, 250 granted');
    expect((await ledger(tenant.id)).entries).toEqual([]);
  });

  it('refuses what is not there', async () => {
    const tenant = await newTenant(test.db);
    expect(await darkroom('ledger', 'ten_x')).toMatchObject({
      code: 1,
      stderr: 'There is no tenant ten_x: see "darkroom tenant list".\n',
    });
    expect(await darkroom('ledger', tenant.id, '--account', 'nobody')).toMatchObject({
      code: 1,
      stderr: `${tenant.id} has no account nobody; it has default.\n`,
    });
    expect(await darkroom('ledger', tenant.id, '--limit', 'all')).toMatchObject({ code: 2 });
  });
});

describe('darkroom grant', () => {
  it('gives once per reference, by a person', async () => {
    const tenant = await newTenant(test.db, 0);
    const give = (...args: string[]) =>
      darkroom('grant', tenant.id, '500', '--reference', 'order-1', ...args);
    expect(await give('--actor', 'ann')).toEqual({ code: 0, stdout: 'granted 500 credits\n', stderr: '' });
    expect(await give()).toMatchObject({ code: 0, stdout: 'granted before, nothing changed\n' });
    expect(await give('--account', 'user-1')).toMatchObject({ code: 1 });
    expect(
      await test.db.prisma.ledgerTransaction.findMany({ where: { kind: 'grant', actor: 'cli:ann' } }),
    ).toHaveLength(1);
    expect(await give('--account', 'not an account')).toMatchObject({ code: 2 });
    for (const reference of ['api:order-1', '', 'two words']) {
      const wrong = await darkroom('grant', tenant.id, '500', '--reference', reference);
      expect(wrong).toMatchObject({ code: 2 });
      expect(wrong.stderr).toContain('do not begin with "api:"');
    }
    expect((await ledger(tenant.id)).credits).toMatchObject({ available: 500, granted: 500 });
  });
});
