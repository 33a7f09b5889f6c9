const DAY_MS = 86_400_000;

/** How long rows are kept that only tell how something went, and how many one pass removes. */
export const HISTORY_LIMITS = { keepMs: 30 * DAY_MS, unmatchedKeepMs: 7 * DAY_MS, limit: 1_000 } as const;
