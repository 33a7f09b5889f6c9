import { readSettleTimes, type Db } from '../db/index.ts';
import { measureSettle } from './latency-metrics.ts';

/** Measures how long the end of this generation took. A database that is away costs the measurement, nothing else. */
export async function measureSettled(db: Db, generation: string): Promise<void> {
  const times = await readSettleTimes(db, generation).catch(() => null);
  if (times !== null) measureSettle(times);
}
