import { describe, expect, it } from 'vitest';
import {
  contentRange,
  ETAG,
  fetchFrom,
  FILE,
  LIMITS,
  SHORT_IDLE,
  startRangedFile,
  type Break,
} from './ranged-file.ts';
import { createClient, startHttp, startTcp } from './servers.ts';

const HALF = 200_000;
const COMPLETE = { kind: 'complete', bytes: FILE.length, contentType: 'video/mp4' };
const REASONS = { reset: 'reset', fin: 'truncated', silence: 'timeout' } as const;

describe('download: goes on where the source broke off', () => {
  it.each(Object.keys(REASONS) as Break[])('F3 DL-1: after a %s, with the same bytes', async (by) => {
    const file = await startRangedFile([{ until: HALF, by }, {}]);
    const seen: number[] = [];
    const { answer, stored } = await fetchFrom(file, {
      limits: by === 'silence' ? SHORT_IDLE : LIMITS,
      onProgress: (bytes) => seen.push(bytes),
    });
    expect(answer).toEqual({ ...COMPLETE, resumes: 1 });
    expect(stored).toHaveLength(FILE.length);
    expect(file.asked).toMatchObject([{ range: undefined }, { range: `bytes=${HALF}-`, ifRange: ETAG }]);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBe(FILE.length);
  });

  it('asks by Last-Modified where there is no ETag and the answer is younger', async () => {
    const headers = {
      'last-modified': 'Fri, 27 Nov 2026 10:00:00 GMT',
      date: 'Fri, 27 Nov 2026 10:00:01 GMT',
      'content-type': 'video/mp4',
    };
    const file = await startRangedFile([{ until: HALF, by: 'fin' }, {}], headers);
    expect((await fetchFrom(file)).answer).toEqual({ ...COMPLETE, resumes: 1 });
    expect(file.asked[1]).toMatchObject({ ifRange: headers['last-modified'] });
  });

  it('a part that is smaller than what was asked for is gone on with too', async () => {
    const third = 300_000;
    const some = { ...contentRange(HALF, FILE.length, third - 1), 'content-length': String(third - HALF) };
    const file = await startRangedFile([
      { until: HALF, by: 'reset' },
      { instead: (response, from) => response.writeHead(206, some).end(FILE.subarray(from, third)) },
      {},
    ]);
    expect((await fetchFrom(file)).answer).toEqual({ ...COMPLETE, resumes: 2 });
  });

  it('at most five times, and the next try begins afresh', async () => {
    const step = 50_000;
    const parts = Array.from({ length: 7 }, (_, n) => ({ until: (n + 1) * step, by: 'fin' as const }));
    const file = await startRangedFile(parts);
    const { answer, stored } = await fetchFrom(file);
    expect(answer).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(file.asked).toHaveLength(6);
    expect(stored).toHaveLength(6 * step);
  });

  it('only as long as each time brings some of it', async () => {
    const file = await startRangedFile([
      { until: HALF, by: 'fin' },
      { until: HALF, by: 'fin' },
    ]);
    expect((await fetchFrom(file)).answer).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(file.asked).toHaveLength(2);
    const empty = await startRangedFile([{ until: 0, by: 'fin' }]);
    expect((await fetchFrom(empty)).answer).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(empty.asked).toHaveLength(1);
  });

  it('the total limit holds for all parts together', async () => {
    const parts = Array.from({ length: 6 }, (_, n) => ({ until: (n + 1) * 10_000, by: 'silence' as const }));
    const file = await startRangedFile(parts);
    const { answer } = await fetchFrom(file, { limits: { ...SHORT_IDLE, totalMs: 4_000 } });
    expect(answer).toEqual({ kind: 'failed', reason: 'timeout' });
    expect(file.asked.length).toBeLessThan(5);
  });

  it('the caller’s abort ends it between two parts', async () => {
    const abort = new AbortController();
    const file = await startRangedFile([
      { until: HALF, by: 'fin' },
      { instead: () => abort.abort(new Error('stopped')) },
    ]);
    await expect(fetchFrom(file, { signal: abort.signal })).rejects.toThrow('stopped');
    expect(file.asked).toHaveLength(2);
  });
});

describe('download: never goes on with what may be another file', () => {
  it.each([
    ['the whole file again (200)', { status: 200, headers: { 'content-range': '' } }],
    ['another length', { file: Buffer.concat([FILE, Buffer.alloc(1)]) }],
    ['another start', { headers: contentRange(HALF - 1, FILE.length) }],
    ['no start', { headers: { 'content-range': 'bytes */400000' } }],
    ['no total', { headers: { 'content-range': `bytes ${HALF}-399999/*` } }],
    [
      'several parts',
      { headers: { 'content-range': '', 'content-type': 'multipart/byteranges; boundary=x' } },
    ],
    ['another ETag', { headers: { etag: '"v2"' } }],
    ['an encoded part', { headers: { 'content-encoding': 'gzip' } }],
    [
      'an end behind the end',
      {
        file: Buffer.concat([FILE, Buffer.alloc(1)]),
        headers: contentRange(HALF, FILE.length, FILE.length),
      },
    ],
    ['a range and a length that differ', { headers: { 'content-length': '7' } }],
    ['416', { status: 416 }],
    ['404', { status: 404 }],
    ['403', { status: 403 }],
    ['500', { status: 500 }],
  ])('%s ends this try as it broke off', async (_name, answer) => {
    const file = await startRangedFile([{ until: HALF, by: 'fin' }, answer]);
    const { answer: end, stored } = await fetchFrom(file);
    expect(end).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(stored).toHaveLength(HALF);
    expect(file.asked).toHaveLength(2);
  });

  it('a part that is longer than it said is cut off at the file’s length', async () => {
    const file = await startRangedFile([
      { until: HALF, by: 'fin' },
      {
        instead: (response, from) => {
          response.writeHead(206, { ...contentRange(from, FILE.length), etag: ETAG });
          response.write(FILE.subarray(from));
          response.end('more');
        },
      },
    ]);
    const { answer, stored } = await fetchFrom(file);
    expect(answer).toEqual({ kind: 'failed', reason: 'bad_answer' });
    expect(stored.length).toBeLessThanOrEqual(FILE.length);
  });

  it.each([
    ['no validator', {}],
    ['a weak ETag', { etag: 'W/"v1"' }],
    ['a weak ETag, though a date too', { etag: 'W/"v1"', 'last-modified': 'Fri, 27 Nov 2026 10:00:00 GMT' }],
    ['an ETag that is none', { etag: 'v1' }],
    [
      'a date of this very second',
      { 'last-modified': 'Fri, 27 Nov 2026 10:00:00 GMT', date: 'Fri, 27 Nov 2026 10:00:00 GMT' },
    ],
    ['a date that is none', { 'last-modified': 'yesterday', date: 'Fri, 27 Nov 2026 10:00:00 GMT' }],
  ])('%s: is not asked again', async (_name, headers) => {
    const file = await startRangedFile([{ until: HALF, by: 'fin' }], headers);
    expect((await fetchFrom(file)).answer).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(file.asked).toHaveLength(1);
  });

  it('a body without a length is not asked again', async () => {
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { etag: ETAG });
      response.write(FILE.subarray(0, HALF), () => response.socket?.end());
    });
    expect((await fetchFrom(server)).answer).toEqual({ kind: 'failed', reason: 'truncated' });
  });
});

describe('download: each part passes every check', () => {
  it('SSRF-4: a redirect elsewhere is not followed the second time either', async () => {
    const target = await startTcp(() => {});
    for (const location of [
      `http://127.0.0.1:${target.port}/`,
      'https://10.0.0.1/',
      'https://elsewhere.example/',
    ]) {
      const file = await startRangedFile([
        { until: HALF, by: 'fin' },
        { instead: (response) => response.writeHead(302, { location }).end() },
      ]);
      expect((await fetchFrom(file)).answer).toEqual({ kind: 'failed', reason: 'truncated' });
      expect(file.asked).toHaveLength(2);
    }
    expect(target.connections).toBe(0);
  });

  it('SSRF-3: a name that turned private meanwhile is not connected to', async () => {
    const answers = ['127.0.0.1', '10.0.0.1'];
    const asked: string[] = [];
    const file = await startRangedFile([{ until: HALF, by: 'fin' }, {}]);
    const client = createClient([file.port], {
      names: [],
      lookup: async (name) => {
        asked.push(name);
        return [{ address: answers.shift() ?? '', family: 4 }];
      },
      allow: [{ host: 'files.example', port: file.port }],
      // The private address may be one that never answers: this is waited for then.
      connectTimeoutMs: 3_000,
    });
    const answer = await client.download({
      url: `http://files.example:${file.port}/file`,
      hosts: ['files.example'],
      headersFor: () => ({}),
      limits: LIMITS,
      signal: new AbortController().signal,
      write: async () => {},
      onProgress: file.onProgress,
    });
    expect(answer).toEqual({ kind: 'failed', reason: 'truncated' });
    expect(asked).toEqual(['files.example', 'files.example']);
    expect(file.asked).toHaveLength(1);
  });

  it('SSRF-7: headers are asked again, hop by hop', async () => {
    const keys = ['Bearer one', 'Bearer two'];
    const file = await startRangedFile([{ until: HALF, by: 'fin' }, {}]);
    const { answer } = await fetchFrom(file, {
      headersFor: () => {
        const range: Record<string, string> = file.asked.length === 0 ? {} : { Range: 'bytes=0-1' };
        return { ...range, authorization: keys.shift() ?? '' };
      },
    });
    expect(answer).toMatchObject({ kind: 'complete', resumes: 1 });
    expect(file.asked.map(({ authorization }) => authorization)).toEqual(['Bearer one', 'Bearer two']);
    expect(file.asked[1]).toMatchObject({ range: `bytes=${HALF}-` });
  });
});
