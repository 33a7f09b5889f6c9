import { describe, expect, it } from 'vitest';
import { readCredits } from '../../src/db/index.ts';
import { useDatabase } from './database.ts';
import { balance, facts, generationOf, submissionOf } from './facts.ts';
import { accept, answer, create, newTenant, send, store, storing } from './fixtures.ts';
import { resolve } from './money.ts';
import { makeRow, OUTPUT_PRICE, ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const test = useDatabase();

/** What a person who says `failed` or `succeeded` is told, for each shape of the rows. */
const FAILED: Record<Row, string> = {
  none: 'provider_failed',
  prepared: 'provider_failed',
  sending: 'sending',
  unknown: 'provider_failed',
  accepted: 'provider_failed',
  ended: 'provider_failed',
  storing: 'downloading',
  half_stored: 'downloading',
  stored: 'outputs_stored',
  partial: 'outputs_stored',
  lost: 'output_lost',
  invalid: 'output_invalid',
  lost_and_invalid: 'output_invalid',
  gone: 'output_lost',
};
const CAPTURED: Partial<Record<Row, number>> = { stored: 2 * OUTPUT_PRICE, partial: OUTPUT_PRICE };
const WHY_NOT: Partial<Record<Row, string>> = {
  sending: 'sending',
  storing: 'downloading',
  half_stored: 'downloading',
};
const made = (row: Row) => makeRow(test.db, row, { flagged: false, overdue: false });

describe('resolve_generation: every shape of the rows', () => {
  it.each(ROWS)('%s, said to have failed', async (row) => {
    const { id, tenantId } = await made(row);
    const before = await facts(test.db, id);
    const answer = await resolve(test.db, id, 'failed');
    if (answer.outcome === 'not_possible') {
      expect(answer).toEqual({ outcome: 'not_possible', why: FAILED[row] });
      expect(await facts(test.db, id)).toEqual(before);
      return;
    }
    expect(answer).toMatchObject({
      outcome: 'resolved',
      state: 'failed',
      errorCode: FAILED[row],
      captured: 0,
    });
    expect(await facts(test.db, id)).toMatchObject({ state: 'failed', hold: 'released', terminalEvents: 1 });
    expect(await readCredits(test.db, tenantId, 'default')).toEqual(balance(1_000, 0, 0));
    expect(await resolve(test.db, id, 'succeeded')).toEqual({ outcome: 'already_terminal', state: 'failed' });
  });

  it.each(ROWS)('%s, said to have succeeded: only what is stored is charged for', async (row) => {
    const { id, tenantId } = await made(row);
    const captured = CAPTURED[row];
    const answer = await resolve(test.db, id, 'succeeded');
    if (captured === undefined) {
      expect(answer).toEqual({ outcome: 'not_possible', why: WHY_NOT[row] ?? 'no_output_stored' });
      return;
    }
    expect(answer).toMatchObject({ outcome: 'resolved', state: 'succeeded', errorCode: null, captured });
    expect(await facts(test.db, id)).toMatchObject({ state: 'succeeded', delivery: row, captured });
    expect(await readCredits(test.db, tenantId, 'default')).toEqual(balance(1_000 - captured, 0, captured));
  });
});

describe('resolve_generation', () => {
  it('one whose submit may have arrived, its lease over: its job is looked for, and attached late', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await send(test.db, id, { leaseMs: 0 });
    expect(await resolve(test.db, id, 'failed')).toMatchObject({ outcome: 'resolved' });
    const { completedAt } = await generationOf(test.db, id);
    const submission = await submissionOf(test.db, id);
    expect(submission).toMatchObject({ state: 'unknown', leaseUntil: null, problem: 'lease_over' });
    expect(submission.lateDueAt!.getTime() - completedAt!.getTime()).toBe(3_600_000);
    expect(await answer(test.db, id, 1, 'capacity')).toMatchObject({ outcome: 'stale', state: 'unknown' });
    expect(await accept(test.db, id)).toMatchObject({ outcome: 'attached_late', state: 'abandoned' });
  });

  it('keeps who and why with the money and in the record', async () => {
    const { id, tenantId } = await made('stored');
    await resolve(test.db, id, 'succeeded');
    const by = { actor: 'ops', reason: 'looked into' };
    expect(await test.db.prisma.operatorAction.findMany({ where: { generationId: id } })).toMatchObject([
      { kind: 'resolve', tenantId, ...by, detail: { state: 'succeeded', captured: 102 } },
    ]);
    expect(await test.db.prisma.ledgerTransaction.findMany({ where: { generationId: id } })).toMatchObject([
      { kind: 'capture', ...by },
    ]);
    await expect(test.sql('UPDATE operator_action SET reason = actor')).rejects.toThrow(/append-only/);
    await expect(test.sql('DELETE FROM operator_action')).rejects.toThrow(/append-only/);
  });

  it('writes nothing when it is not possible, and does not know what does not exist', async () => {
    const { id } = await made('sending');
    await resolve(test.db, id, 'failed');
    expect(await test.db.prisma.operatorAction.count({ where: { generationId: id } })).toBe(0);
    expect(await resolve(test.db, `gen_${'0'.repeat(26)}`, 'failed')).toEqual({ outcome: 'not_found' });
  });

  it('the output of a download that died is lost; what was stored is charged for', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant, 2, 30);
    await store(test.db, id, { index: 0 });
    await test.sql('UPDATE output SET lease_until = now() WHERE generation_id = $1', [id]);
    expect(await resolve(test.db, id, 'succeeded')).toMatchObject({ outcome: 'resolved', captured: 30 });
    expect(await facts(test.db, id)).toMatchObject({ state: 'succeeded', delivery: 'partial' });
    expect(await readCredits(test.db, tenant.id, 'default')).toEqual(balance(970, 0, 30));
  });
});
