import { defineConfig } from 'vitest/config';

/** What `npm run stryker` runs for each mutant: the pure rules, and the SQL functions behind the wrappers. */
export default defineConfig({
  test: {
    include: ['test/domain/**/*.test.ts', 'test/db/wrappers*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
