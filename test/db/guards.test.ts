import { describe, expect, it } from 'vitest';
import { settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { accept, accepted, answer, create, newTenant, observe, send, store, storing } from './fixtures.ts';
import { makeRow } from './rows.ts';

const test = useDatabase();

/** The raw statement is refused with this text, whatever the functions would do. */
async function refuses(message: RegExp, text: string, values: readonly unknown[] = []): Promise<void> {
  await expect(test.sql(text, values), text).rejects.toThrow(message);
}

async function succeeded(): Promise<string> {
  const id = await storing(test.db, await newTenant(test.db));
  await store(test.db, id);
  await settle(test.db, id, { state: 'succeeded', errorCode: null });
  return id;
}

describe('guards of a generation', () => {
  it('an end is an end', async () => {
    const id = await succeeded();
    const change = (set: string) =>
      refuses(/has ended as succeeded/, `UPDATE generation SET ${set} WHERE id = $1`, [id]);
    await change(`state = 'failed', error_code = 'provider_failed'`);
    await change(`state = 'running', stage = 'storing', completed_at = NULL, due_at = now()`);
    await change(`completed_at = completed_at + interval '1 second'`);
    await change(`error_code = 'output_lost'`);
  });

  it('an end that is no success keeps its code', async () => {
    const { id } = await makeRow(test.db, 'ended', { flagged: false, overdue: false });
    await settle(test.db, id, { state: 'failed', errorCode: 'provider_failed' });
    await refuses(/has ended as failed/, `UPDATE generation SET error_code = 'no_output' WHERE id = $1`, [
      id,
    ]);
  });

  it('running never goes back to queued', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await refuses(/cannot go back to queued/, `UPDATE generation SET state = 'queued' WHERE id = $1`, [id]);
  });

  it.each([
    [`plan = jsonb_set(plan, '{timings,pollMaxMs}', '1')`],
    ['credits = credits - 1'],
    [`deadline_at = deadline_at + interval '1 day'`],
    [`created_at = created_at - interval '1 day'`],
    [`response_body = '{}'`],
    [`account_id = 'sys_world'`],
    [`input = '{}'`],
    [`callback_url = 'https://other.example/'`],
  ])('is frozen in input, price, plan and deadline: %s', async (set) => {
    const id = await create(test.db, await newTenant(test.db));
    await refuses(
      /is frozen in input, price, plan and deadline/,
      `UPDATE generation SET ${set} WHERE id = $1`,
      [id],
    );
  });

  it('keeps its first success', async () => {
    const id = await storing(test.db, await newTenant(test.db));
    await refuses(
      /keeps its first success/,
      'UPDATE generation SET success_at = NULL, store_until = NULL WHERE id = $1',
      [id],
    );
    await refuses(
      /keeps its first success/,
      `UPDATE generation SET success_at = success_at + interval '1 s' WHERE id = $1`,
      [id],
    );
  });

  it.each([
    [
      'succeeded without a success',
      `state = 'succeeded', stage = 'done', completed_at = now(), due_at = NULL, delivery = 'stored'`,
      /generation_success_was_observed/,
    ],
    [
      'failed without a code',
      `state = 'failed', stage = 'done', completed_at = now(), due_at = NULL`,
      /generation_error_fits_state/,
    ],
    [
      'failed with the code of expired',
      `state = 'failed', stage = 'done', completed_at = now(), due_at = NULL, error_code = 'deadline_exceeded'`,
      /generation_error_fits_state/,
    ],
    [
      'cancelled without a wish',
      `state = 'cancelled', stage = 'done', completed_at = now(), due_at = NULL`,
      /generation_cancelled_was_asked/,
    ],
    ['done while it runs', `stage = 'done'`, /generation_done_is_terminal/],
    [
      'ended without a time',
      `state = 'expired', stage = 'done', error_code = 'deadline_exceeded', due_at = NULL`,
      /generation_completed_is_terminal/,
    ],
    ['open without a time to look', 'due_at = NULL', /generation_due_until_terminal/],
    ['parked without a reason', `stage = 'needs_operator'`, /generation_operator_reason/],
    ['a state that does not exist', `state = 'paused'`, /generation_state_known/],
    ['progress of more than all', 'progress = 1.01', /generation_progress_range/],
  ])('no row is %s', async (_name, set, message) => {
    const id = await create(test.db, await newTenant(test.db));
    await refuses(message, `UPDATE generation SET ${set} WHERE id = $1`, [id]);
  });
});

describe('guards of credits', () => {
  it('a hold is resolved once and never resized', async () => {
    const id = await succeeded();
    const change = (set: string) =>
      refuses(/is resolved once/, `UPDATE hold SET ${set} WHERE generation_id = $1`, [id]);
    await change(`state = 'released', captured = 0`);
    await change(`state = 'held', captured = 0, resolved_at = NULL`);
    await change('captured = 1');
    const open = await create(test.db, await newTenant(test.db));
    await refuses(/never resized/, 'UPDATE hold SET amount = 1 WHERE generation_id = $1', [open]);
    await refuses(
      /hold_captured_fits/,
      `UPDATE hold SET state = 'captured', captured = amount + 1, resolved_at = now() WHERE generation_id = $1`,
      [open],
    );
    await refuses(/hold_resolved_once/, `UPDATE hold SET state = 'released' WHERE generation_id = $1`, [
      open,
    ]);
  });

  it.each([
    ['ledger_transaction', 'reason', /ledger_transaction is append-only/],
    ['ledger_entry', 'amount', /ledger_entry is append-only/],
    ['generation_event', 'seq', /events of gen_.* are append-only/],
  ])('%s is append-only', async (table, column, message) => {
    await succeeded();
    await refuses(message, `UPDATE ${table} SET ${column} = ${column}`);
    await refuses(message, `DELETE FROM ${table}`);
  });

  it.each([
    ['entries that do not sum to zero', `(5), (-4)`],
    ['one entry', `(5)`],
    ['no entry', null],
  ])('a ledger transaction with %s is refused at commit', async (_name, amounts) => {
    const { accountId } = await newTenant(test.db, 0);
    const client = await test.connect();
    await client.query('BEGIN');
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO ledger_transaction (kind, business_key, reason, actor) VALUES ('grant', gen_random_uuid()::text, 'r', 'a') RETURNING id`,
    );
    if (amounts !== null) {
      await client.query(
        `INSERT INTO ledger_entry (transaction_id, account_id, amount)
         SELECT $1, (ARRAY[$2, 'sys_world'])[row_number() OVER ()], amount FROM (VALUES ${amounts}) AS v(amount)`,
        [rows[0]!.id, accountId],
      );
    }
    await expect(client.query('COMMIT')).rejects.toThrow(/does not balance/);
  });

  it('a second capture of one generation is refused', async () => {
    const id = await succeeded();
    await refuses(
      /ledger_transaction_one_capture/,
      `INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor) VALUES ('capture', 'again', $1, 'r', 'a')`,
      [id],
    );
  });

  it('no account goes below zero, holds more than it has, or caches a system balance', async () => {
    const { accountId } = await newTenant(test.db, 10);
    const change = (set: string, account: string, message: RegExp) =>
      refuses(message, `UPDATE ledger_account SET ${set} WHERE id = $1`, [account]);
    await change('posted = -1', accountId, /never_below_zero/);
    await change('held = 11', accountId, /never_below_zero/);
    await change('held = -1', accountId, /never_below_zero/);
    await change('posted = 1', 'sys_revenue', /system_uncached/);
  });
});

describe('guards of a submission', () => {
  async function refusesSubmission(id: string, set: string, message: RegExp) {
    await refuses(message, `UPDATE submission SET ${set} WHERE id = $1`, [submissionId(id, 1)]);
  }

  it('accepted is never undone', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    for (const state of ['prepared', 'unknown', 'sending', 'refused']) {
      const more = {
        prepared: '',
        unknown: ', unknown_at = now()',
        sending: ', lease_until = now()',
        refused: `, refusal_code = 'no_output'`,
      }[state];
      await refusesSubmission(id, `state = '${state}'${more}`, /cannot go from accepted/);
    }
    await refusesSubmission(id, `provider_job_id = 'other'`, /keeps its first job/);
    await refusesSubmission(id, 'provider_job_id = NULL, handle = NULL', /keeps its first job/);
  });

  it('unknown is never refused, nor free to be sent as new', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'unknown');
    await refusesSubmission(
      id,
      `state = 'refused', refusal_code = 'no_output'`,
      /cannot go from unknown to refused/,
    );
    await refusesSubmission(id, `state = 'prepared'`, /cannot go from unknown to prepared/);
    await accept(test.db, id);
  });

  it.each([`idempotency_key = 'k'`, `request = '{}'`, `provider = 'other'`, `credential = 'other'`])(
    'is frozen in key and bytes: %s',
    async (set) => {
      const id = await create(test.db, await newTenant(test.db));
      await send(test.db, id);
      await refusesSubmission(id, set, /is frozen in key and bytes/);
    },
  );

  it('its id says whose it is, and its parts fit together', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id);
    await refusesSubmission(id, `id = 'sub_${'0'.repeat(26)}_1'`, /submission_id_from_generation/);
    await refusesSubmission(id, 'lease_until = NULL', /submission_sending_has_lease/);
    await refusesSubmission(id, `state = 'accepted', lease_until = NULL`, /submission_accepted_has_handle/);
    await refusesSubmission(id, `provider_job_id = 'j'`, /submission_handle_has_job/);
    await refusesSubmission(id, `ended_at = now()`, /submission_ended_complete/);
  });

  it('one provider job has one submission', async () => {
    const tenant = await newTenant(test.db);
    const [one, two] = [await accepted(test.db, tenant), await create(test.db, tenant)];
    await send(test.db, two);
    await refusesSubmission(two, `handle = '{}', provider_job_id = 'job-${one}'`, /submission_job/);
  });
});

describe('guards of outputs and events', () => {
  it('a stored output is complete, and no two have one path', async () => {
    const id = await storing(test.db, await newTenant(test.db), 2);
    await refuses(/output_stored_complete/, `UPDATE output SET state = 'stored' WHERE generation_id = $1`, [
      id,
    ]);
    await store(test.db, id, { index: 0 });
    await refuses(/output_path_key/, `UPDATE output SET path = $2 WHERE generation_id = $1 AND index = 1`, [
      id,
      `${id}/0-1.mp4`,
    ]);
  });

  it('there is one terminal event', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await observe(test.db, id, 'failed');
    await settle(test.db, id, { state: 'failed', errorCode: 'no_output' });
    await refuses(
      /generation_event_one_terminal/,
      `INSERT INTO generation_event (generation_id, seq, type, data, created_at) VALUES ($1, 99, 'terminal', '{}', now())`,
      [id],
    );
  });
});
