/** How deliveries are tried; all times in milliseconds. */
export interface WebhookTimings {
  /** For one attempt, from the look-up of the name to the answer. */
  readonly timeoutMs: number;
  /** Before each attempt, the first one included; after the last the delivery has failed. */
  readonly scheduleMs: readonly number[];
  /** An endpoint at which nothing has succeeded for this long is disabled. */
  readonly disableAfterMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const WEBHOOK_TIMINGS: WebhookTimings = {
  timeoutMs: 10 * SECOND,
  scheduleMs: [
    0,
    SECOND,
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
  ],
  disableAfterMs: 5 * 24 * HOUR,
};

/**
 * The schedule with a jitter of ±20 % on each wait, so that what failed together does not come again together.
 * @param random from 0 (inclusive) to 1 (exclusive)
 */
export function jitteredSchedule(scheduleMs: readonly number[], random: () => number): number[] {
  return scheduleMs.map((ms) => Math.round(ms * (0.8 + 0.4 * random())));
}
