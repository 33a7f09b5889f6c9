import { KILL_POINTS, type KillPoint } from './kill-points.mjs';
import type { Target } from './provider-faults.ts';

/** What can be done to the stack. Those of `KILLS` end a process and count as kills. */
export const GROUPS = [
  'worker',
  'api',
  'term',
  'temporal',
  'postgres',
  'cut',
  'delay',
  'ack-lost',
  'terminate',
  'lock',
  'clock',
  'disk',
  'providers',
  'callbacks',
  'receiver',
  'gone',
  'partial',
  'reset',
] as const;
export type Group = (typeof GROUPS)[number];
/** What happens only in scenarios of their own. */
export type Special = 'poor' | 'revoke';
export type FaultName = Group | Special | KillPoint;

export const POINTS = Object.keys(KILL_POINTS) as KillPoint[];
export const KILLS: readonly FaultName[] = ['worker', 'api', 'temporal', 'postgres', ...POINTS];

/** What the tenant's client does beside asking. */
export interface LoadShape {
  /** How many of all are cancelled. */
  readonly cancelled: number;
  /** Some prompts are as long as is accepted, some longer by one character. */
  readonly largePrompts: boolean;
}
const USUAL: LoadShape = { cancelled: 0.08, largePrompts: false };

export interface Scenario {
  readonly faults: readonly FaultName[];
  readonly load: LoadShape;
  /** Two faults at once. */
  readonly twoAtOnce: boolean;
  /** What `providers` does, by what it is done to. */
  readonly targets: readonly Target[];
  /** How long Temporal stays away, in milliseconds. */
  readonly temporalDownMs: readonly [number, number];
}

const ALL_TARGETS: readonly Target[] = ['submit', 'state', 'link', 'cancel'];

const scenario = (faults: readonly FaultName[], over: Partial<Omit<Scenario, 'faults'>> = {}): Scenario => ({
  faults,
  load: USUAL,
  twoAtOnce: false,
  targets: ALL_TARGETS,
  temporalDownMs: [1_000, 8_000],
  ...over,
});

/** The fault matrix of reliability.md §4.4. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'F-1': scenario(POINTS.filter((point) => KILL_POINTS[point].in !== 'api')),
  'F-2': scenario(POINTS.filter((point) => KILL_POINTS[point].in === 'api')),
  'F-3': scenario(['worker', 'api']),
  'F-4': scenario(['term']),
  'F-5': scenario(['temporal'], { temporalDownMs: [5_000, 30_000] }),
  'F-6': scenario(['postgres']),
  'F-7': scenario(['terminate', 'cut', 'ack-lost']),
  'F-8': scenario(['lock']),
  'F-9': scenario(['cut', 'delay']),
  'F-10': scenario(['providers'], { targets: ['submit'] }),
  'F-11': scenario(['providers', 'partial'], { targets: ['state'] }),
  'F-12': scenario(['callbacks']),
  'F-13': scenario(['receiver', 'gone']),
  'F-14': scenario(['providers', 'cut', 'partial'], { targets: ['link'] }),
  'F-15': scenario(['disk']),
  'F-16': scenario(['clock']),
  'F-17': scenario(['worker', 'callbacks', 'providers'], {
    load: { ...USUAL, cancelled: 0.6 },
    targets: ['cancel'],
  }),
  'F-18': scenario(['reset']),
  'F-19': scenario(['poor']),
  'F-20': scenario(['revoke', 'worker']),
  'F-21': scenario(['worker'], { load: { ...USUAL, largePrompts: true } }),
  'F-22': scenario(['postgres', 'temporal', 'worker', 'api', 'callbacks', 'cut', 'providers'], {
    twoAtOnce: true,
  }),
};

/** All names that `--faults` takes, beside the groups and kill points: what each stands for. */
export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS);

/**
 * What a comma list of groups, kill points, `points`, `all` and scenarios asks for, put together.
 * @throws Error naming the entry that is none of these
 */
export function readFaults(list: string): Scenario {
  const parts = list.split(',').map((entry) => entry.trim());
  const read = parts.map(readOne);
  return {
    faults: [...new Set(read.flatMap(({ faults }) => faults))],
    load: {
      cancelled: Math.max(...read.map(({ load }) => load.cancelled)),
      largePrompts: read.some(({ load }) => load.largePrompts),
    },
    twoAtOnce: read.some(({ twoAtOnce }) => twoAtOnce),
    targets: [
      ...new Set(read.flatMap(({ faults, targets }) => (faults.includes('providers') ? targets : []))),
    ],
    temporalDownMs: longest(read.map(({ temporalDownMs }) => temporalDownMs)),
  };
}

function longest(ranges: readonly (readonly [number, number])[]): readonly [number, number] {
  return ranges.reduce((one, other) => (other[1] > one[1] ? other : one));
}

function readOne(entry: string): Scenario {
  const found = SCENARIOS[entry];
  if (found !== undefined) return found;
  // K16 needs cancels.
  const withCancels = { load: { ...USUAL, cancelled: 0.15 } };
  if (entry === 'all') {
    return scenario([...GROUPS, ...POINTS], {
      load: { cancelled: 0.12, largePrompts: true },
      twoAtOnce: true,
    });
  }
  if (entry === 'points') return scenario(POINTS, withCancels);
  if ((POINTS as readonly string[]).includes(entry)) return scenario([entry as KillPoint], withCancels);
  if ((GROUPS as readonly string[]).includes(entry)) return scenario([entry as Group]);
  throw new Error(
    `--faults has "${entry}", which is none of: all, ${GROUPS.join(', ')}, points, K1 to K16, F-1 to F-22.`,
  );
}
