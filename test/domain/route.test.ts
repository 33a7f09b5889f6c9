import { describe, expect, it } from 'vitest';
import { nextRoute } from '../../src/domain/route.ts';

describe('nextRoute', () => {
  it('begins with the first route', () => {
    expect(nextRoute(null, 3)).toBe(0);
  });

  it.each(['prepared', 'sending', 'unknown', 'accepted'] as const)(
    'stays where a submission is %s',
    (state) => {
      expect(nextRoute({ state, routeIndex: 1, refusalCode: null }, 3)).toBe(1);
    },
  );

  it.each(['refused', 'abandoned'] as const)(
    'goes on to the next one when it is %s, to the last',
    (state) => {
      const from = (routeIndex: number) =>
        nextRoute({ state, routeIndex, refusalCode: 'provider_rejected' }, 3);
      expect([0, 1, 2].map(from)).toEqual([1, 2, null]);
      expect(nextRoute({ state, routeIndex: 0, refusalCode: null }, 1)).toBeNull();
    },
  );

  it('stays where one that was unknown is dead: an operator wants it submitted again', () => {
    const dead = (everUnknown: boolean) =>
      nextRoute({ state: 'abandoned', routeIndex: 1, refusalCode: null, everUnknown }, 3);
    expect([dead(true), dead(false)]).toEqual([1, 2]);
    const last = { state: 'abandoned', routeIndex: 0, refusalCode: null, everUnknown: true } as const;
    expect(nextRoute(last, 1)).toBe(0);
  });

  it('never carries rejected content on to another provider', () => {
    expect(nextRoute({ state: 'refused', routeIndex: 0, refusalCode: 'content_rejected' }, 3)).toBeNull();
  });
});
