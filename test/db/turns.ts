import { setTimeout as sleep } from 'node:timers/promises';

const TURNS_MS = { minute: 60_000, day: 86_400_000 };
const MARGINS_MS = { minute: 30_000, day: 60_000 };

/**
 * Windows and days turn by UTC: a test that counts must not run across such a turn.
 * @param marginMs what the test needs before the next turn; when less is left, it begins after that turn
 */
export async function awayFromTheTurn(of: keyof typeof TURNS_MS, marginMs = MARGINS_MS[of]): Promise<void> {
  const leftMs = TURNS_MS[of] - (Date.now() % TURNS_MS[of]);
  if (leftMs < marginMs) await sleep(leftMs + 100);
}
