import { describe, expect, it } from 'vitest';
import { timingsSchema } from '../../src/domain/timings.ts';
import { cancelOutcome, judge, mustAskCancel, nextPollMs } from '../../src/domain/judge.ts';
import type { JobFacts, Verdict } from '../../src/domain/judge.ts';
import type { Observation } from '../../src/domain/provider.ts';

const timings = timingsSchema.parse({
  deadlineGraceMs: 30_000,
  notFoundGraceMs: 60_000,
  pollInitialMs: 2_000,
  pollMaxMs: 30_000,
  safetyPollMs: 180_000,
});
const facts: JobFacts = {
  cancelRequested: false,
  cancelSent: false,
  cancelTaken: false,
  sinceAcceptedMs: 120_000,
  deadlineInMs: 600_000,
  timings,
};

const running: Observation = { kind: 'running', status: 'processing', progress: 0.5, unknownStatus: false };
const strange: Observation = { kind: 'running', status: 'foo_new', progress: null, unknownStatus: true };
const succeeded: Observation = {
  kind: 'succeeded',
  status: 'ok',
  outputs: [],
  linkExpiresAt: null,
  cost: null,
};
const rejected: Observation = {
  kind: 'failed',
  status: 'nsfw',
  code: 'content_rejected',
  reason: 'r',
  cost: null,
};
const cancelled: Observation = { kind: 'cancelled', status: 'canceled' };
const notFound: Observation = { kind: 'not_found' };
const unavailable: Observation = {
  kind: 'unavailable',
  reason: 'http_503',
  denied: false,
  retryAfterMs: null,
};
const denied: Observation = { ...unavailable, reason: 'http_401', denied: true };

const PENDING: Verdict = { kind: 'pending' };
const STORE: Verdict = { kind: 'store' };
const FAILED: Verdict = { kind: 'settle', proposal: { state: 'failed', errorCode: 'provider_failed' } };
const REJECTED: Verdict = { kind: 'settle', proposal: { state: 'failed', errorCode: 'content_rejected' } };
const CANCELLED: Verdict = { kind: 'settle', proposal: { state: 'cancelled', errorCode: null } };
const EXPIRED: Verdict = { kind: 'settle', proposal: { state: 'expired', errorCode: 'deadline_exceeded' } };
const PARK: Verdict = { kind: 'park', reason: 'provider_access_denied' };

/** Before the deadline, at it, one millisecond before the end of the grace, and at its end. */
const TIMES = { before: 1, at: 0, inGrace: -29_999, afterGrace: -30_000 } as const;

describe('judge', () => {
  it.each([
    ['running', running, [PENDING, PENDING, PENDING, EXPIRED]],
    ['an unknown status', strange, [PENDING, PENDING, PENDING, EXPIRED]],
    ['succeeded, however late', succeeded, [STORE, STORE, STORE, STORE]],
    ['failed keeps its code', rejected, [REJECTED, REJECTED, REJECTED, REJECTED]],
    ['cancelled by nobody of ours', cancelled, [FAILED, EXPIRED, EXPIRED, EXPIRED]],
    ['not found', notFound, [PENDING, EXPIRED, EXPIRED, EXPIRED]],
    ['no answer', unavailable, [PENDING, PENDING, PENDING, EXPIRED]],
    ['access denied', denied, [PENDING, PARK, PARK, PARK]],
  ] as const)('%s', (_name, observation, verdicts) => {
    expect(
      Object.values(TIMES).map((deadlineInMs) => judge(observation, { ...facts, deadlineInMs })),
    ).toEqual(verdicts);
  });

  it('E1 a cancel that was asked: the answer of the provider decides', () => {
    const asked = { ...facts, cancelRequested: true, cancelSent: true, cancelTaken: true };
    expect(judge(succeeded, asked)).toEqual(STORE);
    expect(judge(rejected, asked)).toEqual(REJECTED);
    expect(judge(cancelled, asked)).toEqual(CANCELLED);
    expect(judge(notFound, asked)).toEqual(CANCELLED);
    expect(judge(running, asked)).toEqual(PENDING);
    expect(judge(unavailable, asked)).toEqual(PENDING);
    expect(judge(cancelled, { ...asked, deadlineInMs: -1 })).toEqual(CANCELLED);
  });

  it('not found means cancelled only after our taken cancel, wished by somebody', () => {
    expect(judge(notFound, { ...facts, cancelRequested: true })).toEqual(PENDING);
    expect(judge(notFound, { ...facts, cancelRequested: true, cancelSent: true })).toEqual(PENDING);
    expect(judge(notFound, { ...facts, cancelTaken: true })).toEqual(PENDING);
    expect(judge(notFound, { ...facts, cancelTaken: true, deadlineInMs: -1 })).toEqual(EXPIRED);
  });

  it('not found soon after the submit still means running, to the end of the grace', () => {
    const young = { ...facts, sinceAcceptedMs: 59_999 };
    expect(judge(notFound, { ...young, deadlineInMs: -1 })).toEqual(PENDING);
    expect(judge(notFound, { ...young, sinceAcceptedMs: 60_000, deadlineInMs: -1 })).toEqual(EXPIRED);
    expect(judge(notFound, { ...young, deadlineInMs: -30_000 })).toEqual(EXPIRED);
  });
});

describe('mustAskCancel', () => {
  it('only of a job seen running, once, when wished or overdue', () => {
    expect(mustAskCancel(running, facts)).toBe(false);
    expect(mustAskCancel(running, { ...facts, cancelRequested: true })).toBe(true);
    expect(mustAskCancel(running, { ...facts, deadlineInMs: 1 })).toBe(false);
    expect(mustAskCancel(running, { ...facts, deadlineInMs: 0 })).toBe(true);
    expect(mustAskCancel(running, { ...facts, cancelRequested: true, cancelSent: true })).toBe(false);
    for (const observation of [succeeded, rejected, cancelled, notFound, unavailable])
      expect(mustAskCancel(observation, { ...facts, cancelRequested: true, deadlineInMs: -1 })).toBe(false);
  });
});

describe('cancelOutcome', () => {
  it.each([
    ['stops', 'confirmed'],
    ['may_bill', 'accepted_may_bill'],
    ['unsupported', 'unsupported'],
  ] as const)('a provider that %s: %s', (capability, outcome) => {
    expect(cancelOutcome(capability)).toBe(outcome);
  });
});

describe('nextPollMs', () => {
  const poll = { ...facts, callbacks: false, terminalHint: false, spacingMs: 0 };
  const middle = 0.5;

  it('without callbacks grows by half from 2 s to 30 s', () => {
    const series = [0, 1, 2, 3, 7, 50].map((attempt) => nextPollMs(running, poll, attempt, middle));
    expect(series).toEqual([2_000, 3_000, 4_500, 6_750, 30_000, 30_000]);
  });

  it('with callbacks is rare, until something makes it urgent', () => {
    const rare = { ...poll, callbacks: true };
    expect(nextPollMs(running, rare, 0, middle)).toBe(180_000);
    expect(nextPollMs(running, { ...rare, terminalHint: true }, 0, middle)).toBe(2_000);
    expect(nextPollMs(running, { ...rare, cancelRequested: true }, 0, middle)).toBe(2_000);
    expect(nextPollMs(notFound, rare, 0, middle)).toBe(2_000);
    expect(nextPollMs(unavailable, rare, 0, middle)).toBe(2_000);
    expect(nextPollMs(running, { ...rare, deadlineInMs: -1 }, 0, middle)).toBe(2_000);
  });

  it('keeps the spacing of the provider, when that is longer', () => {
    expect(nextPollMs(running, { ...poll, spacingMs: 7_000 }, 0, middle)).toBe(7_000);
    expect(nextPollMs(running, { ...poll, spacingMs: 1_000 }, 0, middle)).toBe(2_000);
    expect(
      nextPollMs({ ...unavailable, retryAfterMs: 9_000 }, { ...poll, spacingMs: 7_000 }, 0, middle),
    ).toBe(9_000);
  });

  it('spreads that spacing by a quarter to both sides', () => {
    const spaced = { ...poll, spacingMs: 8_000 };
    expect([0, 0.5, 0.999_999].map((random) => nextPollMs(running, spaced, 0, random))).toEqual([
      6_000, 8_000, 10_000,
    ]);
  });

  it('obeys the delay that the provider asked for', () => {
    expect(nextPollMs({ ...unavailable, retryAfterMs: 77_000 }, poll, 0, middle)).toBe(77_000);
    expect(
      nextPollMs({ ...unavailable, retryAfterMs: 77_000 }, { ...poll, callbacks: true }, 9, middle),
    ).toBe(77_000);
  });

  it('looks right after the deadline and right after the grace, whatever was wanted', () => {
    expect(nextPollMs(running, { ...poll, callbacks: true, deadlineInMs: 5_000 }, 0, middle)).toBe(5_050);
    expect(
      nextPollMs({ ...unavailable, retryAfterMs: 77_000 }, { ...poll, deadlineInMs: 5_000 }, 0, middle),
    ).toBe(5_050);
    expect(nextPollMs(running, { ...poll, deadlineInMs: -29_000 }, 9, middle)).toBe(1_050);
    expect(nextPollMs(running, { ...poll, deadlineInMs: -90_000 }, 9, middle)).toBe(50);
  });

  it('at the deadline itself is urgent, to the end of the grace', () => {
    expect(nextPollMs(running, { ...poll, callbacks: true, deadlineInMs: 0 }, 0, middle)).toBe(2_000);
    expect(nextPollMs(running, { ...poll, deadlineInMs: 0, spacingMs: 99_000 }, 0, middle)).toBe(30_050);
  });

  it('is never below our own pause, also where the provider asks for 0', () => {
    expect(nextPollMs({ ...unavailable, retryAfterMs: 0 }, poll, 0, middle)).toBe(2_000);
  });
});
