import { describe, expect, it } from 'vitest';
import { callRaw, tally, useDatabase } from './database.ts';
import { accept, claimOf, create, newTenant, send } from './fixtures.ts';
import { BY, newName, pausingOn, planOn } from './pausing.ts';
import { untilWaiting } from './waiting.ts';

const test = useDatabase({ poolSize: 12 });
const { pause, resume, claim, dueInMs } = pausingOn(test);

describe('resuming makes those that wait due', () => {
  it('of that provider, at any place of the route list; not those that wait for another pause', async () => {
    const tenant = await newTenant(test.db, 10_000);
    const stopped = await newTenant(test.db);
    const [a, b, c] = [newName('provider'), newName('provider'), newName('provider')];
    const first = await create(test.db, tenant, { plan: planOn(a) });
    const second = await create(test.db, tenant, { plan: planOn(b, a) });
    const elsewhere = await create(test.db, tenant, { plan: planOn(c) });
    const sent = await create(test.db, tenant, { plan: planOn(a) });
    const both = await create(test.db, stopped, { plan: planOn(a) });
    await send(test.db, sent, { provider: a });
    await accept(test.db, sent);
    await pause('provider', a);
    await pause('tenant', stopped.id);
    await Promise.all([first, second, both].map((id) => claim(id, a)));
    await test.sql(`UPDATE generation SET due_at = now() + interval '5 minutes' WHERE id = ANY($1)`, [
      [elsewhere, sent],
    ]);

    expect(await resume('provider', a)).toMatchObject({
      outcome: 'resumed',
      due: 2,
      pause: { target: a, ...BY },
    });
    expect(await dueInMs(first)).toBeLessThanOrEqual(0);
    expect(await dueInMs(second)).toBeLessThanOrEqual(0 + 10);
    for (const id of [elsewhere, sent, both]) expect(await dueInMs(id)).toBeGreaterThan(200_000);

    expect(await resume('tenant', stopped.id)).toMatchObject({ outcome: 'resumed', due: 1 });
    expect(await dueInMs(both)).toBeLessThanOrEqual(0);
  });

  it('of a model; one after the other, so that they do not hold up what else is due', async () => {
    const tenant = await newTenant(test.db, 100_000);
    const model = newName('model-');
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) ids.push(await create(test.db, tenant, { model }));
    await pause('model', model);
    await Promise.all(ids.map((id) => claim(id, 'infro')));
    expect(await resume('model', model)).toMatchObject({ due: 30 });
    const rows = await test.sql<{ id: string; due_at: Date }>(
      'SELECT id, due_at FROM generation WHERE id = ANY($1) ORDER BY id',
      [ids],
    );
    const [oldest, newest] = [rows[0]!.due_at.getTime(), rows.at(-1)!.due_at.getTime()];
    expect(newest - oldest).toBeGreaterThanOrEqual(290);
    expect(rows.map(({ due_at: at }) => at.getTime())).toEqual(
      rows.map(({ due_at: at }) => at.getTime()).toSorted((x, y) => x - y),
    );
    expect(await dueInMs(ids[0]!)).toBeLessThanOrEqual(0);
  });
});

describe('at the same time', () => {
  it('a pause waits for a claim under way; when it has returned no claim sends, also one that came before it', async () => {
    const provider = newName('provider');
    const tenant = await newTenant(test.db);
    const [first, second] = [await create(test.db, tenant), await create(test.db, tenant)];
    const client = await test.connect();
    await client.query('BEGIN');
    const sends = await callRaw(client, 'claim_submission', { ...claimOf(first, { provider }) } as never);
    expect(sends['outcome']).toBe('send');
    const pausing = pause('provider', provider);
    await untilWaiting(test, 1);
    const claiming = claim(second, provider);
    await untilWaiting(test, 2);
    await client.query('COMMIT');
    expect((await pausing).outcome).toBe('paused');
    expect(await claiming).toMatchObject({ outcome: 'provider_closed', reason: 'provider_paused' });
  });

  it('a claim waits for a pause under way, and sends when that is undone', async () => {
    const provider = newName('provider');
    const id = await create(test.db, await newTenant(test.db));
    const client = await test.connect();
    await client.query('BEGIN');
    await callRaw(client, 'pause_target', { kind: 'provider', target: provider, ...BY });
    const claiming = claim(id, provider);
    await untilWaiting(test, 1);
    await client.query('ROLLBACK');
    expect((await claiming).outcome).toBe('send');
  });

  it('a claim that saw the pause and is not done yet is made due by the resume', async () => {
    const provider = newName('provider');
    const id = await create(test.db, await newTenant(test.db), { plan: planOn(provider) });
    await pause('provider', provider);
    const client = await test.connect();
    await client.query('BEGIN');
    const waits = await callRaw(client, 'claim_submission', { ...claimOf(id, { provider }) } as never);
    expect(waits['reason']).toBe('provider_paused');
    const resuming = resume('provider', provider);
    await untilWaiting(test, 1);
    await client.query('COMMIT');
    expect(await resuming).toMatchObject({ outcome: 'resumed', due: 1 });
    expect(await dueInMs(id)).toBeLessThanOrEqual(0);
  });

  it('a resume does not wait for a row that somebody holds, nor the holder for it', async () => {
    const tenant = await newTenant(test.db);
    const [held, free] = [await create(test.db, tenant), await create(test.db, tenant)];
    await pause('tenant', tenant.id);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM generation WHERE id = $1 FOR UPDATE', [held]);
    expect(await resume('tenant', tenant.id)).toMatchObject({ outcome: 'resumed', due: 1 });
    await client.query('COMMIT');
    expect(await dueInMs(free)).toBeLessThanOrEqual(0);
    expect((await claim(held, 'infro')).outcome).toBe('send');
  });

  it('forty claims and a pause among them: each that sends has a row, none begins after the pause', async () => {
    const provider = newName('provider');
    const tenant = await newTenant(test.db, 10_000);
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) ids.push(await create(test.db, tenant));
    const claims = ids.slice(0, 20).map((id) => claim(id, provider));
    const pausing = pause('provider', provider);
    claims.push(...ids.slice(20, 30).map((id) => claim(id, provider)));
    await pausing;
    const after = await Promise.all(ids.slice(30).map((id) => claim(id, provider)));
    expect(tally(after.map(({ outcome }) => outcome))).toEqual({ provider_closed: 10 });
    const outcomes = tally((await Promise.all(claims)).map(({ outcome }) => outcome));
    const sent = await test.db.prisma.submission.count({ where: { provider } });
    expect(sent).toBe(outcomes['send'] ?? 0);
    expect((outcomes['send'] ?? 0) + (outcomes['provider_closed'] ?? 0)).toBe(30);
  });
});
