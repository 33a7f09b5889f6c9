import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimOutputs, recordOutput, renewOutput, settle } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { facts } from './facts.ts';
import { accepted, drop, newTenant, observe, store, storing } from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const outputsOf = (generationId: string) =>
  test.db.prisma.output.findMany({ where: { generationId }, orderBy: { index: 'asc' } });

/** Storing, with a first lease that is over at once. */
async function leftBehind(): Promise<string> {
  const id = await accepted(test.db, await newTenant(test.db));
  await observe(test.db, id, 'succeeded', { storeLeaseMs: 0 });
  await sleep(5);
  return id;
}

const claim = (generationId: string, storeLeaseMs = 15_000) =>
  claimOutputs(test.db, { generationId, storeLeaseMs });

describe('outputs: leases', () => {
  it('a live lease is not given away; one that is over goes to one of many, as the next attempt', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    expect(await claim(id)).toEqual([]);
    const left = await leftBehind();
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(left)));
    expect(claims.filter((attempts) => attempts.length > 0)).toEqual([[{ index: 0, attempt: 2 }]]);
  });

  it('renewing keeps the lease of its holder, and of nobody else', async () => {
    const id = await leftBehind();
    expect(await renewOutput(test.db, { generationId: id, index: 0, attempt: 1, storeLeaseMs: 15_000 })).toBe(
      true,
    );
    expect(await claim(id)).toEqual([]);
    expect(await renewOutput(test.db, { generationId: id, index: 0, attempt: 2, storeLeaseMs: 15_000 })).toBe(
      false,
    );
    await renewOutput(test.db, { generationId: id, index: 0, attempt: 1, storeLeaseMs: 0 });
    await sleep(5);
    expect(await claim(id)).toEqual([{ index: 0, attempt: 2 }]);
    expect(await renewOutput(test.db, { generationId: id, index: 0, attempt: 1, storeLeaseMs: 15_000 })).toBe(
      false,
    );
  });

  it('a try that failed gives its lease back, and counts a dead link', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    const retry = {
      generationId: id,
      index: 0,
      attempt: 1,
      result: 'retry',
      problem: 'http_404',
      gone: true,
    } as const;
    expect(await recordOutput(test.db, retry)).toMatchObject({
      outcome: 'recorded',
      state: 'storing',
      goneCount: 1,
    });
    expect(await claim(id)).toEqual([{ index: 0, attempt: 2 }]);
    expect(await recordOutput(test.db, { ...retry, attempt: 2, gone: false })).toMatchObject({
      goneCount: 1,
    });
  });

  it('renewals and claims of one output at once never block each other for good', async () => {
    for (let round = 0; round < 15; round += 1) {
      const id = await leftBehind();
      const renewal = { generationId: id, index: 0, attempt: 1, storeLeaseMs: 0 };
      await Promise.all(
        Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? renewOutput(test.db, renewal) : claim(id, 0))),
      );
    }
  });
});

describe('outputs: one winner', () => {
  it('two attempts that finish at once: the row has the path of the one that was told so', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await leftBehind();
      await claim(id);
      const [one, two] = await Promise.all([
        store(test.db, id, { attempt: 1 }),
        store(test.db, id, { attempt: 2 }),
      ]);
      expect(tally([one.outcome, two.outcome])).toEqual({ recorded: 1, lost_race: 1 });
      expect([one.state, two.state]).toEqual(['stored', 'stored']);
      const winner = one.outcome === 'recorded' ? 1 : 2;
      expect(await outputsOf(id)).toMatchObject([
        { path: `${id}/0-${winner}.mp4`, bytes: BigInt(1_000 + winner) },
      ]);
    }
  });

  it('keeps all that is known of the file', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    await store(test.db, id);
    const [output] = await outputsOf(id);
    expect(output).toMatchObject({
      state: 'stored',
      mediaType: 'video/mp4',
      width: 640,
      height: 360,
      durationSeconds: 5,
    });
    expect(Buffer.from(output!.sha256!).toString('hex')).toBe('cd'.repeat(32));
    expect(output!.expiresAt!.getTime() - output!.storedAt!.getTime()).toBe(86_400_000);
  });

  it('an attempt whose lease was taken over still wins if its file is complete first', async () => {
    const id = await leftBehind();
    await claim(id);
    expect(await store(test.db, id, { attempt: 1 })).toMatchObject({
      outcome: 'recorded',
      state: 'stored',
      goneCount: 0,
    });
    expect(await drop(test.db, id, 0, 'invalid', 2)).toMatchObject({
      outcome: 'lost_race',
      state: 'stored',
      goneCount: 0,
    });
    expect(await settle(test.db, id, { state: 'succeeded', errorCode: null })).toMatchObject({
      captured: 100,
    });
  });

  it.each(['lost', 'invalid'] as const)('only the holder says %s', async (result) => {
    const id = await leftBehind();
    await claim(id);
    expect(await drop(test.db, id, 0, result, 1)).toMatchObject({
      outcome: 'lost_race',
      state: 'storing',
      goneCount: 0,
    });
    expect(await drop(test.db, id, 0, result, 2)).toMatchObject({
      outcome: 'recorded',
      state: result,
      goneCount: 0,
    });
    expect(await store(test.db, id, { attempt: 1 })).toMatchObject({ outcome: 'lost_race', state: result });
    expect(await outputsOf(id)).toMatchObject([{ state: result, path: null, problem: `is_${result}` }]);
  });

  it('an old attempt cannot give away the lease of the next one', async () => {
    const id = await leftBehind();
    await claim(id);
    const retry = {
      generationId: id,
      index: 0,
      attempt: 1,
      result: 'retry',
      problem: 'cut',
      gone: true,
    } as const;
    expect(await recordOutput(test.db, retry)).toMatchObject({ outcome: 'lost_race', goneCount: 0 });
    expect(await claim(id)).toEqual([]);
  });

  it('an incomplete record of a file is refused', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    await expect(store(test.db, id, { sha256: 'cd' })).rejects.toThrow(/output_stored_complete/);
    await expect(store(test.db, id, { bytes: 0 })).rejects.toThrow(/output_stored_complete/);
    expect(await facts(test.db, id)).toMatchObject({ stage: 'storing' });
  });

  it('a row that is not there (a restored database) reads as lost, so that the file is removed', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    expect(await store(test.db, id)).toMatchObject({ outcome: 'lost_race', state: 'lost', goneCount: 0 });
    expect(await outputsOf(id)).toEqual([]);
  });

  it('nothing is stored any more once the generation has ended', async () => {
    const id = await storing(test.db, await newTenant(test.db), 2);
    await store(test.db, id, { index: 0 });
    await drop(test.db, id, 1, 'lost');
    await settle(test.db, id, { state: 'succeeded', errorCode: null });
    expect(await store(test.db, id, { index: 1, attempt: 2 })).toMatchObject({
      outcome: 'lost_race',
      state: 'lost',
    });
    expect(await claim(id)).toEqual([]);
    expect(await renewOutput(test.db, { generationId: id, index: 0, attempt: 1, storeLeaseMs: 15_000 })).toBe(
      false,
    );
  });
});
