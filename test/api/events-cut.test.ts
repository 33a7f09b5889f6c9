import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChangeFeed, requestCancel } from '../../src/db/index.ts';
import type { ChangeFeed } from '../../src/db/index.ts';
import { createGenerationChanges, type GenerationChanges } from '../../src/services/generation-changes.ts';
import { finish } from '../db/finish.ts';
import { accept, observe, send as sendJob } from '../db/fixtures.ts';
import { useDatabase } from '../db/database.ts';
import { startApi, type TestApi } from './api.ts';
import { follow, type Frame } from './event-client.ts';
import { ask, type Asked } from './following.ts';

const test = useDatabase({ poolSize: 16 });

/** Two processes of the API on one database, as far as a reader can tell: what they share is the rows and the hints. */
const sides: { api: TestApi; feed: ChangeFeed; changes: GenerationChanges }[] = [];
beforeAll(async () => {
  for (const [byHint, lookEveryMs] of [
    [true, 600_000],
    [false, 30],
  ] as const) {
    const feed = openChangeFeed(test.url, () => {});
    const hints = byHint ? feed : { subscribe: () => () => {} };
    const changes = createGenerationChanges(
      { db: test.db, feed: hints, onProblem: () => {} },
      { lookEveryMs },
    );
    sides.push({ api: await startApi(test.db, { changes }), feed, changes });
  }
});
afterAll(async () => {
  for (const { api, feed, changes } of sides) {
    await api.close();
    await changes.close();
    await feed.close();
  }
});

/** What happens to the generation between its beginning and its end; each of them is an event or none. */
const doings = {
  rise: (id: string, step: number) => observe(test.db, id, 'running', { progress: step / 1_000 }),
  fall: (id: string) => observe(test.db, id, 'running', { progress: 0 }),
  cancel: (id: string) => requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' }),
};
type Doing = keyof typeof doings;

/** Follows it to the end, cutting each connection after so many characters; every event that came whole, in order. */
async function readThroughCuts({ tenant, path }: Asked, cuts: readonly number[]): Promise<Frame[]> {
  const all: Frame[] = [];
  for (let turn = 0; ; turn += 1) {
    const last = all.at(-1)?.id;
    const { api } = sides[turn % sides.length]!;
    const headers = {
      Authorization: `Bearer ${tenant.key}`,
      ...(last === undefined ? {} : { 'Last-Event-ID': last }),
    };
    const stream = await follow(api.url, path, headers, cuts[turn]);
    await stream.over;
    all.push(...stream.events());
    if (stream.status === 204 || all.at(-1)?.event === 'terminal') return all;
    // Nobody ends it without the terminal event but the cut.
    expect([stream.status, stream.text().length]).toEqual([200, cuts[turn]]);
  }
}

describe('SSE-1 cut anywhere and opened again, at either of two processes', () => {
  it('ids strictly increase, without a gap or a double, and the terminal event comes once', async () => {
    const plan = fc.record({
      doings: fc.array(fc.constantFrom<Doing>('rise', 'rise', 'rise', 'fall', 'cancel'), { maxLength: 25 }),
      cuts: fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 12 }),
      followsAfter: fc.nat({ max: 25 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ doings: steps, cuts, followsAfter }) => {
        const asked = await ask({ db: test.db, api: sides[0]!.api });
        await sendJob(test.db, asked.id);
        await accept(test.db, asked.id);
        let reading: Promise<Frame[]> | null = null;
        for (const [step, doing] of steps.entries()) {
          if (step === followsAfter) reading = readThroughCuts(asked, cuts);
          await doings[doing](asked.id, step + 1);
        }
        reading ??= readThroughCuts(asked, cuts);
        await finish(test.db, asked.id);
        const got = await reading;
        const rows = await test.db.prisma.generationEvent.findMany({
          where: { generationId: asked.id },
          orderBy: { seq: 'asc' },
        });
        expect(got.map(({ id, event }) => [Number(id), event])).toEqual(
          rows.map(({ seq, type }) => [seq, type]),
        );
        expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1));
        expect(got.map(({ event }) => event).indexOf('terminal')).toBe(got.length - 1);
      }),
      { numRuns: 15 },
    );
  }, 60_000);
});
