import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../src/domain/http/cursor.ts';
import { GENERATION_ID } from '../../../src/domain/ids.ts';

const id = 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4';
const createdAt = new Date('2026-11-29T12:00:00.123Z');
const made = (text: string) => Buffer.from(text).toString('base64url');

describe('cursors', () => {
  it('are read back as the place that they were made of', () => {
    const cursor = encodeCursor({ createdAt, id });
    expect(cursor).toBe(made(`2026-11-29T12:00:00.123Z,${id}`));
    expect(decodeCursor(cursor, GENERATION_ID)).toEqual({ createdAt, id });
    expect(decodeCursor(cursor, /^hold_/)).toBeNull();
    expect(decodeCursor(encodeCursor({ createdAt, id: 'hold_1' }), /^hold_/)).toEqual({
      createdAt,
      id: 'hold_1',
    });
  });

  it.each([
    '',
    'x',
    made(''),
    made(','),
    made('2026-11-29T12:00:00.123Z'),
    made(`2026-11-29T12:00:00.123Z,${id}x`),
    made(`2026-11-29T12:00:00.123Z,ten_06f1m4k2h8v7x9q3w5y1z0a2b4`),
    made(`2026-11-29T12:00:00.123Z,${id},more`),
    made(`2026-11-29T12:00:00Z,${id}`),
    made(`2026-13-29T12:00:00.123Z,${id}`),
    made(`2026-02-30T12:00:00.123Z,${id}`),
    `${made(`2026-11-29T12:00:00.123Z,${id}`)}=`,
    Buffer.from(`2026-11-29T12:00:00.123Z,${id}`).toString('base64').replace(/.$/, '!'),
  ])('%j is none', (text) => {
    expect(decodeCursor(text, GENERATION_ID)).toBeNull();
  });
});
