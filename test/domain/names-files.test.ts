import { expect, it } from 'vitest';
import { namesFiles } from '../../src/domain/input-fields.ts';

it('an input names files by its file fields only, whatever its texts hold', () => {
  expect(namesFiles({ prompt: 'image_url https://example.com/a.png', duration_seconds: 5 })).toBe(false);
  expect(namesFiles({ prompt: 'a cat', image_url: 'inp_x' })).toBe(true);
  expect(namesFiles({})).toBe(false);
});
