import { defineConfig } from 'vitest/config';
import LongFirst from './test/support/sequencer.ts';

// Times are UTC whatever the machine's zone: the tests run nine hours ahead of it.
process.env['TZ'] ??= 'Asia/Tokyo';

/** Files that start processes, count what their own process has done, or replace a module. */
const ALONE = [
  'test/{bench,chaos,dev,e2e,metrics,mutants,security}/**/*.test.ts',
  'test/domain/file-links.test.ts',
];

const common = {
  pool: 'forks',
  testTimeout: 120_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  expect: { poll: { timeout: 30_000 } },
  allowOnly: false,
  retry: 0,
} as const;

export default defineConfig({
  test: {
    // The end-to-end files mostly wait for other processes, so more of them than cores.
    maxWorkers: 3,
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/reporter.ts'],
    sequence: { sequencer: LongFirst },
    projects: [
      { test: { ...common, name: 'processes', include: ALONE } },
      // One process loads Prisma, Express and Temporal once for many files: a third of the time of all of these.
      {
        test: { ...common, name: 'parts', include: ['test/**/*.test.ts'], exclude: ALONE, isolate: false },
      },
    ],
  },
});
