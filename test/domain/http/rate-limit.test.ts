import { describe, expect, it } from 'vitest';
import { rateLimitHeaders, retryAfterSeconds } from '../../../src/domain/http/rate-limit.ts';

describe('rateLimitHeaders', () => {
  const quota = { policy: 'minute', limit: 60, windowSeconds: 60, remaining: 3, resetInMs: 12_001 };

  it('are lists of one string with whole parameters; the rest of a second counts', () => {
    expect(rateLimitHeaders(quota)).toEqual({
      'RateLimit-Policy': '"minute";q=60;w=60',
      RateLimit: '"minute";r=3;t=13',
    });
  });

  it.each([
    [12_000, 12],
    [1, 1],
    [0, 0],
    [-5_000, 0],
  ])('%i ms are %i s', (resetInMs, seconds) => {
    expect(rateLimitHeaders({ ...quota, resetInMs })['RateLimit']).toBe(`"minute";r=3;t=${seconds}`);
  });
});

describe('retryAfterSeconds: whole, upwards, never 0', () => {
  it.each([
    [-1, '1'],
    [0, '1'],
    [1, '1'],
    [1_000, '1'],
    [1_001, '2'],
    [86_400_000, '86400'],
  ])('%i ms', (waitMs, seconds) => {
    expect(retryAfterSeconds(waitMs)).toBe(seconds);
  });
});
