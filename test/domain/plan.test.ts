import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE, modelSchema } from '../../src/domain/catalogue.ts';
import { freezePlan, planSchema } from '../../src/domain/plan.ts';

const model = DEFAULT_CATALOGUE.models[0]!;

describe('freezePlan', () => {
  it('keeps what was sold, with every time filled in', () => {
    const plan = freezePlan(model, 100);
    expect(plan).toMatchObject({
      method: 'text-to-video',
      routes: [{ provider: 'infro', providerModel: 'm-video', callbacks: true }],
      expectedDurationSeconds: 60,
      outputs: { count: 1, mediaTypes: ['video/mp4'], maxBytes: 2_147_483_648 },
      creditsTotal: 100,
    });
    expect(plan.timings).toMatchObject({
      submitLeaseMs: 40_000,
      deadlineGraceMs: 30_000,
      replayWindowMs: 86_400_000,
    });
  });

  it('is read back from its row as it was frozen, for every model of the catalogue', () => {
    for (const each of DEFAULT_CATALOGUE.models) {
      const plan = freezePlan(each, 7);
      expect(planSchema.parse(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
    }
  });

  it('does not follow a catalogue that changes afterwards', () => {
    const own = modelSchema.parse(JSON.parse(JSON.stringify(model)));
    const text = JSON.stringify(freezePlan(own, 100));
    own.timings.pollMaxMs = 1;
    own.price.creditsPerSecond = 1;
    expect(JSON.parse(text)).toEqual({ ...freezePlan(model, 100) });
  });

  it.each([
    ['no credits', { creditsTotal: 0 }],
    ['half a credit', { creditsTotal: 1.5 }],
    ['no route', { routes: 'infro' }],
    ['a time that is no time', { timings: { pollMaxMs: -1 } }],
  ])('a row with %s is not read as a plan', (_name, change) => {
    expect(planSchema.safeParse({ ...freezePlan(model, 100), ...change }).success).toBe(false);
  });

  it('passes over what a newer version has added, so that a rollback reads it', () => {
    const plan = freezePlan(model, 100);
    const newer = { ...plan, surprise: true, timings: { ...plan.timings, fromANewerVersion: 1 } };
    expect(planSchema.parse(newer)).toEqual(plan);
  });
});
