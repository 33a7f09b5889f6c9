import { expect, it } from 'vitest';
import { STEP_BROKEN } from '../../src/domain/step-failures.ts';

it('the failure type of a broken step stands in histories: it never changes', () => {
  expect(STEP_BROKEN).toBe('StepBroken');
});
