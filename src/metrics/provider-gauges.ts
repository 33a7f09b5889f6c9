import { Gauge, Registry } from 'prom-client';
import { readProviderStates, type ProviderState } from '../db/provider-states.ts';
import type { Db } from '../db/index.ts';

/** Gauges whose values are read from the database when they are asked for. */
export interface ProviderGauges {
  readonly registry: Registry;
  /** Brings the gauges up to date; resolves within 3 s, also when the database is away. */
  refresh(): Promise<void>;
}

const FRESH_MS = 5_000;
/** Below the usual 10 s in which Prometheus wants a whole answer. */
const READ_LIMIT_MS = 3_000;
const NOTHING_KNOWN: Omit<ProviderState, 'provider'> = {
  circuitOpenUntil: null,
  circuitTripped: false,
  budgetReached: null,
  waitingForCallback: 0,
  waitingForPoll: 0,
};

/**
 * The state of these providers in the database, read at most every 5 s, by one query at a time. While it cannot be read
 * no old values are shown, and darkroom_database_up is 0.
 * @param nowMs a clock that only goes forward
 */
export function createProviderGauges(
  db: Db,
  providers: readonly string[],
  nowMs: () => number = () => performance.now(),
): ProviderGauges {
  const registry = new Registry();
  const registers = [registry];
  const up = new Gauge({
    name: 'darkroom_database_up',
    help: 'Whether this scrape could read the database.',
    registers,
  });
  const waiting = new Gauge({
    name: 'darkroom_jobs_waiting',
    help: 'Jobs that a provider has and whose generation has not ended, by how their end is first learnt.',
    labelNames: ['provider', 'by'],
    registers,
  });
  const circuit = new Gauge({
    name: 'darkroom_circuit_open',
    help: '1 while new submits to the provider are stopped after failures in a row.',
    labelNames: ['provider'],
    registers,
  });
  const budget = new Gauge({
    name: 'darkroom_daily_budget_reached',
    help: '1 while new submits to the provider are stopped by its budget of the UTC day; absent without a budget.',
    labelNames: ['provider'],
    registers,
  });

  function show(states: readonly ProviderState[] | null): void {
    for (const gauge of [waiting, circuit, budget]) gauge.reset();
    up.set(states === null ? 0 : 1);
    if (states === null) return;
    for (const provider of providers) {
      const state = states.find((candidate) => candidate.provider === provider) ?? NOTHING_KNOWN;
      waiting.set({ provider, by: 'callback' }, state.waitingForCallback);
      waiting.set({ provider, by: 'poll' }, state.waitingForPoll);
      circuit.set({ provider }, state.circuitOpenUntil === null ? 0 : 1);
      if (state.budgetReached !== null) budget.set({ provider }, state.budgetReached ? 1 : 0);
    }
  }

  let startedMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<readonly ProviderState[] | null> = Promise.resolve(null);
  let pending = false;
  return {
    registry,
    async refresh() {
      if (!pending && nowMs() - startedMs >= FRESH_MS) {
        startedMs = nowMs();
        pending = true;
        reading = readProviderStates(db).catch(() => null);
        void reading.finally(() => {
          pending = false;
        });
      }
      show(await within(reading, READ_LIMIT_MS));
    },
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
