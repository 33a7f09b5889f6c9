import { entries, refund, generation, hold, account, lateSuccess } from './violations.ts';
import type { Seed } from './violations.ts';

const BALANCED = 'each ledger transaction has entries that sum to zero';
const HELD = "an account's held credits equal its open holds";
const CAPTURE = 'a captured hold has exactly one capture of its amount, and no other hold has one';
const ONE_HOLD = 'each generation has one hold of its price on its account';
const GRANTED = "an account's granted credits equal its grants";
const TOGETHER = 'available, held and spent are together what was granted';
const REFUNDS = 'refunds are what the hold says, and never more than what was captured';
const ONE_REFUND = 'one refund per generation and reason';
const PRICED = 'a capture is the price of one output by the outputs stored, within the hold';
const LATE = 'a late success was not charged';

/** Planted in the ledger, in holds and refunds. */
export const MONEY_SEEDS: readonly Seed[] = [
  {
    name: BALANCED,
    how: 'a transaction without entries',
    sql: () => [
      `INSERT INTO ledger_transaction (kind, business_key, reason, actor) VALUES ('grant', 'seed', 'seed', 'seed')`,
    ],
  },
  {
    name: 'the ledger sums to zero',
    how: 'entries of 5 and -4',
    sql: () => [
      entries('seed', 'grant', null, [
        ['sys_world', 5],
        ['sys_revenue', -4],
      ]),
    ],
    also: [BALANCED],
  },
  {
    name: "an account's balance equals its entries",
    how: 'one credit from nowhere',
    sql: (p) => [account(p, 'posted = posted + 1')],
    also: [TOGETHER],
  },
  {
    name: GRANTED,
    how: 'one credit that nobody gave',
    sql: (p) => [account(p, 'granted = granted + 1')],
    also: [TOGETHER],
  },
  {
    name: GRANTED,
    how: 'a grant that the account does not know of',
    sql: (p) => [
      entries('seed', 'grant', null, [
        [p.tenant.accountId, 5],
        ['sys_world', -5],
      ]),
      account(p, 'posted = posted + 5'),
    ],
    also: [TOGETHER],
  },
  {
    name: TOGETHER,
    how: 'a balance changed by another kind of transaction',
    sql: (p) => [
      'ALTER TABLE ledger_transaction DROP CONSTRAINT ledger_transaction_kind_known',
      entries('seed', 'correction', p.ids.succeeded, [
        [p.tenant.accountId, -5],
        ['sys_world', 5],
      ]),
      account(p, 'posted = posted - 5'),
    ],
  },
  { name: HELD, how: 'one credit held for nobody', sql: (p) => [account(p, 'held = held + 1')] },
  {
    name: 'no account is below zero',
    how: 'more held than posted',
    sql: (p) => [
      'ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_never_below_zero',
      account(p, 'held = posted + 1'),
    ],
    also: [HELD],
  },
  {
    name: ONE_HOLD,
    how: 'a price that changed',
    sql: (p) => [generation(p.ids.queued, 'credits = credits + 1')],
  },
  {
    name: ONE_HOLD,
    how: 'another account',
    sql: (p) => [generation(p.ids.queued, `account_id = 'sys_world'`)],
  },
  {
    name: ONE_HOLD,
    how: 'no hold',
    sql: (p) => [`DELETE FROM hold WHERE generation_id = '${p.ids.queued}'`],
    also: [HELD],
  },
  {
    name: CAPTURE,
    how: 'another amount',
    sql: (p) => [hold(p.ids.succeeded, 'captured = captured - 1')],
    also: [PRICED],
  },
  {
    name: CAPTURE,
    how: 'a capture of a released hold',
    sql: (p) => [
      entries('seed', 'capture', p.ids.failed, [
        ['sys_world', -5],
        ['sys_revenue', 5],
      ]),
    ],
  },
  {
    name: CAPTURE,
    how: 'two captures',
    sql: (p) => [
      'DROP INDEX ledger_transaction_one_capture',
      entries('seed', 'capture', p.ids.succeeded, [
        ['sys_world', -5],
        ['sys_revenue', 5],
      ]),
    ],
  },
  {
    name: REFUNDS,
    how: 'one credit more than was captured',
    sql: (p) => [
      'ALTER TABLE hold DROP CONSTRAINT hold_refunded_fits',
      'ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_spent_within_granted',
      refund(p, 'seed', 101),
      hold(p.ids.succeeded, 'refunded = 101'),
      account(p, 'posted = posted + 101'),
    ],
  },
  {
    name: REFUNDS,
    how: 'a refund that the hold does not know of',
    sql: (p) => [refund(p, 'seed', 40), account(p, 'posted = posted + 40')],
  },
  {
    name: REFUNDS,
    how: 'a refund without a transaction',
    sql: (p) => [hold(p.ids.succeeded, 'refunded = 40')],
  },
  {
    name: ONE_REFUND,
    how: 'the same reason twice',
    sql: (p) => [
      refund(p, 'seed-1', 20),
      refund(p, 'seed-2', 20),
      hold(p.ids.succeeded, 'refunded = 40'),
      account(p, 'posted = posted + 40'),
    ],
  },
  {
    name: PRICED,
    how: 'one credit above the price of the output',
    sql: (p) => [generation(p.ids.succeeded, `plan = jsonb_set(plan, '{creditsPerOutput}', '99')`)],
  },
  {
    name: PRICED,
    how: 'one credit too few',
    sql: (p) => [
      hold(p.ids.succeeded, 'captured = captured - 1'),
      `UPDATE ledger_entry SET amount = amount - sign(amount) WHERE transaction_id =
         (SELECT id FROM ledger_transaction WHERE kind = 'capture' AND generation_id = '${p.ids.succeeded}')`,
      account(p, 'posted = posted + 1'),
    ],
  },
  {
    name: PRICED,
    how: 'one credit above the hold',
    sql: (p) => [
      'ALTER TABLE hold DROP CONSTRAINT hold_captured_fits',
      generation(p.ids.succeeded, `plan = jsonb_set(plan, '{creditsPerOutput}', '101')`),
      hold(p.ids.succeeded, 'captured = 101'),
      `UPDATE ledger_entry SET amount = amount + sign(amount) WHERE transaction_id =
         (SELECT id FROM ledger_transaction WHERE kind = 'capture' AND generation_id = '${p.ids.succeeded}')`,
      account(p, 'posted = posted - 1'),
    ],
  },
  {
    name: LATE,
    how: 'the job that was charged',
    sql: (p) => [lateSuccess(p.ids.succeeded)],
  },
];
