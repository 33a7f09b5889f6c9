import { Gauge, Registry } from 'prom-client';
import { readProviderStates, type ProviderState } from '../db/provider-states.ts';
import type { Db } from '../db/index.ts';
import { createFreshReading } from './fresh-reading.ts';

/** Gauges whose values are read from the database when they are asked for. */
export interface DatabaseGauges {
  readonly registry: Registry;
  /** Brings the gauges up to date; resolves within 3 s, also when the database is away. */
  refresh(): Promise<void>;
}

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
): DatabaseGauges {
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

  const read = createFreshReading(() => readProviderStates(db), nowMs);
  return {
    registry,
    async refresh() {
      show(await read());
    },
  };
}
