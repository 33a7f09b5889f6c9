import { describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createdAtMs, parseTraceparent, rootOf, traceIdOf, traceparent } from '../../src/domain/trace-id.ts';

const MADE_MS = 1_795_999_000_123;

describe('the trace of a generation', () => {
  it('is the 128 bits of its UUIDv7 id', () => {
    expect(traceIdOf('gen_7zzzzzzzzzzzzzzzzzzzzzzzzz')).toBe('f'.repeat(32));
    expect(traceIdOf('gen_00000000000000000000000001')).toBe(`${'0'.repeat(31)}1`);
    // 0x0192f0c1e0007abc8def0123456789ab in Crockford's base32, by hand.
    expect(traceIdOf('gen_01jbrc3r00fay8vvr14d2pf2db')).toBe('0192f0c1e0007abc8def0123456789ab');
  });

  it('tells when it was created, is a UUIDv7, and has a root below which all lies', () => {
    for (let made = 0; made < 200; made += 1) {
      const id = newId('gen', MADE_MS + made);
      const traceId = traceIdOf(id)!;
      expect(traceId).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
      expect(createdAtMs(traceId)).toBe(MADE_MS + made);
      expect(rootOf(id)).toEqual({ traceId, spanId: traceId.slice(16) });
    }
  });

  it('is the same for each of its submissions', () => {
    const id = newId('gen');
    for (const ordinal of [1, 2, 37]) expect(traceIdOf(submissionId(id, ordinal))).toBe(traceIdOf(id));
  });

  it('differs by every bit: no two ids share one', () => {
    const ids = Array.from({ length: 500 }, () => newId('gen', MADE_MS));
    expect(new Set(ids.map(traceIdOf)).size).toBe(500);
  });

  it.each([
    '',
    'gen_',
    'gen_00000000000000000000000000',
    'gen_8zzzzzzzzzzzzzzzzzzzzzzzzz',
    'gen_7zzzzzzzzzzzzzzzzzzzzzzzz',
    'gen_7zzzzzzzzzzzzzzzzzzzzzzzzzz',
    'gen_7ZZZZZZZZZZZZZZZZZZZZZZZZZ',
    'gen_7izzzzzzzzzzzzzzzzzzzzzzzz',
    'ten_7zzzzzzzzzzzzzzzzzzzzzzzzz',
    'gen_7zzzzzzzzzzzzzzzzzzzzzzzzz\n',
  ])('there is none of %j', (id) => {
    expect(traceIdOf(id)).toBeNull();
    expect(rootOf(id)).toBeNull();
  });
});

describe('traceparent', () => {
  const context = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
  const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  it('is written and read as W3C has it', () => {
    expect(traceparent(context)).toBe(header);
    expect(parseTraceparent(header)).toEqual(context);
    expect(parseTraceparent(header.replace(/01$/, '00'))).toEqual(context);
  });

  it.each([
    undefined,
    '',
    header.toUpperCase(),
    header.replace('00-', 'ff-'),
    `${header}-more`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
    header.replace('4bf9', 'xxxx'),
  ])('%j is none', (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});
