import { describe, expect, it } from 'vitest';
import { belowBar, RecoveryClock } from './recovery.ts';

const row = (mark: string, movedMs = 0) => ({ id: 'gen_a', mark, movedMs });

describe('the clock of recovery', () => {
  it('runs from the first end of a fault since the step was due, and tells the last one beside it', () => {
    const clock = new RecoveryClock();
    clock.faultEnded(1_000, [{ ...row('queued'), dueMs: 500 }]);
    clock.faultEnded(9_000, [{ ...row('queued'), dueMs: 500 }]);
    clock.look([row('waiting', 20_000)]);
    expect(clock.strict).toEqual({ p95Ms: 19_000, within15s: 0, count: 1 });
    expect(clock.sinceLast).toEqual({ p95Ms: 11_000, within15s: 1, count: 1 });
  });

  it('runs from when the step is due where that is later', () => {
    const clock = new RecoveryClock();
    clock.faultEnded(1_000, [{ ...row('waiting 1'), dueMs: 3_000 }]);
    clock.look([row('waiting 2', 4_000)]);
    expect(clock.strict.p95Ms).toBe(1_000);
  });

  it('goes on while only something was asked for, and counts each once', () => {
    const clock = new RecoveryClock();
    clock.faultEnded(0, [{ ...row('waiting'), dueMs: 0 }]);
    clock.look([row('waiting', 2_000)]);
    expect(clock.waiting).toEqual(['gen_a']);
    expect(clock.strict).toEqual({ p95Ms: null, within15s: null, count: 0 });
    clock.look([row('storing', 5_000)]);
    clock.look([row('done', 6_000)]);
    expect(clock.strict).toEqual({ p95Ms: 5_000, within15s: 1, count: 1 });
    expect(clock.waiting).toEqual([]);
  });
});

describe('the bar', () => {
  it.each([
    [19, 20, null],
    [18, 20, '90.0 % of 20 went on within 15 s, not 95 %; 95 % within 15001 ms'],
    [0, 19, null],
  ])('%i of %i in time: %s', (inTime, count, problem) => {
    const clock = new RecoveryClock();
    for (let at = 0; at < count; at++) {
      const id = `gen_${at}`;
      clock.faultEnded(0, [{ id, mark: 'queued', movedMs: 0, dueMs: 0 }]);
      clock.look([{ id, mark: 'waiting', movedMs: at < inTime ? 15_000 : 15_001 }]);
    }
    expect(belowBar(clock.strict)).toBe(problem);
  });
});
