import type { RunFacts } from '../db/run-facts.ts';
import type { WakeReason } from '../workflows/messages.ts';

type Reason = WakeReason | 'created';

/** Starts and wakes runs after the answer was given. What is dropped or fails here, the sweep finds in the rows. */
export interface Starter {
  /** Never waits; false when the queue is full. */
  enqueue(facts: RunFacts, reason: Reason): boolean;
  /** Resolves when nothing is queued or under way, or after the limit. */
  drain(limitMs: number): Promise<void>;
}

/** @param ensure usually `ensureRunning`; its failure is only counted, through `onFailure`. */
export function createStarter(
  ensure: (facts: RunFacts, reason: Reason) => Promise<void>,
  options: {
    readonly concurrency: number;
    readonly limit: number;
    readonly onFailure: (error: unknown) => void;
  },
): Starter {
  const queue: { facts: RunFacts; reason: Reason }[] = [];
  let active = 0;
  let idle: (() => void)[] = [];

  async function work(): Promise<void> {
    active += 1;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await ensure(next.facts, next.reason).catch(options.onFailure);
    }
    active -= 1;
    if (active === 0) {
      for (const done of idle) done();
      idle = [];
    }
  }

  return {
    enqueue(facts, reason) {
      if (queue.length >= options.limit) return false;
      queue.push({ facts, reason });
      if (active < options.concurrency) void work();
      return true;
    },
    async drain(limitMs) {
      if (active === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        idle.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
  };
}
