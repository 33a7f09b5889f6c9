import { KILL_POINTS, type KillPoint } from './kill-points.mjs';
import type { Chance } from './random.ts';
import { type FaultName, KILLS, POINTS, type Scenario } from './scenarios.ts';

/** The processes that a fault can hit; two of each kind. */
export type SlotName = 'api-1' | 'api-2' | 'worker-1' | 'worker-2';
export const APIS: readonly SlotName[] = ['api-1', 'api-2'];
export const WORKERS: readonly SlotName[] = ['worker-1', 'worker-2'];
export const SLOTS: readonly SlotName[] = [...APIS, ...WORKERS];

/** One fault as it was drawn; what is left open is drawn from `seed` when it strikes. */
export interface Step {
  readonly name: FaultName;
  /** Where in the run it is due, from 0 to 1; only with `--minutes`. */
  readonly at: number;
  /** A pause before it, without `--minutes`. */
  readonly gapMs: number;
  /** How long it lasts, where it has a length. */
  readonly forMs: number;
  /** null = not about one process of ours. */
  readonly slot: SlotName | null;
  readonly seed: number;
}

/** What happens one after the other in each lane; lanes go on beside each other. */
export type Plan = readonly (readonly Step[])[];

/** One fault that is no kill for so many seconds of a run with `--minutes`. */
const SECONDS_EACH = 12;

interface Wanted {
  readonly scenario: Scenario;
  readonly kills: number;
  readonly minutes: number | null;
}

/** The plan of a run: the same for the same seed and options. */
export function drawPlan(chance: Chance, { scenario, kills, minutes }: Wanted): Plan {
  const { faults } = scenario;
  const points = faults.filter((name): name is KillPoint => (POINTS as readonly string[]).includes(name));
  const killing = faults.filter((name) => KILLS.includes(name) && !points.includes(name as KillPoint));
  const others = faults.filter((name) => !KILLS.includes(name));
  const atPoints = points.length === 0 ? 0 : killing.length === 0 ? kills : Math.ceil(kills / 2);
  const otherCount =
    others.length === 0
      ? 0
      : Math.max(others.length, minutes === null ? kills : Math.round((minutes * 60) / SECONDS_EACH));
  const general = [
    ...inTurn(chance, killing, killing.length === 0 ? 0 : kills - atPoints),
    ...inTurn(chance, others, otherCount),
  ];
  const lanes = scenario.twoAtOnce ? 2 : 1;
  return [
    ...deal(chance.shuffle(general), lanes).map((names) => schedule(chance, scenario, names)),
    ...lanesOfPoints(chance, inTurn(chance, points, atPoints)).map(({ names, slots }) =>
      schedule(chance, scenario, names, slots),
    ),
  ].filter((lane) => lane.length > 0);
}

/** So many of these names, each as often as the others, in a random order. */
function inTurn<T>(chance: Chance, names: readonly T[], count: number): T[] {
  const drawn: T[] = [];
  while (drawn.length < count && names.length > 0) drawn.push(...chance.shuffle(names));
  return drawn.slice(0, count);
}

function deal<T>(items: readonly T[], lanes: number): T[][] {
  return Array.from({ length: lanes }, (_, lane) => items.filter((_item, at) => at % lanes === lane));
}

/** A lane for the APIs, and one for each worker: while one process recovers, another runs towards its end. */
function lanesOfPoints(
  chance: Chance,
  points: readonly KillPoint[],
): { readonly names: readonly KillPoint[]; readonly slots: readonly SlotName[] }[] {
  // What lies in both is struck in both.
  const inApi: KillPoint[] = [];
  const inWorker: KillPoint[] = [];
  for (const point of points) {
    const { in: kind } = KILL_POINTS[point];
    const isForApi = kind === 'api' || (kind === 'any' && chance.hits(0.5));
    (isForApi ? inApi : inWorker).push(point);
  }
  const [first = [], second = []] = deal(chance.shuffle(inWorker), 2);
  return [
    { names: inApi, slots: APIS },
    { names: first, slots: ['worker-1'] },
    { names: second, slots: ['worker-2'] },
  ];
}

function schedule(
  chance: Chance,
  scenario: Scenario,
  names: readonly FaultName[],
  slots: readonly SlotName[] = [],
): Step[] {
  const places = names.map(() => 0.02 + 0.96 * chance.next()).sort((a, b) => a - b);
  return names.map((name, at) => ({
    name,
    at: places[at] ?? 0,
    gapMs: chance.whole(100, 900),
    forMs: lengthOf(name, chance, scenario),
    slot: slots.length === 0 ? slotOf(name, chance) : chance.pick(slots),
    seed: chance.whole(0, 4_294_967_295),
  }));
}

function lengthOf(name: FaultName, chance: Chance, { temporalDownMs }: Scenario): number {
  switch (name) {
    case 'temporal':
      return chance.whole(...temporalDownMs);
    case 'postgres':
      return chance.whole(0, 5_000);
    case 'lock':
      return 10_000;
    case 'disk':
    case 'clock':
      return chance.whole(3_000, 8_000);
    case 'cut':
    case 'delay':
    case 'receiver':
      return chance.whole(1_000, 6_000);
    case 'ack-lost':
      return 3_000;
    default:
      return 0;
  }
}

function slotOf(name: FaultName, chance: Chance): SlotName | null {
  const [api, worker, any] = [chance.pick(APIS), chance.pick(WORKERS), chance.pick(SLOTS)];
  if (name === 'worker') return worker;
  if (name === 'api') return api;
  return name === 'clock' || name === 'term' ? any : null;
}
