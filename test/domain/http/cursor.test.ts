import { describe, expect, it } from 'vitest';
import { cursorPattern, decodeCursor, encodeCursor } from '../../../src/domain/http/cursor.ts';
import { GENERATION_ID } from '../../../src/domain/ids.ts';
import { ENTRY_ID } from '../../../src/services/list-entries.ts';

const id = 'gen_06f1m4k2h8v7x9q3w5y1z0a2b4';
const createdAt = new Date('2026-11-29T12:00:00.123Z');
const ms = createdAt.getTime();

describe('cursors', () => {
  it('are read back as the place that they were made of', () => {
    const cursor = encodeCursor({ createdAt, id });
    expect(cursor).toBe(`1795953600123.${id}`);
    expect(decodeCursor(cursor, GENERATION_ID)).toEqual({ createdAt, id });
    expect(decodeCursor(cursor, /^hold_/)).toBeNull();
    expect(decodeCursor(encodeCursor({ createdAt, id: 'hold_1' }), /^hold_/)).toEqual({
      createdAt,
      id: 'hold_1',
    });
  });

  it.each([`0.${id}`, `9999999999999.${id}`])('%j is a place too', (text) => {
    expect(decodeCursor(text, GENERATION_ID)).not.toBeNull();
    expect(new RegExp(cursorPattern(GENERATION_ID)).test(text)).toBe(true);
  });

  it.each([
    '',
    'x',
    '.',
    `${ms}`,
    `${ms}.`,
    `${ms}.${id}x`,
    `${ms}.${id}\n`,
    `${ms}.ten_06f1m4k2h8v7x9q3w5y1z0a2b4`,
    `${ms}.${id}.more`,
    `.${id}`,
    `0${ms}.${id}`,
    `-1.${id}`,
    `1e3.${id}`,
    `10000000000000.${id}`,
    ` ${ms}.${id}`,
    `${ms},${id}`,
    Buffer.from(`2026-11-29T12:00:00.123Z,${id}`).toString('base64url'),
  ])('%j is none', (text) => {
    expect(decodeCursor(text, GENERATION_ID)).toBeNull();
    expect(new RegExp(cursorPattern(GENERATION_ID)).test(text)).toBe(false);
  });

  it('tells ids of several forms in one pattern', () => {
    const pattern = new RegExp(cursorPattern(ENTRY_ID));
    expect(pattern.test(`1.grant_12`)).toBe(true);
    expect(pattern.test(`1.hold_06f1m4k2h8v7x9q3w5y1z0a2b4`)).toBe(true);
    expect(pattern.test(`hold_06f1m4k2h8v7x9q3w5y1z0a2b4`)).toBe(false);
    expect(pattern.test(`1.grant_12x`)).toBe(false);
  });
});
