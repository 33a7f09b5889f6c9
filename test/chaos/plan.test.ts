import { describe, expect, it } from 'vitest';
import { SIMULATED } from '../../src/dev/simulated-providers.ts';
import { chaosCatalogue } from './catalogue.ts';
import { KILL_POINTS } from './kill-points.mjs';
import { parseChaosOptions } from './options.ts';
import { drawPlan, type Step } from './plan.ts';
import { seededChance } from './random.ts';
import { GROUPS, KILLS, POINTS, readFaults, SCENARIO_NAMES } from './scenarios.ts';
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

describe('the fault matrix', () => {
  it('has F-1 to F-22, and each is a plan', () => {
    expect(SCENARIO_NAMES).toEqual(Array.from({ length: 22 }, (_, at) => `F-${at + 1}`));
    for (const name of SCENARIO_NAMES) expect(plan(1, name, 4).flat().length, name).toBeGreaterThan(0);
  });

  it('puts together what a list names', () => {
    const { faults, load, twoAtOnce } = readFaults('F-17, K4,F-22');
    expect(faults).toContain('K4');
    expect(faults.filter((name) => name === 'worker').length).toBe(1);
    expect(load.cancelled).toBe(0.6);
    expect(twoAtOnce).toBe(true);
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
    for (const name of ['infro', 'kling-polled', 'crazyrouter', 'infro-or-aigenway', 'large']) {
      expect(models, name).toContain(name);
    }
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
