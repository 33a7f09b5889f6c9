/** How far apart the looks at one job must be, so that all jobs of its provider stay within the provider's poll budget. */
export interface PollBudget {
  spacingMs(provider: string, budgetPerSecond: number): number;
}

const FRESH_MS = 5_000;

/**
 * Shares a budget by how many jobs wait at each provider. The count is read in the background, at most every five
 * seconds; until it is known, and when it cannot be read, the last one counts.
 * @param readWaiting the number of jobs by provider
 */
export function createPollBudget(
  readWaiting: () => Promise<Readonly<Record<string, number>>>,
  nowMs: () => number = () => performance.now(),
): PollBudget {
  let waiting: Readonly<Record<string, number>> = {};
  let readAtMs = Number.NEGATIVE_INFINITY;
  async function refresh(): Promise<void> {
    if (nowMs() - readAtMs < FRESH_MS) return;
    readAtMs = nowMs();
    try {
      waiting = await readWaiting();
    } catch {
      // The database is away: the next look tries again.
    }
  }
  return {
    spacingMs(provider, budgetPerSecond) {
      void refresh();
      return ((waiting[provider] ?? 0) / budgetPerSecond) * 1_000;
    },
  };
}
