import { timingSafeEqual } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createFileLinks } from '../../src/domain/file-links.ts';
import {
  clocked,
  DAY,
  entry,
  HOUR,
  links,
  linkTo,
  NOW,
  OUTPUT,
  OWNER,
  partsOf,
  ring,
  SIGNER,
} from './signed-links.ts';

vi.mock('node:crypto', async (original) => {
  const real = await original<{ timingSafeEqual: typeof timingSafeEqual }>();
  return { ...real, timingSafeEqual: vi.fn<typeof timingSafeEqual>(real.timingSafeEqual) };
});
/** The real one, which counts. */
const compare = vi.mocked(timingSafeEqual);

describe('a link', () => {
  it('names the file and its time, and opens it', () => {
    const { url, expiresAt } = linkTo();
    expect(url).toMatch(
      /^\/files\/outputs\/gen_06f1m4k2h8v7x9q3w5y1z0a2b4\/0\?expires=\d{10}&key=k1&signature=[\w-]{43}$/,
    );
    expect(url).toContain(`?expires=${expiresAt.getTime() / 1_000}&`);
    expect(links.verify(SIGNER, ...partsOf(url))).toEqual({ verdict: 'valid', expiresAt });
  });

  it('is absolute where the public address is known, and signed for the path alone', () => {
    const { url } = clocked(undefined, 'https://api.example.com').links.link(OWNER, OUTPUT)!;
    expect(url).toBe(`https://api.example.com${linkTo().url}`);
  });

  it('of an input has its own path', () => {
    const { url } = linkTo({ kind: 'input', inputId: 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4' });
    expect(url).toMatch(/^\/files\/inputs\/inp_06f1m4k2h8v7x9q3w5y1z0a2b4\?/);
    expect(links.verify(SIGNER, ...partsOf(url)).verdict).toBe('valid');
  });

  it('stays the same text inside a quarter of its life, and works for all of its life', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 120 * 3_600 }), fc.nat(HOUR), (lifeSeconds, offset) => {
        const lifetimeMs = lifeSeconds * 1_000;
        const windowMs = Math.ceil(lifetimeMs / 4_000) * 1_000;
        const own = clocked();
        // The first moment of a window of texts.
        own.clock.ms = (Math.floor(NOW / windowMs) + offset) * windowMs - (lifetimeMs % windowMs);
        const first = own.links.link(OWNER, OUTPUT, { lifetimeMs })!;
        const seen = [1, windowMs / 2, windowMs - 1, windowMs].map((ms) => {
          const at = own.clock.ms + ms;
          return createFileLinks(ring(entry('k1', 1)), null, () => at).link(OWNER, OUTPUT, { lifetimeMs })!;
        });
        expect(new Set(seen.map(({ url }) => url)).size).toBe(1);
        const lifeMs = first.expiresAt.getTime() - own.clock.ms;
        expect(lifeMs).toBeGreaterThanOrEqual(lifetimeMs);
        expect(seen[3]!.expiresAt.getTime() - own.clock.ms - windowMs).toBeGreaterThanOrEqual(lifetimeMs);
        expect(lifeMs).toBeLessThanOrEqual(lifetimeMs + windowMs);
      }),
    );
  });

  it('lives an hour unless told, and never past the end of the file', () => {
    const lifeMs = linkTo().expiresAt.getTime() - NOW;
    expect(lifeMs).toBeGreaterThanOrEqual(HOUR);
    expect(lifeMs).toBeLessThanOrEqual(1.25 * HOUR);
    const notAfter = new Date(NOW + 90_500);
    const short = linkTo(OUTPUT, OWNER, { notAfter });
    expect(short.expiresAt.getTime()).toBe(Math.floor(notAfter.getTime() / 1_000) * 1_000);
    for (const past of [0, -1, -DAY]) {
      expect(links.link(OWNER, OUTPUT, { notAfter: new Date(NOW + past) })).toBeNull();
    }
    expect(links.link(OWNER, OUTPUT, { notAfter: new Date(NOW + 700) })).toBeNull();
    expect(linkTo(OUTPUT, OWNER, { notAfter: null }).url).toBe(linkTo().url);
  });
});

describe('SURL-1 time', () => {
  it('works to its last millisecond, and has expired in the second after it', () => {
    const own = clocked();
    const { url, expiresAt } = own.links.link(OWNER, OUTPUT)!;
    const verdictAt = (ms: number) => {
      own.clock.ms = expiresAt.getTime() + ms;
      return own.links.verify(SIGNER, ...partsOf(url)).verdict;
    };
    expect([-1_000, -1, 0, 1, 1_000, DAY].map(verdictAt)).toEqual([
      'valid',
      'valid',
      'expired',
      'expired',
      'expired',
      'expired',
    ]);
  });
});

it('SURL-3 a time in 2099 that nobody signed, nor one that anybody signed', () => {
  const { url } = linkTo();
  const far = Date.UTC(2099, 0) / 1_000;
  const [path, query] = partsOf(url.replace(/expires=\d+/, `expires=${far}`));
  expect(links.verify(SIGNER, path, query)).toEqual({ verdict: 'invalid' });
  const own = clocked();
  own.clock.ms = far * 1_000 - HOUR;
  const signed = partsOf(own.links.link(OWNER, OUTPUT)!.url);
  expect(own.links.verify(SIGNER, ...signed).verdict).toBe('valid');
  own.clock.ms = NOW;
  expect(own.links.verify(SIGNER, ...signed)).toEqual({ verdict: 'invalid' });
});

it('SURL-7 another tenant’s key, and nobody’s, open nothing', () => {
  const [path, query] = partsOf(linkTo().url);
  for (const signer of [
    { tenantId: 'ten_b', linkVersions: [3] },
    { tenantId: '', linkVersions: [1] },
    null,
  ]) {
    expect(links.verify(signer, path, query)).toEqual({ verdict: 'invalid' });
  }
  const ofNobody = partsOf(linkTo(OUTPUT, { tenantId: '', linkVersion: 1 }).url);
  expect(links.verify(null, ...ofNobody)).toEqual({ verdict: 'invalid' });
  // One that has expired says so to its owner only.
  const own = clocked();
  own.clock.ms = NOW + DAY;
  expect(own.links.verify(SIGNER, path, query).verdict).toBe('expired');
  expect(own.links.verify({ tenantId: 'ten_b', linkVersions: [3] }, path, query).verdict).toBe('invalid');
  expect(own.links.verify(null, path, query).verdict).toBe('invalid');
});

it('SURL-8 the signature is compared in constant time with every version that counts, whether one fits or not', () => {
  const [path, query] = partsOf(linkTo().url);
  const wrong = query.replace(/signature=./, (start) =>
    start.endsWith('A') ? 'signature=B' : 'signature=A',
  );
  const comparisons = (linkVersions: number[], sent: string, tenantId = 'ten_a') => {
    compare.mockClear();
    links.verify({ tenantId, linkVersions }, path, sent);
    return compare.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength]);
  };
  const twice = [
    [32, 32],
    [32, 32],
  ];
  expect(comparisons([3, 2], query)).toEqual(twice);
  expect(comparisons([4, 3], query)).toEqual(twice);
  expect(comparisons([4, 3], wrong)).toEqual(twice);
  expect(comparisons([4, 3], query, 'ten_b')).toEqual(twice);
  compare.mockClear();
  links.verify(null, path, query);
  expect(compare).toHaveBeenCalledTimes(1);
});

describe('SURL-9 rotation', () => {
  it('every key of the ring verifies, the first signs; one that has left opens nothing', () => {
    const before = clocked(ring(entry('k1', 1)));
    const after = clocked(ring(entry('k2', 2), entry('k1', 1)));
    const old = partsOf(before.links.link(OWNER, OUTPUT)!.url);
    const fresh = partsOf(after.links.link(OWNER, OUTPUT)!.url);
    expect([old[1], fresh[1]]).toEqual([
      expect.stringContaining('&key=k1&'),
      expect.stringContaining('&key=k2&'),
    ]);
    expect(after.links.verify(SIGNER, ...old).verdict).toBe('valid');
    expect(after.links.verify(SIGNER, ...fresh).verdict).toBe('valid');
    expect(before.links.verify(SIGNER, ...fresh).verdict).toBe('invalid');
    expect(clocked(ring(entry('k2', 2))).links.verify(SIGNER, ...old).verdict).toBe('invalid');
    // The same id with other bytes, and another id with the same bytes, are other keys.
    expect(clocked(ring(entry('k1', 9))).links.verify(SIGNER, ...old).verdict).toBe('invalid');
    const renamed = old[1].replace('key=k1', 'key=k2');
    expect(after.links.verify(SIGNER, old[0], renamed).verdict).toBe('invalid');
  });

  it('of one tenant: its version before counts as long as it is said to', () => {
    const old = partsOf(linkTo().url);
    const fresh = partsOf(linkTo(OUTPUT, { tenantId: 'ten_a', linkVersion: 4 }).url);
    const during = { tenantId: 'ten_a', linkVersions: [4, 3] };
    const after = { tenantId: 'ten_a', linkVersions: [4] };
    const verdicts = [during, after].map((signer) =>
      [old, fresh].map((link) => links.verify(signer, ...link).verdict),
    );
    expect(verdicts).toEqual([
      ['valid', 'valid'],
      ['invalid', 'valid'],
    ]);
    expect(links.verify({ tenantId: 'ten_a', linkVersions: [] }, ...fresh).verdict).toBe('invalid');
  });
});

it('SURL-11 no link lives longer than seven days, whatever is asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 5 * DAY, max: 1_000 * DAY }), fc.nat(30 * DAY), (lifetimeMs, later) => {
      const own = clocked();
      own.clock.ms += later;
      const { url, expiresAt } = own.links.link(OWNER, OUTPUT, { lifetimeMs })!;
      const lifeMs = expiresAt.getTime() - own.clock.ms;
      expect(lifeMs).toBeLessThanOrEqual(7 * DAY);
      expect(lifeMs).toBeGreaterThanOrEqual(5 * DAY);
      expect(own.links.verify(SIGNER, ...partsOf(url)).verdict).toBe('valid');
      // Signed by a process whose clock is a day ahead, it would live too long: not yet.
      own.clock.ms = expiresAt.getTime() - 7 * DAY - 1_000;
      expect(own.links.verify(SIGNER, ...partsOf(url)).verdict).toBe('valid');
      own.clock.ms -= 1;
      expect(own.links.verify(SIGNER, ...partsOf(url)).verdict).toBe('invalid');
    }),
  );
});
