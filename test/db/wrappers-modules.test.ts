import { expect, it } from 'vitest';

it('src/db can be loaded: the shapes of its answers contradict nothing', async () => {
  const db = await import('../../src/db/index.ts');
  expect(Object.keys(db)).toContain('settle');
});
