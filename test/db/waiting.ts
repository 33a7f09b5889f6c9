import { eventually } from '../simulators/control.ts';
import type { TestDb } from './database.ts';

/** Resolves once this many calls wait for locks of others. */
export async function untilWaiting(test: TestDb, calls: number): Promise<void> {
  await eventually(async () => {
    const waiting = await test.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length >= calls ? true : undefined;
  });
}
