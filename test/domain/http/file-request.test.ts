import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answerFileRequest,
  type FileAnswer,
  type FileRequest,
} from '../../../src/domain/http/file-request.ts';

const TAG = '"sha256-ab"';
const NOTHING: FileRequest = {
  method: 'GET',
  ifMatch: undefined,
  ifNoneMatch: undefined,
  ifRange: undefined,
  range: undefined,
};
const answer = (request: Partial<FileRequest>, bytes = 100) =>
  answerFileRequest({ ...NOTHING, ...request }, { tag: TAG, bytes });
const WHOLE = { status: 200, range: null };
const part = (start: number, end: number): FileAnswer => ({ status: 206, range: { start, end } });

describe('SURL-10 one range (RFC 9110 §14)', () => {
  it.each<[string, FileAnswer]>([
    ['bytes=0-0', part(0, 0)],
    ['bytes=0-99', part(0, 99)],
    ['bytes=10-19', part(10, 19)],
    ['bytes=10-', part(10, 99)],
    ['bytes=99-', part(99, 99)],
    ['bytes=90-100', part(90, 99)],
    ['bytes=0-99999999999999999999999', part(0, 99)],
    ['bytes=-1', part(99, 99)],
    ['bytes=-100', part(0, 99)],
    ['bytes=-101', part(0, 99)],
    ['bytes=-99999999999999999999999', part(0, 99)],
    ['BYTES= 1-2 ', part(1, 2)],
    ['bytes=007-008', part(7, 8)],
  ])('%s', (range, expected) => {
    expect(answer({ range })).toEqual(expected);
  });

  it.each(['bytes=100-', 'bytes=100-200', 'bytes=99999999999999999999999-', 'bytes=-0'])(
    '%s is outside: 416',
    (range) => {
      expect(answer({ range })).toEqual({ status: 416 });
    },
  );

  it.each([
    ['several', 'bytes=0-1,5-6'],
    ['several lines', 'bytes=0-1, bytes=5-6'],
    ['another unit', 'seconds=0-1'],
    ['backwards', 'bytes=5-2'],
    ['no number', 'bytes=-'],
    ['words', 'bytes=a-b'],
    ['a sign', 'bytes=+1-2'],
    ['a fraction', 'bytes=1.5-2'],
    ['nothing', ''],
    ['no unit', '0-1'],
    ['more behind it', 'bytes=0-1 x'],
  ])('%s: the whole file', (_what, range) => {
    expect(answer({ range })).toEqual(WHOLE);
  });

  it('of an empty file is always outside', () => {
    for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1', 'bytes=-0']) {
      expect(answer({ range }, 0)).toEqual({ status: 416 });
    }
    expect(answer({}, 0)).toEqual(WHOLE);
  });

  it('never leaves the file', () => {
    const number = fc.oneof(fc.nat(300), fc.constant(''), fc.maxSafeNat());
    fc.assert(
      fc.property(number, number, fc.integer({ min: 1, max: 250 }), (first, last, bytes) => {
        const got = answer({ range: `bytes=${first}-${last}` }, bytes);
        if (got.status !== 206) return;
        expect(got.range.start).toBeGreaterThanOrEqual(0);
        expect(got.range.end).toBeLessThan(bytes);
        expect(got.range.start).toBeLessThanOrEqual(got.range.end);
        if (first !== '') expect(got.range.start).toBe(first);
      }),
    );
  });

  it('only for GET, and with If-Range only for the same bytes', () => {
    const range = 'bytes=0-0';
    expect(answer({ range, method: 'HEAD' })).toEqual(WHOLE);
    expect(answer({ range, ifRange: TAG })).toEqual(part(0, 0));
    for (const ifRange of ['"other"', `W/${TAG}`, '*', 'Sun, 29 Nov 2026 12:00:00 GMT', '']) {
      expect(answer({ range, ifRange })).toEqual(WHOLE);
    }
    expect(answer({ range: 'bytes=100-', ifRange: '"other"' })).toEqual(WHOLE);
    expect(answer({ ifRange: TAG })).toEqual(WHOLE);
  });
});

describe('conditions (RFC 9110 §13)', () => {
  it.each([TAG, '*', `W/${TAG}`, `"x", ${TAG}`])(
    'If-None-Match: %s is 304, also for a range',
    (ifNoneMatch) => {
      expect(answer({ ifNoneMatch })).toEqual({ status: 304 });
      expect(answer({ ifNoneMatch, method: 'HEAD' })).toEqual({ status: 304 });
      expect(answer({ ifNoneMatch, range: 'bytes=0-0' })).toEqual({ status: 304 });
    },
  );

  it('If-None-Match of other bytes changes nothing', () => {
    expect(answer({ ifNoneMatch: '"x"' })).toEqual(WHOLE);
  });

  it('If-Match comes first and compares strongly', () => {
    for (const ifMatch of [TAG, ' * ', `"x",${TAG}`]) {
      expect(answer({ ifMatch })).toEqual(WHOLE);
      expect(answer({ ifMatch, ifNoneMatch: TAG })).toEqual({ status: 304 });
    }
    for (const ifMatch of ['"x"', `W/${TAG}`, '']) {
      expect(answer({ ifMatch, ifNoneMatch: TAG })).toEqual({ status: 412 });
    }
  });
});
