import type { Client } from '@temporalio/client';
import type { RunFacts } from '../../src/db/index.ts';
import { ensureRunning } from '../../src/temporal/ensure-running.ts';
import type { WakeReason } from '../../src/workflows/messages.ts';
import { eventually } from '../simulators/control.ts';

/** Ensures a run as the starter and the sweep do, until Temporal has answered: one call waits 3 s for it at most. */
export async function ensured(client: Client, run: RunFacts, reason: WakeReason | 'created'): Promise<void> {
  const temporal = { client, onDegraded: () => undefined };
  await eventually(
    () =>
      ensureRunning(temporal, run, reason).then(
        () => true,
        () => undefined,
      ),
    60_000,
  );
}
