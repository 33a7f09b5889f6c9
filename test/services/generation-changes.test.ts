import { afterEach, describe, expect, it, vi } from 'vitest';
import { openChangeFeed, requestCancel } from '../../src/db/index.ts';
import type { ChangeFeed } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import {
  createGenerationChanges,
  type GenerationChangesOptions,
} from '../../src/services/generation-changes.ts';
import { useDatabase } from '../db/database.ts';
import { create, newTenant } from '../db/fixtures.ts';

const test = useDatabase();
const NEVER_MS = 600_000;
const LIMIT = { timeout: 30_000 };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
});

/** A feed of which the test says what comes. */
function ownFeed() {
  const listeners = new Set<(payload: string | null) => void>();
  const feed: Pick<ChangeFeed, 'subscribe'> = {
    subscribe(_channel, listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { feed, listeners, hint: (payload: string | null) => listeners.forEach((tell) => tell(payload)) };
}

function hub(
  options: Partial<GenerationChangesOptions> & { readonly feed?: Pick<ChangeFeed, 'subscribe'> },
  onProblem: (error: unknown) => void = () => {},
) {
  const { feed = ownFeed().feed, ...limits } = options;
  const changes = createGenerationChanges(
    { db: test.db, feed, onProblem },
    { lookEveryMs: NEVER_MS, ...limits },
  );
  open.push(changes);
  return changes;
}

describe('the hub of changes', () => {
  it('tells those that follow the generation, and none else, when the database says that it moved', async () => {
    const tenant = await newTenant(test.db);
    const [moving, resting] = [await create(test.db, tenant), await create(test.db, tenant)];
    const feed = openChangeFeed(test.url, () => {});
    open.push(feed);
    const connected = new Promise<void>((resolve) => {
      feed.subscribe('darkroom_generation', () => resolve());
    });
    const changes = hub({ feed });
    await connected;
    const [first, second, other] = [vi.fn<() => void>(), vi.fn<() => void>(), vi.fn<() => void>()];
    changes.follow({ generationId: moving, tenantId: tenant.id, onChange: first });
    changes.follow({ generationId: moving, tenantId: tenant.id, onChange: second });
    changes.follow({ generationId: resting, tenantId: tenant.id, onChange: other });
    await requestCancel(test.db, { generationId: moving, tenantId: tenant.id, actor: 'tenant' });
    await vi.waitFor(
      () => expect([first, second].every((told) => told.mock.calls.length > 0)).toBe(true),
      LIMIT,
    );
    expect(other).not.toHaveBeenCalled();
  });

  it('after a lost connection all are told, since anything may have changed', () => {
    const { feed, hint } = ownFeed();
    const changes = hub({ feed });
    const told = [vi.fn<() => void>(), vi.fn<() => void>()];
    for (const onChange of told) {
      changes.follow({ generationId: newId('gen'), tenantId: 'ten_1', onChange });
    }
    hint('gen_unknown');
    expect(told.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    hint(null);
    expect(told.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });

  it('a lost hint is found by the next look, and each change is told once', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    const changes = hub({ lookEveryMs: 50 });
    const told = vi.fn<() => void>();
    changes.follow({ generationId: id, tenantId: tenant.id, onChange: told });
    // What moved between the follower's own look and the first one of the hub may be missed, so it is told once.
    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1), LIMIT);
    const looks = vi.spyOn(test.db.prisma.generation, 'findMany');
    await vi.waitFor(() => expect(looks.mock.calls.length).toBeGreaterThan(3), LIMIT);
    expect(told).toHaveBeenCalledTimes(1);
    await requestCancel(test.db, { generationId: id, tenantId: tenant.id, actor: 'tenant' });
    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(2), LIMIT);
    looks.mockRestore();
  });

  it('a look that fails is told, and the next one is made', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant);
    const problems: unknown[] = [];
    const away = new Error('the database is away');
    const looks = vi.spyOn(test.db.prisma.generation, 'findMany').mockRejectedValueOnce(away);
    const changes = hub({ lookEveryMs: 50 }, (problem) => problems.push(problem));
    const told = vi.fn<() => void>();
    changes.follow({ generationId: id, tenantId: tenant.id, onChange: told });
    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1), LIMIT);
    expect(problems).toEqual([away]);
    looks.mockRestore();
  });

  it('API4 only so many may follow, in all and of one tenant; whoever stops makes room once', () => {
    const changes = hub({ maxFollowers: 3, maxFollowersPerTenant: 2 });
    const generationId = newId('gen');
    const follow = (tenantId: string) => changes.follow({ generationId, tenantId, onChange: () => {} });
    const [first, second] = [follow('ten_1'), follow('ten_1')];
    expect([first, second]).not.toContain(null);
    expect(follow('ten_1')).toBeNull();
    first!();
    first!();
    first!();
    const third = follow('ten_1');
    expect(third).not.toBeNull();
    expect(follow('ten_1')).toBeNull();
    const fourth = follow('ten_2');
    expect(fourth).not.toBeNull();
    expect(follow('ten_3')).toBeNull();
    third!();
    expect(follow('ten_3')).not.toBeNull();
  });

  it('who stopped is not told, who goes on is, also when both are the same', () => {
    const { feed, hint } = ownFeed();
    const changes = hub({ feed });
    const follower = { generationId: newId('gen'), tenantId: 'ten_1', onChange: vi.fn<() => void>() };
    const [first, second] = [changes.follow(follower)!, changes.follow(follower)!];
    first();
    first();
    hint(follower.generationId);
    expect(follower.onChange).toHaveBeenCalledTimes(1);
    second();
    hint(follower.generationId);
    hint(null);
    expect(follower.onChange).toHaveBeenCalledTimes(1);
    changes.follow(follower);
    second();
    hint(follower.generationId);
    expect(follower.onChange).toHaveBeenCalledTimes(2);
  });

  it('close() leaves the feed and ends the looks', async () => {
    const { feed, listeners } = ownFeed();
    const changes = hub({ feed, lookEveryMs: 50 });
    expect(listeners.size).toBe(1);
    await changes.close();
    expect(listeners.size).toBe(0);
  });
});
