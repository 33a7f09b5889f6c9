import { defineConfig } from 'vitest/config';
import LongFirst from './test/support/sequencer.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // The end-to-end files mostly wait for other processes, so more of them than cores.
    maxWorkers: 3,
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/reporter.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    allowOnly: false,
    retry: 0,
    sequence: { sequencer: LongFirst },
  },
});
