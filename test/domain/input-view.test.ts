import { describe, expect, it } from 'vitest';
import { inputPath, inputSchema, viewInput } from '../../src/domain/input-view.ts';

const at = new Date('2026-11-29T12:00:00.000Z');
const row = {
  id: 'inp_06f1m4k2h8v7x9q3w5y1z0a2b4',
  mediaType: 'image/png',
  bytes: 1_234n,
  sha256: Buffer.alloc(32, 0xab),
  width: 640,
  height: 360,
  durationSeconds: null,
  createdAt: at,
  expiresAt: new Date(at.getTime() + 86_400_000),
};

describe('an input as its tenant sees it', () => {
  it('is what its schema says, in that order', () => {
    const view = viewInput(row);
    expect(view).toEqual({
      id: row.id,
      object: 'input',
      media_type: 'image/png',
      bytes: 1_234,
      sha256: 'ab'.repeat(32),
      width: 640,
      height: 360,
      duration_seconds: null,
      created_at: '2026-11-29T12:00:00.000Z',
      expires_at: '2026-11-30T12:00:00.000Z',
    });
    expect(Object.keys(view)).toEqual(Object.keys(inputSchema.shape));
    expect(inputSchema.parse(view)).toEqual(view);
  });

  it('has its place', () => {
    expect(inputPath(row.id)).toBe('/v1/inputs/inp_06f1m4k2h8v7x9q3w5y1z0a2b4');
  });
});
