import { expect, it } from 'vitest';
import { contentDisposition } from '../../src/domain/content-disposition.ts';

it.each([
  ['video/mp4', 'inline; filename="gen_1-0.mp4"'],
  ['video/quicktime', 'inline; filename="gen_1-0.mov"'],
  ['image/png', 'inline; filename="gen_1-0.png"'],
  ['image/x-new', 'inline; filename="gen_1-0.bin"'],
  ['audio/wav', 'inline; filename="gen_1-0.wav"'],
  ['image/svg+xml', 'attachment; filename="gen_1-0.bin"'],
  ['IMAGE/SVG', 'attachment; filename="gen_1-0.bin"'],
  ['text/html', 'attachment; filename="gen_1-0.bin"'],
  ['application/pdf', 'attachment; filename="gen_1-0.bin"'],
  ['xvideo/mp4', 'attachment; filename="gen_1-0.bin"'],
])('DL-5 %s: %s', (mediaType, expected) => {
  expect(contentDisposition('gen_1-0', mediaType)).toBe(expected);
});
