import { describe, expect, it } from 'vitest';
import { preferredWaitSeconds } from '../../../src/domain/http/prefer.ts';

describe('preferredWaitSeconds', () => {
  it.each([
    ['wait=10', 10],
    ['WAIT = "15"', 15],
    ['respond-async, wait=5', 5],
    ['respond-async; wait=5', 5],
    ['wait=3, wait=7', 3],
    ['wait=0', 0],
    ['wait=60', 60],
    ['wait=61', 60],
    ['wait=999999', 60],
  ])('%s asks for %i', (header, seconds) => {
    expect(preferredWaitSeconds(header)).toBe(seconds);
  });

  it.each([undefined, '', 'wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=1e1', 'wait=9999999', 'await=5'])(
    '%s asks for none',
    (header) => {
      expect(preferredWaitSeconds(header)).toBe(0);
    },
  );
});
