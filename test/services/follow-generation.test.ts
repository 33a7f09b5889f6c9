import { describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { followGeneration, type Followed } from '../../src/services/follow-generation.ts';
import type { GenerationChanges } from '../../src/services/generation-changes.ts';
import { useDatabase } from '../db/database.ts';
import { finish } from '../db/finish.ts';
import { accepted, newTenant, observe } from '../db/fixtures.ts';

const test = useDatabase();

/** A hub of which the test rings the bells. */
function ownHub() {
  const bells = new Set<() => void>();
  const changes: GenerationChanges = {
    follow({ onChange }) {
      bells.add(onChange);
      return () => bells.delete(onChange);
    },
    close: async () => {},
  };
  return { changes, bells, ring: () => bells.forEach((ring) => ring()) };
}

async function begin(quietMs = 600_000) {
  const tenant = await newTenant(test.db);
  const id = await accepted(test.db, tenant);
  const hub = ownHub();
  const [gone, draining] = [new AbortController(), new AbortController()];
  const followed = await followGeneration(
    { db: test.db, changes: hub.changes },
    { tenantId: tenant.id, id, after: null, quietMs, signal: gone.signal, draining: draining.signal },
  );
  if (followed.outcome !== 'following') throw new Error(followed.outcome);
  return { id, hub, gone, draining, events: followed.events[Symbol.asyncIterator]() };
}

const told = ({ value }: IteratorResult<Followed, unknown>) => {
  const { kind, ...rest } = value as Followed;
  return kind === 'quiet' ? kind : 'seq' in rest ? rest.seq : null;
};

describe('following a generation', () => {
  it('SSE-2 reads nothing for who takes nothing, however often it moves; then all of it, by pages', async () => {
    const { id, hub, gone, events } = await begin();
    const reads = vi.spyOn(test.db.prisma.generationEvent, 'findMany');
    expect(told(await events.next())).toBe(1);
    expect(reads).toHaveBeenCalledTimes(1);
    for (let step = 1; step <= 250; step += 1) {
      await observe(test.db, id, 'running', { progress: step / 1_000 });
      hub.ring();
    }
    expect(reads).toHaveBeenCalledTimes(1);
    for (let seq = 2; seq <= 253; seq += 1) expect(told(await events.next())).toBe(seq);
    // The page of before, then 100, 100 and 50.
    expect(reads).toHaveBeenCalledTimes(4);
    expect((await reads.mock.results[1]!.value) as unknown[]).toHaveLength(100);
    reads.mockRestore();
    gone.abort();
    await events.next();
  });

  it('tells again and again that nothing happened, without reading', async () => {
    const { id, hub, gone, events } = await begin(20);
    for (const seq of [1, 2, 3]) expect(told(await events.next())).toBe(seq);
    const reads = vi.spyOn(test.db.prisma.generationEvent, 'findMany');
    for (let i = 0; i < 3; i += 1) expect(told(await events.next())).toBe('quiet');
    expect(reads).not.toHaveBeenCalled();
    // A hint without an event behind it is one look.
    hub.ring();
    expect(told(await events.next())).toBe('quiet');
    expect(reads).toHaveBeenCalledTimes(1);
    reads.mockRestore();
    await finish(test.db, id);
    hub.ring();
    expect(told(await events.next())).toBe(4);
    expect((await events.next()).done).toBe(true);
    gone.abort();
  });

  it.each(['gone', 'draining'] as const)('ends when it is %s, also while it waits', async (which) => {
    const following = await begin();
    for (const seq of [1, 2, 3]) expect(told(await following.events.next())).toBe(seq);
    const next = following.events.next();
    following[which].abort();
    expect((await next).done).toBe(true);
    following.gone.abort();
    expect(following.hub.bells.size).toBe(0);
  });

  it('gives its place back although nobody ever asked for an event', async () => {
    const { gone, hub } = await begin();
    expect(hub.bells.size).toBe(1);
    gone.abort();
    expect(hub.bells.size).toBe(0);
  });

  it('takes no place when the caller has left before, when it has ended, or when there is none', async () => {
    const tenant = await newTenant(test.db);
    const [id, ended] = [await accepted(test.db, tenant), await accepted(test.db, tenant)];
    await finish(test.db, ended);
    const { changes, bells } = ownHub();
    const follow = (asked: string, after: number | null, signal = new AbortController().signal) =>
      followGeneration(
        { db: test.db, changes },
        {
          tenantId: tenant.id,
          id: asked,
          after,
          quietMs: 600_000,
          signal,
          draining: new AbortController().signal,
        },
      );
    expect((await follow(id, null, AbortSignal.abort())).outcome).toBe('following');
    expect((await follow(ended, 1)).outcome).toBe('following');
    expect(await follow(ended, 4)).toEqual({ outcome: 'over' });
    expect(await follow(newId('gen'), null)).toEqual({ outcome: 'not_found' });
    expect(await follow('gen_x', null)).toEqual({ outcome: 'not_found' });
    expect(bells.size).toBe(0);
  });
});
