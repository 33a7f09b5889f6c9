import { describe, expect, it } from 'vitest';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import { wrongPart } from './partial-faults.ts';

type Seen = Parameters<typeof wrongPart>[0];
const output = (index: number) => ({ index }) as GenerationView['outputs'][number];
const credits = (captured: number, released: number, held = 0) => ({ captured, released, held, refunded: 0 });
const seen = (stored: number, over: Partial<Seen> = {}): Seen => ({
  state: 'succeeded',
  delivery: 'partial',
  outputs: Array.from({ length: stored }, (_, index) => output(index)),
  credits: credits(5 * stored, 20 - 5 * stored),
  ...over,
});

describe('a part of the outputs', () => {
  it.each([
    ['three of four at their price', seen(3)],
    ['all of them, where the fault met a try that counted for nothing', seen(4, { delivery: 'stored' })],
    ['no success', seen(0, { state: 'failed', delivery: 'failed', credits: credits(0, 20) })],
  ])('may be: %s', (_name, view) => {
    expect(wrongPart(view, 1)).toBeNull();
  });

  it.each([
    ['all is charged', seen(3, { credits: credits(20, 5) })],
    ['too little is charged', seen(3, { credits: credits(10, 5) })],
    ['the rest is still held', seen(3, { credits: credits(15, 5, 5) })],
    ['it is called whole', seen(3, { delivery: 'stored' })],
    ['more is lost than was broken', seen(2)],
    ['one is there twice', seen(3, { outputs: [output(0), output(1), output(1)] })],
  ])('is wrong when %s', (_name, view) => {
    expect(wrongPart(view, 1)).toMatch(/^at most 1 of 4 were lost: /);
  });
});
