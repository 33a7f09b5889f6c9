import { beforeEach, describe, expect, it } from 'vitest';
import { claimSubmission, listProviderBudgets, setProviderBudget } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { facts, submissionOf } from './facts.ts';
import { accept, answer, claimOf, create, newTenant, send } from './fixtures.ts';
import { awayFromTheTurn } from './turns.ts';

const test = useDatabase({ poolSize: 30 });
let providers = 0;
// What is spent is counted by the day.
beforeEach(() => awayFromTheTurn('day'));

/** A provider that no other test uses, with a budget of so many USD. */
async function budgeted(amountPerDay: string | null): Promise<string> {
  providers += 1;
  const provider = `p${providers}`;
  if (amountPerDay !== null) await budget(provider, amountPerDay);
  return provider;
}
const budget = (provider: string, amountPerDay: string | null, unit: string | null = 'USD') =>
  setProviderBudget(test.db, { provider, amountPerDay, unit, reason: 'contract', actor: 'ops' });
const spent = async (provider: string) =>
  (await listProviderBudgets(test.db)).find((row) => row.provider === provider)?.spentToday;
const usd = (amount: string) => ({ estimatedCost: { amount, unit: 'USD' } });
const queued = async (count: number) => {
  const tenant = await newTenant(test.db, count * 100);
  return Promise.all(Array.from({ length: count }, () => create(test.db, tenant)));
};
const claim = (id: string, provider: string, over: object = usd('1')) =>
  claimSubmission(test.db, claimOf(id, { provider, ...over }));

describe('the budget of a provider', () => {
  it('of 30 claims at once exactly those that fit are sent, and the first refusal alone alerts', async () => {
    const provider = await budgeted('7.5');
    const claims = await Promise.all((await queued(30)).map((id) => claim(id, provider)));
    expect(tally(claims.map(({ outcome }) => outcome))).toEqual({ send: 7, provider_closed: 23 });
    const closed = claims.filter((answer) => answer.outcome === 'provider_closed');
    expect(closed.filter(({ alert }) => alert)).toHaveLength(1);
    for (const { reason, inMs } of closed) {
      expect(reason).toBe('daily_budget');
      expect(inMs).toBeLessThanOrEqual(86_400_000);
    }
    expect(await spent(provider)).toBe('7');
  });

  it('two claims of which one fits: one is sent, the other stays as it was', async () => {
    const provider = await budgeted('1.0000000001');
    const ids = await queued(2);
    const claims = await Promise.all(ids.map((id) => claim(id, provider)));
    expect(claims.map(({ outcome }) => outcome).toSorted()).toEqual(['provider_closed', 'send']);
    const refused = ids[claims.findIndex(({ outcome }) => outcome === 'provider_closed')]!;
    expect(await facts(test.db, refused)).toMatchObject({ state: 'queued', stage: 'queued', hold: 'held' });
    expect(await test.sql('SELECT 1 FROM submission WHERE generation_id = $1', [refused])).toEqual([]);
  });

  it.each(['refused', 'capacity', 'not_sent'] as const)(
    'an answer that nothing was bought (%s) takes the estimate back',
    async (kind) => {
      const provider = await budgeted('1');
      const [first, second] = (await queued(2)) as [string, string];
      const fence = await send(test.db, first, { provider, ...usd('1') });
      expect(await claim(second, provider)).toMatchObject({ outcome: 'provider_closed' });
      await answer(test.db, first, fence, kind);
      expect(await spent(provider)).toBe('0');
      expect(await submissionOf(test.db, first)).toMatchObject({ costAmount: null, costSource: null });
      expect(await claim(second, provider)).toMatchObject({ outcome: 'send' });
    },
  );

  it('a lost answer keeps its estimate, and its replay needs no room', async () => {
    const provider = await budgeted('1');
    const [first, second] = (await queued(2)) as [string, string];
    await answer(test.db, first, await send(test.db, first, { provider, ...usd('1') }), 'unknown');
    expect(await spent(provider)).toBe('1');
    expect(await claim(second, provider)).toMatchObject({ outcome: 'provider_closed' });
    const replay = await claim(first, provider, { ...usd('1'), replay: true });
    expect(replay).toMatchObject({ outcome: 'send', fence: 2 });
    await answer(test.db, first, 2, 'refused');
    expect(await spent(provider)).toBe('1');
  });

  it('counts estimates and final costs in its unit only, of today only', async () => {
    const provider = await budgeted('10');
    const [first, second, third] = (await queued(3)) as [string, string, string];
    await claim(first, provider, usd('4'));
    await accept(test.db, first);
    await claim(second, provider, { estimatedCost: { amount: '500', unit: 'credits' } });
    expect(await spent(provider)).toBe('4');
    await claim(third, provider, usd('6'));
    expect(await spent(provider)).toBe('10');
    await test.sql(
      `UPDATE submission SET first_sent_at = first_sent_at - interval '1 day' WHERE generation_id = $1`,
      [first],
    );
    expect(await spent(provider)).toBe('6');
  });

  it('of zero stops all, lifted stops none; a changed one alerts anew; each change is on record', async () => {
    const provider = await budgeted('0');
    const [first, second, third] = (await queued(3)) as [string, string, string];
    const free = { estimatedCost: null };
    expect(await claim(first, provider, free)).toMatchObject({ outcome: 'provider_closed', alert: true });
    expect(await claim(second, provider, free)).toMatchObject({ outcome: 'provider_closed', alert: false });
    expect(await budget(provider, '0.5')).toEqual({ outcome: 'set' });
    expect(await claim(first, provider)).toMatchObject({ outcome: 'provider_closed', alert: true });
    expect(await budget(provider, null, null)).toEqual({ outcome: 'lifted' });
    expect(await claim(first, provider)).toMatchObject({ outcome: 'send' });
    expect(await claim(third, await budgeted(null))).toMatchObject({ outcome: 'send' });
    const actions = await test.sql<{ detail: object }>(
      `SELECT detail FROM operator_action WHERE detail ->> 'provider' = $1 ORDER BY id`,
      [provider],
    );
    expect(actions.map(({ detail }) => detail)).toMatchObject([
      { amountPerDay: '0' },
      { amountPerDay: '0.5' },
      { amountPerDay: null },
    ]);
  });

  it('in exact decimals: ten times 0.1 fit into 1, not one more', async () => {
    const provider = await budgeted('1');
    for (const id of await queued(10))
      expect(await claim(id, provider, usd('0.1'))).toHaveProperty('outcome', 'send');
    expect(await spent(provider)).toBe('1');
    expect(await claim((await queued(1))[0]!, provider, usd('0.0000000001'))).toMatchObject({
      outcome: 'provider_closed',
    });
  });
});
