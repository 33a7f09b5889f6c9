/** The parts of a form, however its bytes come. */
import { describe, expect, it } from 'vitest';
import { PartCounter } from '../../src/api/form-parts.ts';

const FORM =
  'preamble\r\n--b-b\r\nContent-Disposition: form-data; name="a"\r\n\r\n--b-\r\n-b-b\r\n--b-b \r\n\r\n\r\n--b-b--\r\n--b-b\r\n';

const countOf = (type: string, text: string, size: number): number => {
  const counter = new PartCounter(type);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) counter.take(bytes.subarray(at, at + size));
  return counter.parts;
};

describe('PartCounter', () => {
  it.each([1, 2, 3, 5, 7, 11, 13, 64, 1_000])('counts two parts in pieces of %d bytes', (size) => {
    expect(countOf('multipart/form-data; boundary=b-b', FORM, size)).toBe(2);
    expect(countOf('multipart/form-data; charset=utf-8; boundary="b-b"', FORM, size)).toBe(2);
  });

  it('counts one that nothing comes before, and none without a part', () => {
    expect(countOf('multipart/form-data; boundary=b-b', '--b-b\r\n\r\nx\r\n--b-b--', 4)).toBe(1);
    expect(countOf('multipart/form-data; boundary=b-b', '--b-b--\r\n', 4)).toBe(0);
  });
});
