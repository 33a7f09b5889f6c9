import { readEventNumbers } from '../db/index.ts';
import type { ChangeFeed, Db } from '../db/index.ts';
import { createSlots } from './slots.ts';

export interface Follower {
  readonly generationId: string;
  readonly tenantId: string;
  /** Must be quick and not throw: it only notes that there is something to look at. */
  readonly onChange: () => void;
}

/** Tells waiting readers of this process that a generation has moved; a hint, so that they look at the rows. */
export interface GenerationChanges {
  /**
   * Calls `onChange` whenever the generation may have moved since; look at the rows once after it.
   * @returns the way to stop, which may be called again; or null when too many follow
   */
  follow(follower: Follower): (() => void) | null;
  /** Ends the look-ups; followers are not told. */
  close(): Promise<void>;
}

export interface GenerationChangesOptions {
  readonly maxFollowers: number;
  readonly maxFollowersPerTenant: number;
  /** Between two looks at all that are followed, for hints that were lost; one statement each. */
  readonly lookEveryMs: number;
}

const DEFAULTS: GenerationChangesOptions = {
  maxFollowers: 1_000,
  maxFollowersPerTenant: 200,
  lookEveryMs: 2_000,
};

/** Hints come over the feed at once; what a lost hint hides is found by the next look. */
export function createGenerationChanges(
  deps: {
    readonly db: Db;
    readonly feed: Pick<ChangeFeed, 'subscribe'>;
    readonly onProblem: (error: unknown) => void;
  },
  options: Partial<GenerationChangesOptions> = {},
): GenerationChanges {
  const { maxFollowers, maxFollowersPerTenant, lookEveryMs } = { ...DEFAULTS, ...options };
  const slots = createSlots({ total: maxFollowers, perOwner: maxFollowersPerTenant });
  const byGeneration = new Map<string, Set<Follower>>();
  /** Event numbers of the last look; who followed later is told at the next one, since it may have missed a hint. */
  let seen: ReadonlyMap<string, number> = new Map();

  const tell = (generationId: string): void => {
    for (const { onChange } of byGeneration.get(generationId) ?? []) onChange();
  };
  const unsubscribe = deps.feed.subscribe('darkroom_generation', (payload) => {
    if (payload !== null) tell(payload);
    else for (const id of byGeneration.keys()) tell(id);
  });
  let looking: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    const now = await readEventNumbers(deps.db, [...byGeneration.keys()]);
    for (const [id, number] of now) if (seen.get(id) !== number) tell(id);
    seen = now;
  };
  const timer = setInterval(() => {
    if (looking !== null || byGeneration.size === 0) return;
    looking = look()
      .catch(deps.onProblem)
      .finally(() => {
        looking = null;
      });
  }, lookEveryMs);

  return {
    follow(follower) {
      const own = { ...follower };
      const giveBack = slots.take(own.tenantId);
      if (giveBack === null) return null;
      const followers = byGeneration.get(own.generationId) ?? new Set();
      byGeneration.set(own.generationId, followers.add(own));
      let following = true;
      return () => {
        if (!following) return;
        following = false;
        giveBack();
        followers.delete(own);
        if (followers.size === 0) byGeneration.delete(own.generationId);
      };
    },
    async close() {
      clearInterval(timer);
      unsubscribe();
      await looking;
    },
  };
}
