import { defineConfig } from 'vitest/config';

/** `npm run coverage`: the pure rules alone, so neither PostgreSQL nor Temporal is started; fails below 100 %. */
export default defineConfig({
  test: {
    include: ['test/domain/**/*.test.ts', 'test/api/{api-key,idempotency-key,keyring}.test.ts'],
    pool: 'threads',
    maxWorkers: 2,
    testTimeout: 20_000,
    allowOnly: false,
    retry: 0,
    coverage: {
      enabled: true,
      provider: 'v8',
      include: ['src/domain/**/*.ts'],
      reporter: ['text'],
      thresholds: { lines: 100, branches: 100, functions: 100, statements: 100 },
    },
  },
});
