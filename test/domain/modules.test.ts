import { expect, it } from 'vitest';

/** The default catalogue is parsed where it is imported: a fault of its schemas would end a process before any message. */
it.each([
  ['default-catalogue', () => import('../../src/domain/default-catalogue.ts')],
  ['plan', () => import('../../src/domain/plan.ts')],
  ['input-schema', () => import('../../src/domain/input-schema.ts')],
  ['generation-view', () => import('../../src/domain/generation-view.ts')],
])('%s can be loaded', async (_name, load) => {
  expect(Object.keys(await load())).not.toEqual([]);
});
