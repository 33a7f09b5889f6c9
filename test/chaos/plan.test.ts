import { describe, expect, it } from 'vitest';
import { SIMULATED } from '../../src/dev/simulated-providers.ts';
import { chaosCatalogue, FROM_IMAGE, MANY } from './catalogue.ts';
import { KILL_POINTS } from './kill-points.mjs';
import { parseChaosOptions } from './options.ts';
import { drawProviderFaults, type Target } from './provider-faults.ts';
import { drawPlan, type Step } from './plan.ts';
import { seededChance } from './random.ts';
import { type FaultName, GROUPS, KILLS, POINTS, readFaults, SCENARIO_NAMES } from './scenarios.ts';
import { drawWishes, TAGS, tagText } from './wishes.ts';

const plan = (seed: number, faults: string, kills: number, minutes: number | null = null) =>
  drawPlan(seededChance(seed), { scenario: readFaults(faults), kills, minutes });
const names = (steps: readonly Step[]) => steps.map(({ name }) => name);

describe('a plan', () => {
  it('is the same for the same seed, and another one for another seed', () => {
    expect(plan(7, 'all', 40)).toEqual(plan(7, 'all', 40));
    expect(plan(7, 'all', 40)).not.toEqual(plan(8, 'all', 40));
  });

  it('has as many kills as were asked for, and every other group at least once', () => {
    const steps = plan(1, 'all', 12).flat();
    expect(names(steps).filter((name) => KILLS.includes(name)).length).toBe(12);
    const others = GROUPS.filter((group) => !KILLS.includes(group));
    expect(others.filter((group) => !names(steps).includes(group))).toEqual([]);
  });

  it('has each kill point as often as the others, in a process that passes there', () => {
    const steps = plan(3, 'points', 320).flat();
    for (const point of POINTS) {
      const mine = steps.filter(({ name }) => name === point);
      expect(mine.length, point).toBe(20);
      const kind = KILL_POINTS[point].in;
      const wrong = mine.filter(({ slot }) => kind !== 'any' && slot?.startsWith(kind) !== true);
      expect(wrong, point).toEqual([]);
    }
  });

  it('goes on in the order of time over the whole of its minutes', () => {
    for (const lane of plan(5, 'all', 30, 30)) {
      const places = lane.map(({ at }) => at);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places.every((at) => at > 0 && at < 1)).toBe(true);
    }
    expect(plan(5, 'all', 30, 30).flat().length).toBeGreaterThan(150);
  });

  it('is empty where nothing is to be broken', () => {
    expect(plan(1, 'points', 0)).toEqual([]);
  });
});

const SUBMIT =
  'slow_submit reset_before_accept reset_after_accept answer_lost_then_ok status_429 status_5xx status_5xx_after_accept ' +
  'refuse refuse_content error_in_200 html missing_id';
const STATE =
  'unknown_status stuck fail moderated succeeded_without_output render_ms observe_5xx observe_404 observe_hang observe_error_in_200';
const LINK =
  'link_404 link_html link_truncated link_empty link_wrong_type link_huge link_slow link_redirect_private';
const CANCEL = 'cancel_5xx cancel_succeeded';
const CALLBACK =
  'no_callbacks callback_before_answer callback_twice callback_twenty callback_late callback_reordered callback_forged';

/** By scenario: all that it may strike, and what its providers may do. */
const MATRIX: readonly (readonly [string, string, string])[] = [
  ['F-1', 'K3 K4 K5 K6 K7 K10 K11 K12 K13 K14 K15 K16', ''],
  ['F-2', 'K1 K2 K8 K9', ''],
  ['F-3', 'worker api', ''],
  ['F-4', 'term', ''],
  ['F-5', 'temporal', ''],
  ['F-6', 'postgres', ''],
  ['F-7', 'terminate cut ack-lost', ''],
  ['F-8', 'lock', ''],
  ['F-9', 'cut delay', ''],
  ['F-10', 'providers', SUBMIT],
  ['F-11', 'providers partial', STATE],
  ['F-12', 'callbacks', CALLBACK],
  ['F-13', 'receiver gone', ''],
  ['F-14', 'providers cut partial', LINK],
  ['F-15', 'disk', ''],
  ['F-16', 'clock', ''],
  ['F-17', 'worker callbacks providers', `${CANCEL} ${CALLBACK}`],
  ['F-18', 'reset', ''],
  ['F-19', 'poor', ''],
  ['F-20', 'revoke worker', ''],
  ['F-21', 'worker', ''],
  [
    'F-22',
    'postgres temporal worker api callbacks cut providers',
    [SUBMIT, STATE, LINK, CANCEL, CALLBACK].join(' '),
  ],
];
const sorted = (list: Iterable<string>) => [...new Set(list)].toSorted();

/** What the simulators are told in so many draws. */
function drawn(faults: readonly FaultName[], targets: readonly Target[]) {
  const mine: Target[] = [
    ...(faults.includes('providers') ? targets : []),
    ...(faults.includes('callbacks') ? (['callback'] as const) : []),
  ];
  if (mine.length === 0) return [];
  const chance = seededChance(9);
  const draws = Array.from({ length: 300 }, () => drawProviderFaults(chance, mine, SIMULATED));
  return draws.flat().flatMap((one) => one.faults);
}

describe('the fault matrix', () => {
  it('has F-1 to F-22', () => {
    expect(SCENARIO_NAMES).toEqual(MATRIX.map(([name]) => name));
    expect(SCENARIO_NAMES.length).toBe(22);
  });

  it.each(MATRIX)('%s strikes by %s and by nothing else', (name, expected, kinds) => {
    expect(sorted(names(plan(1, name, 40).flat()))).toEqual(sorted(expected.split(' ')));
    const { faults, targets } = readFaults(name);
    const struck = drawn(faults, targets);
    expect(sorted(struck.map(({ kind }) => kind))).toEqual(
      sorted(kinds.split(' ').filter((kind) => kind !== '')),
    );
  });

  it('F-5 keeps Temporal away for 5 to 30 seconds', () => {
    const lengths = plan(1, 'F-5', 60)
      .flat()
      .map(({ forMs }) => forMs);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(30_000);
    expect(Math.max(...lengths)).toBeGreaterThan(20_000);
  });

  it('F-10 refuses our key too', () => {
    const refusals = drawn(['providers'], ['submit']).filter((fault) => fault.kind === 'refuse');
    expect(sorted(refusals.map((fault) => String(fault.kind === 'refuse' && fault.status)))).toEqual([
      '400',
      '401',
    ]);
  });

  it('puts together what a list names', () => {
    const { faults, load, twoAtOnce } = readFaults('F-17, K4,F-22');
    expect(faults).toContain('K4');
    expect(faults.filter((name) => name === 'worker').length).toBe(1);
    expect(load.cancelled).toBe(0.6);
    expect(twoAtOnce).toBe(true);
    expect(sorted(readFaults('F-10,F-14').targets)).toEqual(['link', 'submit']);
    // Kill points bring no faults of providers along.
    expect(readFaults('F-10,K4').targets).toEqual(['submit']);
    expect(readFaults('F-5,worker').temporalDownMs).toEqual([5_000, 30_000]);
  });
});

describe('what is asked for', () => {
  const shape = { cancelled: 0.2, largePrompts: true };

  it('follows from the seed, and no two prompts or keys are equal', () => {
    const wishes = drawWishes(seededChance(4), 4, 500, shape);
    expect(drawWishes(seededChance(4), 4, 500, shape)).toEqual(wishes);
    expect(new Set(wishes.map(({ prompt }) => prompt)).size).toBe(500);
    expect(new Set(wishes.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(500);
  });

  it('is of every provider that is simulated', () => {
    const models = new Set(drawWishes(seededChance(4), 4, 1_000, shape).map(({ model }) => model));
    const asked = chaosCatalogue.models.filter(({ id }) => models.has(id));
    const providers = new Set(asked.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
    expect(providers).toEqual(new Set(SIMULATED));
  });

  it('is of every kind', () => {
    const wishes = drawWishes(seededChance(4), 4, 500, shape);
    const models = new Set(wishes.map(({ model }) => model));
    for (const name of [
      'infro',
      'kling-polled',
      'crazyrouter',
      'infro-or-aigenway',
      'large',
      MANY,
      FROM_IMAGE,
    ]) {
      expect(models, name).toContain(name);
    }
    const videos = wishes.filter(({ door }) => door === 'videos');
    expect(videos.length).toBeGreaterThan(30);
    // That shape makes no images and has no callback_url.
    expect(videos.filter(({ model, toldByUrl }) => model === MANY || toldByUrl)).toEqual([]);
    expect(wishes.filter(({ fromImage }) => fromImage).map(({ model }) => model)).toContain(FROM_IMAGE);
    expect(wishes.filter(({ model, fromImage }) => (model === FROM_IMAGE) !== fromImage)).toEqual([]);
    expect(wishes.filter(({ cancelAfterMs }) => cancelAfterMs !== null).length).toBeGreaterThan(60);
    expect(wishes.some(({ tooLong }) => tooLong)).toBe(true);
    for (let tag = 0; tag < TAGS; tag++) {
      const mine = wishes.filter(({ prompt }) => prompt.includes(tagText(tag))).length;
      expect(mine, tagText(tag)).toBeGreaterThan(15);
    }
  });
});

describe('the options', () => {
  it('are read, and have their defaults', () => {
    const { generations, kills, minutes, seed, json } = parseChaosOptions([]);
    expect({ generations, kills, minutes, json }).toEqual({
      generations: 200,
      kills: 20,
      minutes: null,
      json: false,
    });
    expect(Number.isInteger(seed)).toBe(true);
    expect(parseChaosOptions(['--minutes', '1.5', '--seed', '9'])).toMatchObject({ minutes: 1.5, seed: 9 });
  });

  it.each([
    [['--generations', '0'], '--generations is 0: it must be a whole number from 1 to 100000.'],
    [['--kills', 'many'], '--kills is many: it must be a whole number from 0 to 10000.'],
    [['--seed', '1.5'], '--seed is 1.5: it must be a whole number from 0 to 4294967295.'],
    [['--minutes', '0'], '--minutes is 0: it must be more than 0'],
    [['--faults', 'worker,K17'], '--faults has "K17", which is none of: all, worker, api,'],
    [['--data', ''], '--data is empty'],
    [['--fault', 'all'], "Unknown option '--fault'"],
  ])('refuses %j and says why', (args, message) => {
    expect(() => parseChaosOptions(args)).toThrow(message);
  });
});
