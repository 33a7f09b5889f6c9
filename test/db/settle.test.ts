import { describe, expect, it } from 'vitest';
import { readCredits, settle } from '../../src/db/index.ts';
import type { Proposal } from '../../src/db/index.ts';
import { tally, useDatabase } from './database.ts';
import { balance, facts } from './facts.ts';
import { newTenant, store, storing } from './fixtures.ts';
import { makeRow, OPEN_ROWS, OUTPUT_PRICE, ROW_PRICE, ROWS } from './rows.ts';
import type { Row, RowOptions } from './rows.ts';

const test = useDatabase({ poolSize: 20 });

const PROPOSALS = {
  succeeded: { state: 'succeeded', errorCode: null },
  failed: { state: 'failed', errorCode: 'provider_failed' },
  output_lost: { state: 'failed', errorCode: 'output_lost' },
  output_invalid: { state: 'failed', errorCode: 'output_invalid' },
  cancelled: { state: 'cancelled', errorCode: null },
  deadline_exceeded: { state: 'expired', errorCode: 'deadline_exceeded' },
  submission_unresolved: { state: 'expired', errorCode: 'submission_unresolved' },
} as const satisfies Record<string, Proposal>;
type Name = keyof typeof PROPOSALS;
const NAMES = Object.keys(PROPOSALS) as Name[];

/** design.md §4: what each shape of the rows may end as, without a wish to cancel and before the deadline. */
const ALWAYS: Record<Row, readonly Name[]> = {
  none: ['failed'],
  prepared: ['failed'],
  sending: [],
  unknown: [],
  accepted: [],
  ended: ['failed'],
  storing: [],
  half_stored: [],
  stored: ['succeeded'],
  partial: ['succeeded'],
  lost: ['output_lost'],
  invalid: ['output_invalid'],
  lost_and_invalid: ['output_invalid'],
  gone: ['output_lost'],
};
/** What the flag and the deadline add. */
const WHEN_FLAGGED: Partial<Record<Row, Name>> = {
  none: 'cancelled',
  prepared: 'cancelled',
  ended: 'cancelled',
};
const WHEN_OVERDUE: Partial<Record<Row, Name>> = {
  none: 'deadline_exceeded',
  prepared: 'deadline_exceeded',
  accepted: 'deadline_exceeded',
  ended: 'deadline_exceeded',
  unknown: 'submission_unresolved',
};
const CAPTURED: Partial<Record<Row, number>> = { stored: ROW_PRICE, partial: OUTPUT_PRICE };

function fitting(row: Row, { flagged, overdue }: RowOptions): Name[] {
  const more = [flagged ? WHEN_FLAGGED[row] : undefined, overdue ? WHEN_OVERDUE[row] : undefined];
  return [...ALWAYS[row], ...more.filter((name) => name !== undefined)];
}

const cases = ROWS.flatMap((row) =>
  [false, true].flatMap((flagged) => [false, true].map((overdue) => ({ row, flagged, overdue }))),
);

describe('settle: every proposal against every shape of the rows', () => {
  it.each(cases)('$row, cancel asked: $flagged, overdue: $overdue', async ({ row, ...options }) => {
    const { db } = test;
    const fits = fitting(row, options);
    const { id } = await makeRow(db, row, options);
    const before = await facts(db, id);
    for (const name of NAMES.filter((other) => !fits.includes(other))) {
      expect(await settle(db, id, PROPOSALS[name]), name).toEqual({
        outcome: 'stale',
        state: before.state,
        errorCode: null,
        captured: 0,
      });
    }
    expect(await facts(db, id)).toEqual(before);
    for (const name of fits) {
      const fresh = await makeRow(db, row, options);
      await expectSettled(fresh.id, fresh.tenantId, row, name);
    }
  });
});

async function expectSettled(id: string, tenantId: string, row: Row, name: Name): Promise<void> {
  const { db } = test;
  const proposal = PROPOSALS[name];
  const captured = name === 'succeeded' ? CAPTURED[row]! : 0;
  const settled = { state: proposal.state, errorCode: proposal.errorCode, captured };
  expect(await settle(db, id, proposal), name).toMatchObject({ outcome: 'settled', ...settled });
  const after = await facts(db, id);
  expect(after).toMatchObject({
    state: proposal.state,
    stage: 'done',
    error: proposal.errorCode,
    delivery: name === 'succeeded' ? row : 'failed',
    hold: name === 'succeeded' ? 'captured' : 'released',
    captured,
    terminalEvents: 1,
  });
  expect(await readCredits(db, tenantId, 'default')).toEqual(balance(1_000 - captured, 0, captured));
  for (const other of NAMES)
    expect(await settle(db, id, PROPOSALS[other]), `then ${other}`).toEqual({
      outcome: 'already',
      ...settled,
    });
  expect(await facts(db, id)).toEqual(after);
}

describe('settle: the outcome of a cancel', () => {
  it.each([
    ['stored', 'succeeded', 'too_late'],
    ['lost', 'output_lost', 'too_late'],
    ['ended', 'failed', 'too_late'],
    ['ended', 'cancelled', 'confirmed'],
    ['prepared', 'cancelled', 'confirmed'],
  ] as const)('%s that ends as %s: %s', async (row, name, cancel) => {
    const { id } = await makeRow(test.db, row, { flagged: true, overdue: false });
    await settle(test.db, id, PROPOSALS[name]);
    expect((await facts(test.db, id)).cancel).toBe(cancel);
  });

  it('accepted_may_bill is kept by the end as cancelled', async () => {
    const { id } = await makeRow(test.db, 'ended', { flagged: true, overdue: false });
    await test.sql(`UPDATE generation SET cancel_outcome = 'accepted_may_bill' WHERE id = $1`, [id]);
    await settle(test.db, id, PROPOSALS.cancelled);
    expect((await facts(test.db, id)).cancel).toBe('accepted_may_bill');
  });

  it('voids the prepared submission and its token', async () => {
    const { id } = await makeRow(test.db, 'prepared', { flagged: false, overdue: true });
    await settle(test.db, id, PROPOSALS.deadline_exceeded);
    expect(await test.sql(`SELECT state FROM submission WHERE generation_id = $1`, [id])).toEqual([
      { state: 'abandoned' },
    ]);
  });
});

describe('settle: racing settles', () => {
  it.each(['ended', 'stored'] as const)('60 mixed proposals on %s settle exactly once', async (row) => {
    const { id, tenantId } = await makeRow(test.db, row, { flagged: true, overdue: true });
    const mixed = (['succeeded', 'failed', 'cancelled', 'deadline_exceeded'] as const).map(
      (name) => PROPOSALS[name],
    );
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => settle(test.db, id, mixed[i % 4]!)),
    );
    const winners = answers.filter(({ outcome }) => outcome === 'settled');
    expect(winners).toHaveLength(1);
    const [winner] = winners;
    for (const answer of answers.filter(({ outcome }) => outcome === 'already'))
      expect(answer).toEqual({ ...winner, outcome: 'already', times: undefined });
    const after = await facts(test.db, id);
    expect(after).toMatchObject({ state: winner!.state, terminalEvents: 1, captured: winner!.captured });
    expect(OPEN_ROWS.has(row) ? after.hold : after.state).toBe(OPEN_ROWS.has(row) ? 'released' : 'succeeded');
    const spent = winner!.captured;
    expect(await readCredits(test.db, tenantId, 'default')).toEqual(balance(1_000 - spent, 0, spent));
  });

  it('G6 20 generations of one account, each settled by ten at once, spend exactly their sum', async () => {
    const tenant = await newTenant(test.db, 2_500);
    const ids = await Promise.all(Array.from({ length: 20 }, () => storing(test.db, tenant)));
    await Promise.all(ids.map((id) => store(test.db, id)));
    const answers = await Promise.all(
      ids.flatMap((id) => Array.from({ length: 10 }, () => settle(test.db, id, PROPOSALS.succeeded))),
    );
    expect(tally(answers.map(({ outcome }) => outcome))).toEqual({ settled: 20, already: 180 });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(500, 0, 2_000));
  });
});

describe('settle: all or nothing', () => {
  it.each([
    [
      'an entry that is refused',
      `CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.account_id = 'sys_revenue' THEN RAISE EXCEPTION 'sabotage'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER sabotage BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION sabotage()`,
      /sabotage/,
    ],
    [
      'entries that do not balance, found at commit',
      `CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.account_id = 'sys_revenue' THEN NEW.amount := NEW.amount + 1; END IF; RETURN NEW; END $$;
       CREATE TRIGGER sabotage BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION sabotage()`,
      /does not balance/,
    ],
    [
      'a state that is refused after the balance',
      `CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.completed_at IS NOT NULL THEN RAISE EXCEPTION 'sabotage'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER sabotage BEFORE UPDATE ON generation FOR EACH ROW EXECUTE FUNCTION sabotage()`,
      /sabotage/,
    ],
    [
      'a terminal event that is refused',
      `CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.type = 'terminal' THEN RAISE EXCEPTION 'sabotage'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER sabotage BEFORE INSERT ON generation_event FOR EACH ROW EXECUTE FUNCTION sabotage()`,
      /sabotage/,
    ],
  ])('G1 %s leaves nothing behind, and the next try settles', async (_name, sabotage, message) => {
    const { id, tenantId } = await makeRow(test.db, 'stored', { flagged: false, overdue: false });
    const before = await facts(test.db, id);
    await test.sql(sabotage);
    try {
      await expect(settle(test.db, id, PROPOSALS.succeeded)).rejects.toThrow(message);
    } finally {
      await test.sql('DROP FUNCTION sabotage() CASCADE');
    }
    expect(await facts(test.db, id)).toEqual(before);
    expect(await readCredits(test.db, tenantId, 'default')).toEqual(balance(898, 102, 0));
    expect(await settle(test.db, id, PROPOSALS.succeeded)).toMatchObject({
      outcome: 'settled',
      captured: ROW_PRICE,
    });
  });

  it('a code that does not belong to the state is refused by the table', async () => {
    const { id } = await makeRow(test.db, 'ended', { flagged: true, overdue: true });
    await expect(settle(test.db, id, { state: 'cancelled', errorCode: 'no_output' })).rejects.toThrow(
      /generation_error_fits_state/,
    );
    expect(await settle(test.db, id, { state: 'failed', errorCode: null })).toMatchObject({
      outcome: 'stale',
    });
    expect(await settle(test.db, id, { state: 'expired', errorCode: null })).toMatchObject({
      outcome: 'stale',
    });
  });
});
