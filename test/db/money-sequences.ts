import fc from 'fast-check';
import type { Proposal } from '../../src/db/index.ts';
import {
  cancel,
  create,
  createAgain,
  fetched,
  found,
  give,
  observed,
  propose,
  refund,
  render,
  replied,
  resolve,
  submit,
} from './money-commands.ts';
import { PHASES } from './money-model.ts';

const PROPOSALS = fc.constantFrom<Proposal>(
  { state: 'succeeded', errorCode: null },
  { state: 'succeeded', errorCode: null },
  { state: 'failed', errorCode: 'provider_failed' },
  { state: 'failed', errorCode: 'output_lost' },
  { state: 'cancelled', errorCode: null },
  { state: 'expired', errorCode: 'deadline_exceeded' },
  { state: 'expired', errorCode: 'submission_unresolved' },
);
const reasons = fc.constantFrom('quality', 'late', 'goodwill');
const pick = fc.nat(5);

const one = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 3 }), fc.nat(3))
      .map(([each, count, n]) => create(each, count, n === 0)),
  },
  fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(50, 70)).map(([key, n]) => give(key, n)),
  pick.map(createAgain),
  pick.map(submit),
  fc
    .tuple(pick, fc.constantFrom('accepted', 'accepted', 'refused', 'unknown'))
    .map((args) => replied(...args)),
  pick.map(found),
  {
    weight: 6,
    arbitrary: fc
      .tuple(pick, fc.constantFrom('render', 'sell', 'sell a part'))
      .map((args) => render(...args)),
  },
  fc.tuple(pick, fc.constantFrom('succeeded', 'succeeded', 'failed')).map((args) => observed(...args)),
  {
    weight: 6,
    arbitrary: fc
      .tuple(pick, fc.constantFrom('stored', 'stored', 'lost'), fc.boolean())
      .map((args) => fetched(...args)),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(pick, PROPOSALS, fc.constantFrom(PHASES, ['storing'] as const))
      .map((args) => propose(...args)),
  },
  pick.map(cancel),
  fc.tuple(pick, fc.constantFrom('failed', 'succeeded')).map((args) => resolve(...args)),
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.nat(2),
        reasons,
        fc.constantFrom(null, 1, 10, 1_000),
        fc.constantFrom(PHASES, ['captured'] as const, ['captured'] as const),
      )
      .map((args) => refund(...args)),
  },
);

/** Any sequence of what tenants, runs, providers and operators do to the credits of one account, duplicates included. */
export const moneyCommands = fc.array(one, { minLength: 35, maxLength: 50, size: 'max' });
