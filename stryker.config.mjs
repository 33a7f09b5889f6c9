// Read by scripts/stryker.mjs (npm run stryker).
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const domain = 'pricing,price-rule,input-schema,judge,generation,plan,backoff';
const db = 'ledger,settle,limits,resolve-generation';

export default {
  mutate: [`src/domain/{${domain}}.ts`, `src/db/{${db}}.ts`],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation.config.ts' },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 20_000,
  thresholds: { high: 95, low: 90, break: 85 },
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
  jsonReporter: { fileName: 'coverage/mutation.json' },
  tempDirName: join(tmpdir(), 'darkroom-stryker'),
  ignorePatterns: ['.darkroom', '.ci', 'coverage', 'dist', 'docs'],
  allowEmpty: false,
  disableTypeChecks: false,
  // Stryker would rewrite it with the API of TypeScript 6; nothing here needs that.
  tsconfigFile: 'none',
};
