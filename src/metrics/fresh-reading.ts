const FRESH_MS = 5_000;
/** Below the usual 10 s in which Prometheus wants a whole answer. */
const READ_LIMIT_MS = 3_000;

/**
 * A read of the database for scrapes: done at most every 5 s, one at a time; null when it fails or takes more than 3 s.
 * @param nowMs a clock that only goes forward
 */
export function createFreshReading<T>(read: () => Promise<T>, nowMs: () => number): () => Promise<T | null> {
  let startedMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<T | null> = Promise.resolve(null);
  let pending = false;
  return () => {
    if (!pending && nowMs() - startedMs >= FRESH_MS) {
      startedMs = nowMs();
      pending = true;
      reading = read().catch(() => null);
      void reading.finally(() => {
        pending = false;
      });
    }
    return within(reading, READ_LIMIT_MS);
  };
}

/** What the read brings, or null when that takes too long. */
async function within<T>(reading: Promise<T>, limitMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), limitMs);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
