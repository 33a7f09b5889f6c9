import { Gauge, Registry } from 'prom-client';
import { readInvariants } from '../db/index.ts';
import type { Db } from '../db/index.ts';
import { invariantLabel, readKeptViolations } from '../db/recent-invariants.ts';
import { readSweepStates, type SweepStates } from '../db/states.ts';
import { STAGES } from '../domain/generation.ts';
import { createFreshReading } from './fresh-reading.ts';
import type { DatabaseGauges } from './provider-gauges.ts';

/** As of the sweep: a row overdue for less is its run's business. */
const GRACE_MS = 5_000;
const OPEN_STAGES = STAGES.filter((stage) => stage !== 'done');

/**
 * How the open generations stand in the database, and what the last check of invariants found; no values while it cannot
 * be read.
 * @param nowMs a clock that only goes forward
 */
export function createStateGauges(db: Db, nowMs: () => number = () => performance.now()): DatabaseGauges {
  const registry = new Registry();
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
  const generations = gauge('darkroom_generations', 'Generations that have not ended, by stage.', ['stage']);
  const oldest = gauge(
    'darkroom_oldest_generation_seconds',
    'Age since its creation of the oldest generation in each stage; 0 when there is none.',
    ['stage'],
  );
  const needsOperator = gauge('darkroom_needs_operator', 'Generations that only a person can get going.');
  const backlog = gauge(
    'darkroom_sweep_backlog',
    'Rows that the sweep has to wake now: overdue, or a wake that nobody took.',
  );
  const overdue = gauge(
    'darkroom_generations_overdue',
    'Rows overdue for more than a minute: the sweep does not get to them.',
  );
  const stubborn = gauge(
    'darkroom_generations_stubborn',
    'Rows that the sweep has woken three times or more in a row without progress.',
  );
  const holds = gauge(
    'darkroom_holds_overdue',
    'Credits held five minutes beyond the deadline and the time to store, not counting what waits for an operator.',
  );
  const strays = gauge(
    'darkroom_stray_jobs',
    'Jobs that a provider has with our signature and that no row of ours names.',
  );
  const violations = gauge(
    'darkroom_invariant_violations',
    'Rows that violate an invariant, among what changed of late and what was violated before; 0 = it holds.',
    ['invariant'],
  );
  const checked = gauge(
    'darkroom_invariants_checked_seconds',
    'How old the last check of the invariants is; all processes share it.',
  );
  const plain = [needsOperator, backlog, overdue, stubborn, holds, strays, checked];

  function show(states: SweepStates, names: readonly string[]): void {
    for (const stage of OPEN_STAGES) {
      const open = states.stages.find((candidate) => candidate.stage === stage);
      generations.set({ stage }, open?.count ?? 0);
      oldest.set({ stage }, open?.oldestSeconds ?? 0);
    }
    needsOperator.set(states.stages.find(({ stage }) => stage === 'needs_operator')?.count ?? 0);
    backlog.set(states.backlog);
    overdue.set(states.overdue);
    stubborn.set(states.stubborn);
    holds.set(states.overdueHolds);
    strays.set(states.strayJobs);
    if (states.checkedSeconds === null) checked.remove();
    else checked.set(states.checkedSeconds);
    const kept = readKeptViolations(states.violations);
    for (const name of names)
      violations.set({ invariant: invariantLabel(name) }, kept[name]?.violations ?? 0);
  }

  const read = createFreshReading(async () => {
    const [states, invariants] = await Promise.all([readSweepStates(db, GRACE_MS), readInvariants()]);
    return { states, names: invariants.map(({ name }) => name) };
  }, nowMs);
  return {
    registry,
    async refresh() {
      const found = await read();
      for (const one of [generations, oldest, violations]) one.reset();
      if (found === null) for (const one of plain) one.remove();
      else show(found.states, found.names);
    },
  };
}
