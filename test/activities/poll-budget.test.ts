import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPollBudget } from '../../src/activities/poll-budget.ts';

test('400 jobs on a budget of 20 a second are 20 s apart; another provider is not slowed', async () => {
  const budget = createPollBudget(() => Promise.resolve({ infro: 400, kling: 3 }));
  expect(budget.spacingMs('infro', 20)).toBe(0);
  await turn();
  expect(budget.spacingMs('infro', 20)).toBe(20_000);
  expect(budget.spacingMs('kling', 20)).toBe(150);
  expect(budget.spacingMs('fal', 20)).toBe(0);
});

test('the count is read at most every five seconds, and the last one stays when it cannot be read', async () => {
  let nowMs = 0;
  let reads = 0;
  const budget = createPollBudget(
    () => {
      reads += 1;
      return reads === 1 ? Promise.resolve({ infro: 40 }) : Promise.reject(new Error('database away'));
    },
    () => nowMs,
  );
  budget.spacingMs('infro', 20);
  await turn();
  nowMs = 4_999;
  expect(budget.spacingMs('infro', 20)).toBe(2_000);
  expect(reads).toBe(1);
  nowMs = 5_000;
  budget.spacingMs('infro', 20);
  await turn();
  expect(reads).toBe(2);
  expect(budget.spacingMs('infro', 20)).toBe(2_000);
});
