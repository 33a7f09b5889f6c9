import fc from 'fast-check';
import { describe, it } from 'vitest';
import { useDatabase } from './database.ts';
import { newTenant } from './fixtures.ts';
import { moneyCommands } from './money-sequences.ts';
import { newModel } from './money-model.ts';

const test = useDatabase();
const GRANTED = 300;

describe('the functions against a model of the account', () => {
  it('available + held + spent = granted after each of any sequence of calls', async () => {
    await fc.assert(
      fc.asyncProperty(moneyCommands, async (sequence) => {
        const tenant = await newTenant(test.db, GRANTED);
        const setup = () => ({ model: newModel(GRANTED), real: { db: test.db, tenant, requests: [] } });
        await fc.asyncModelRun(setup, sequence);
      }),
      { numRuns: 10 },
    );
  }, 180_000);
});
