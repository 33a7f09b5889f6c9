import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createGeneration, readCredits } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { callRaw, tally, useDatabase } from './database.ts';
import { balance, facts, generationOf } from './facts.ts';
import { create, grant, newGeneration, newTenant, PRICE } from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });

describe('create_generation: one key, one generation', () => {
  it('IDEM-2 replays the stored bytes, also after the state has moved on', async () => {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    const first = await createGeneration(test.db, generation);
    await test.sql(`UPDATE generation SET stage = 'submitting' WHERE id = $1`, [generation.generationId]);
    const again = await createGeneration(test.db, {
      ...generation,
      generationId: newId('gen'),
      responseTemplate: '{"other":true}',
    });
    expect(again).toEqual({ ...first, outcome: 'replayed' });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(900, 100, 0));
  });

  it('IDEM-3 50 concurrent equal calls create one and replay 49 byte for byte', async () => {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const call = () => createGeneration(test.db, { ...generation, generationId: newId('gen') });
        let answer = await call();
        // Its twin took longer than a second: a client asks again then.
        while (answer.outcome === 'in_progress') answer = await call();
        return answer;
      }),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 1, replayed: 49 });
    const bodies = answers.map((answer) => ('responseBody' in answer ? answer.responseBody : ''));
    expect(new Set(bodies).size).toBe(1);
    expect(await test.sql(`SELECT 1 FROM generation WHERE tenant_id = $1`, [tenant.id])).toHaveLength(1);
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(900, 100, 0));
  });

  it('IDEM-4 refuses the key for another request and changes nothing', async () => {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    await createGeneration(test.db, generation);
    const other = { ...generation, generationId: newId('gen'), requestSha256: 'ef'.repeat(32) };
    expect(await createGeneration(test.db, other)).toEqual({ outcome: 'key_reuse' });
    expect(await test.sql(`SELECT id FROM generation WHERE tenant_id = $1`, [tenant.id])).toEqual([
      { id: generation.generationId },
    ]);
  });

  it('IDEM-5 one key of two tenants, or of two routes, is two keys', async () => {
    const [one, two] = await Promise.all([newTenant(test.db), newTenant(test.db)]);
    const idempotencyKey = randomUUID();
    const answers = [
      await createGeneration(test.db, newGeneration(one, { idempotencyKey })),
      await createGeneration(test.db, newGeneration(two, { idempotencyKey })),
      await createGeneration(test.db, newGeneration(one, { idempotencyKey, route: 'POST /v1/other' })),
    ];
    expect(answers.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
  });

  it('IDEM-7 a refusal for want of credits leaves the key free', async () => {
    const tenant = await newTenant(test.db, 99);
    const generation = newGeneration(tenant);
    const refused = { outcome: 'insufficient_credits', available: 99, required: PRICE };
    expect(await createGeneration(test.db, generation)).toEqual(refused);
    expect(await test.sql(`SELECT 1 FROM generation WHERE tenant_id = $1`, [tenant.id])).toEqual([]);
    await grant(test.db, tenant, 1, 'one more');
    expect((await createGeneration(test.db, generation)).outcome).toBe('created');
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(0, 100, 0));
  });

  it('says that an account is unknown, and keeps accounts apart', async () => {
    const tenant = await newTenant(test.db);
    expect(await createGeneration(test.db, newGeneration(tenant, { account: 'none' }))).toEqual({
      outcome: 'unknown_account',
    });
    await grant(test.db, tenant, 50, 'g2', 'small');
    expect(await createGeneration(test.db, newGeneration(tenant, { account: 'small' }))).toEqual({
      outcome: 'insufficient_credits',
      available: 50,
      required: PRICE,
    });
  });
});

describe('create_generation: credits', () => {
  it('40 concurrent calls on a balance for 10 create exactly 10', async () => {
    const tenant = await newTenant(test.db, 10 * PRICE + 99);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => createGeneration(test.db, newGeneration(tenant))),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ created: 10, insufficient_credits: 30 });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(99, 1_000, 0));
  });

  it('holds the largest price that JSON can carry, and refuses the next one', async () => {
    const tenant = await newTenant(test.db, Number.MAX_SAFE_INTEGER);
    await expect(
      createGeneration(test.db, newGeneration(tenant, { credits: Number.MAX_SAFE_INTEGER + 1 })),
    ).rejects.toThrow(/generation_credits_range/);
    await create(test.db, tenant, { credits: Number.MAX_SAFE_INTEGER });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(0, 9_007_199_254_740_991, 0));
  });
});

describe('create_generation: a twin in flight', () => {
  async function heldTwin() {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    const client = await test.connect();
    await client.query('BEGIN');
    const held = await callRaw(client, 'create_generation', { ...generation });
    expect(held['outcome']).toBe('created');
    return { tenant, generation, client, held };
  }

  it('says in_progress after about one second, then replays what the twin committed', async () => {
    const { generation, client, held } = await heldTwin();
    const startedAt = performance.now();
    expect(await createGeneration(test.db, generation)).toEqual({ outcome: 'in_progress' });
    const waitedMs = performance.now() - startedAt;
    expect(waitedMs).toBeGreaterThan(900);
    expect(waitedMs).toBeLessThan(20_000);
    await client.query('COMMIT');
    expect(await createGeneration(test.db, generation)).toEqual({ ...held, outcome: 'replayed' });
  });

  it('replays when the twin commits within the wait', async () => {
    const { generation, client, held } = await heldTwin();
    // The server's own clock: no stall of ours comes between the commit and the limit of the wait.
    const done = client.query('SELECT pg_sleep(0.2); COMMIT');
    expect(await createGeneration(test.db, generation)).toEqual({ ...held, outcome: 'replayed' });
    await done;
  });

  it('creates when the twin is rolled back within the wait', async () => {
    const { tenant, generation, client } = await heldTwin();
    const done = client.query('SELECT pg_sleep(0.2); ROLLBACK');
    expect((await createGeneration(test.db, generation)).outcome).toBe('created');
    await done;
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(900, 100, 0));
  });
});

describe('create_generation: the stored row and answer', () => {
  it('starts queued, with its hold, its first event and due at once', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    expect(await facts(test.db, id)).toMatchObject({
      state: 'queued',
      stage: 'queued',
      delivery: 'pending',
      hold: 'held',
      captured: 0,
      events: ['created'],
    });
    const row = await generationOf(test.db, id);
    expect(row.dueAt).toEqual(row.createdAt);
    expect(row.deadlineAt.getTime() - row.createdAt.getTime()).toBe(900_000);
  });

  it('puts the times of the row into the body, whatever the zone of the session', async () => {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant);
    const client = await test.connect();
    await client.query(`SET TimeZone = 'Asia/Tokyo'`);
    const answer = await callRaw(client, 'create_generation', { ...generation });
    const row = await generationOf(test.db, generation.generationId);
    expect(JSON.parse(answer['responseBody'] as string)).toEqual({
      created_at: row.createdAt.toISOString(),
      deadline_at: row.deadlineAt.toISOString(),
    });
  });

  it('leaves text of the user alone that looks like a placeholder', async () => {
    const tenant = await newTenant(test.db);
    const nonce = randomUUID();
    const prompt = `:created_at {nonce}:deadline_at ${randomUUID()}:created_at $1 \\1 %s é 🎬`;
    const template = JSON.stringify({ prompt, created_at: `${nonce}:created_at` });
    const generation = newGeneration(tenant, { nonce, responseTemplate: template, input: { prompt } });
    const created = await createGeneration(test.db, generation);
    const body = JSON.parse('responseBody' in created ? created.responseBody : '') as { prompt: string };
    expect(body.prompt).toBe(prompt);
    expect((await generationOf(test.db, generation.generationId)).input).toEqual({ prompt });
  });

  it('tells only ids and timings to whoever starts the run', async () => {
    const tenant = await newTenant(test.db);
    const generation = newGeneration(tenant, { input: { prompt: 'secret words' } });
    const created = await createGeneration(test.db, generation);
    expect(JSON.stringify('run' in created ? created.run : '')).not.toContain('secret words');
    expect(created).toMatchObject({
      run: {
        generationId: generation.generationId,
        tenantId: tenant.id,
        provider: 'infro',
        method: 'text-to-video',
      },
    });
  });
});
