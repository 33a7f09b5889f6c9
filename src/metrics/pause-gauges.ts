import { Gauge, Registry } from 'prom-client';
import type { Db } from '../db/index.ts';
import { countPauses, type PauseCounts } from '../db/pauses.ts';
import { createFreshReading } from './fresh-reading.ts';
import type { DatabaseGauges } from './provider-gauges.ts';

/** Tenants are counted, not named, so that they do not grow the number of series. */
const ALL_TENANTS = 'all';

/**
 * What an operator has paused, read at most every 5 s. Shows nothing while the database cannot be read.
 * @param nowMs a clock that only goes forward
 */
export function createPauseGauges(db: Db, nowMs: () => number = () => performance.now()): DatabaseGauges {
  const registry = new Registry();
  const paused = new Gauge({
    name: 'darkroom_paused',
    help: '1 for each provider and model that an operator has paused; for kind "tenant", target "all": how many tenants are.',
    labelNames: ['kind', 'target'],
    registers: [registry],
  });

  function show(counts: PauseCounts | null): void {
    paused.reset();
    if (counts === null) return;
    for (const target of counts.providers) paused.set({ kind: 'provider', target }, 1);
    for (const target of counts.models) paused.set({ kind: 'model', target }, 1);
    paused.set({ kind: 'tenant', target: ALL_TENANTS }, counts.tenants);
  }

  const read = createFreshReading(() => countPauses(db), nowMs);
  return {
    registry,
    async refresh() {
      show(await read());
    },
  };
}
