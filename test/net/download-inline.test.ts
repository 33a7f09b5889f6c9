import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isInlineFile, readInlineFile } from '../../src/net/index.ts';
import type { DownloadAnswer, DownloadRequest } from '../../src/net/types.ts';

const LIMITS = { maxBytes: 1_000_000, idleMs: 1_000, totalMs: 10_000 };

async function read(
  url: string,
  over: Partial<DownloadRequest> = {},
): Promise<{ answer: DownloadAnswer; stored: Buffer; largest: number }> {
  const chunks: Uint8Array[] = [];
  const answer = await readInlineFile({
    url,
    limits: LIMITS,
    signal: new AbortController().signal,
    write: async (chunk) => void chunks.push(chunk),
    ...over,
  });
  return {
    answer,
    stored: Buffer.concat(chunks),
    largest: Math.max(0, ...chunks.map(({ length }) => length)),
  };
}

const inline = (file: Uint8Array, head = 'data:image/png;base64,') =>
  `${head}${Buffer.from(file).toString('base64')}`;

describe('DL-11: a file that stands in the answer itself', () => {
  it.each([0, 1, 2, 3, 49_151, 49_152, 49_153, 300_000])('%i bytes arrive in slices', async (size) => {
    const file = randomBytes(size);
    const seen: number[] = [];
    const { answer, stored, largest } = await read(inline(file), { onProgress: (bytes) => seen.push(bytes) });
    expect(answer).toEqual({ kind: 'complete', bytes: size, contentType: 'image/png' });
    expect(stored.equals(file)).toBe(true);
    expect(largest).toBeLessThanOrEqual(49_152);
    expect(seen.at(-1) ?? 0).toBe(size);
  });

  it.each([
    ['data:;base64,', null],
    ['DATA:video/mp4;Base64,', 'video/mp4'],
    ['data:image/svg+xml;charset=utf-8;name=a.svg;base64,', 'image/svg+xml'],
  ])('%s is one', async (head, contentType) => {
    const url = inline(Buffer.from('hi!'), head);
    expect(isInlineFile(url)).toBe(true);
    expect((await read(url)).answer).toEqual({ kind: 'complete', bytes: 3, contentType });
  });

  it.each([
    'data:image/png,AAAA',
    'data:text/plain;charset=utf-8,hello',
    'data:image/png;base64',
    'https://cdn.example/data:image/png;base64,AAAA',
    ' data:image/png;base64,AAAA',
    `data:${'x'.repeat(3_000)};base64,AAAA`,
    '',
  ])('%j is none', async (url) => {
    expect(isInlineFile(url)).toBe(false);
    expect((await read(url)).answer).toEqual({ kind: 'rejected', reason: 'invalid_url' });
  });

  it.each([
    'AAA',
    'AA',
    'A',
    'AA=A',
    '=AAA',
    'AAA%',
    'A A=',
    'AA-_',
    'AAAA====',
    'AAA\n',
    'AAAA\r\nAA',
    '====',
  ])('text that is not exact base64 is refused: %j', async (text) => {
    const { answer } = await read(`data:image/png;base64,${text}`);
    expect(answer).toEqual({ kind: 'rejected', reason: 'invalid_url' });
  });

  it('DL-3: the limit holds to the byte, before anything is decoded', async () => {
    for (const maxBytes of [1_000, 1_001, 1_002]) {
      const limits = { ...LIMITS, maxBytes };
      expect((await read(inline(randomBytes(maxBytes)), { limits })).answer).toMatchObject({
        bytes: maxBytes,
      });
      const { answer, stored } = await read(inline(randomBytes(maxBytes + 1)), { limits });
      expect(answer).toEqual({ kind: 'rejected', reason: 'too_large' });
      expect(stored).toHaveLength(0);
    }
  });

  it('ends with the caller’s abort, the total limit, or what the sink threw', async () => {
    const url = inline(randomBytes(200_000));
    const abort = new AbortController();
    const stops = read(url, { signal: abort.signal, write: async () => abort.abort(new Error('stopped')) });
    await expect(stops).rejects.toThrow('stopped');
    await expect(read(url, { signal: abort.signal })).rejects.toThrow('stopped');
    const full = read(url, { write: async () => Promise.reject(new Error('ENOSPC')) });
    await expect(full).rejects.toThrow('ENOSPC');
    const late = await read(url, { limits: { ...LIMITS, totalMs: -1 } });
    expect(late.answer).toEqual({ kind: 'failed', reason: 'timeout' });
  });
});
