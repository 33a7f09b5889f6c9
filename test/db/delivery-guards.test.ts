import { describe, expect, it } from 'vitest';
import { eraseGeneration, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import { newTenant, store, storing } from './fixtures.ts';
import { newInput } from './inputs.ts';
import { failedAtProvider, FAILED } from './money.ts';
import { claimOne, endedGeneration, newEndpoint, record } from './webhooks.ts';

const test = useDatabase();

/** The raw statement is refused with this text, whatever the functions would do. */
async function refuses(message: RegExp, text: string, values: readonly unknown[] = []): Promise<void> {
  await expect(test.sql(text, values), text).rejects.toThrow(message);
}

describe('guards of an erasure', () => {
  it('what was asked for changes in the one statement that marks it, and never again', async () => {
    const tenant = await newTenant(test.db);
    const id = await failedAtProvider(test.db, tenant);
    const change = (message: RegExp, set: string) =>
      refuses(message, `UPDATE generation SET ${set} WHERE id = $1`, [id]);
    await change(/generation_erased_after_the_end/, 'erased_at = now()');
    await settle(test.db, id, FAILED);
    await change(/is frozen in input/, `input = '{}'`);
    await eraseGeneration(test.db, { generationId: id, tenantId: tenant.id });
    await change(/is frozen in input/, `input = '{"prompt": "back"}'`);
    await change(/is frozen in input/, `response_body = '{"input": {"prompt": "back"}}'`);
    await change(/stays erased/, 'erased_at = NULL');
    await change(/stays erased/, `erased_at = erased_at + interval '1 s'`);
  });

  it('the bytes of a submission change only under an erased generation, its key never', async () => {
    const tenant = await newTenant(test.db);
    const id = await failedAtProvider(test.db, tenant);
    await settle(test.db, id, FAILED);
    const change = (message: RegExp, set: string) =>
      refuses(message, `UPDATE submission SET ${set} WHERE id = $1`, [submissionId(id, 1)]);
    await change(/is frozen in key and bytes/, `request = '{}'`);
    await eraseGeneration(test.db, { generationId: id, tenantId: tenant.id });
    await change(/is frozen in key and bytes/, `idempotency_key = 'other'`);
  });

  it('events go only from an ended generation that is marked as pruned', async () => {
    const running = await storing(test.db, await newTenant(test.db));
    const marked = `UPDATE generation SET events_pruned_at = now() WHERE id = $1`;
    await refuses(/generation_events_pruned_after_the_end/, marked, [running]);
    await refuses(/are append-only/, 'DELETE FROM generation_event WHERE generation_id = $1', [running]);
  });
});

describe('guards of files', () => {
  it('deleted has its time, and nothing else has one', async () => {
    const tenant = await newTenant(test.db);
    const id = await storing(test.db, tenant);
    await store(test.db, id);
    const output = (set: string) =>
      refuses(/output_deleted_has_time/, `UPDATE output SET ${set} WHERE generation_id = $1`, [id]);
    await output(`state = 'deleted'`);
    await output('deleted_at = now()');
    const inputId = await newInput(test.db, tenant);
    const input = (message: RegExp, set: string) =>
      refuses(message, `UPDATE stored_input SET ${set} WHERE id = $1`, [inputId]);
    await input(/stored_input_deleted_has_time/, `state = 'deleted'`);
    await input(/stored_input_state_known/, `state = 'lost'`);
    await input(/stored_input_source_known/, `source = 'found'`);
    await input(/stored_input_file_complete/, 'bytes = 0');
    await input(/stored_input_id_shape/, `id = 'gen_x'`);
    const other = await newInput(test.db, tenant);
    await input(/stored_input_path_key/, `path = '${other}/0-1'`);
  });

  it('an input that a generation is tied to can’t be removed as a row', async () => {
    const tenant = await newTenant(test.db);
    const inputId = await newInput(test.db, tenant);
    await endedGeneration(test.db, tenant, { inputs: [{ field: 'image_url', inputId }] });
    await refuses(/generation_input_input_id_fkey/, 'DELETE FROM stored_input WHERE id = $1', [inputId]);
  });
});

describe('guards of webhooks', () => {
  it('a delivery has the times that its state needs', async () => {
    const tenant = await newTenant(test.db);
    const endpointId = await newEndpoint(test.db, tenant);
    await endedGeneration(test.db, tenant);
    const { deliveryId } = await claimOne(test.db);
    const change = (message: RegExp, set: string) =>
      refuses(message, `UPDATE webhook_delivery SET ${set} WHERE id = $1`, [deliveryId]);
    await change(/webhook_delivery_pending_has_time/, 'next_attempt_at = NULL');
    await change(/webhook_delivery_leased_is_pending/, `state = 'held', next_attempt_at = NULL`);
    await change(
      /webhook_delivery_delivered_has_time/,
      `state = 'delivered', next_attempt_at = NULL, leased_until = NULL`,
    );
    await change(/webhook_delivery_attempts_range/, 'schedule_from = attempts + 1');
    await change(
      /webhook_delivery_state_known/,
      `state = 'lost', next_attempt_at = NULL, leased_until = NULL`,
    );
    await record(test.db, { deliveryId, attempt: 1 }, 'delivered');
    await refuses(
      /webhook_delivery_once/,
      `INSERT INTO webhook_delivery (tenant_id, event_id, target, next_attempt_at, created_at)
       SELECT tenant_id, event_id, target, now(), now() FROM webhook_delivery WHERE id = $1`,
      [deliveryId],
    );
    await refuses(
      /webhook_secret_one_current/,
      `INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at)
       VALUES ($1, $2, 'x', 'k1', now())`,
      [tenant.id, endpointId],
    );
  });

  it('an endpoint is disabled with a reason, and asks for what exists', async () => {
    const endpointId = await newEndpoint(test.db, await newTenant(test.db));
    const change = (message: RegExp, set: string) =>
      refuses(message, `UPDATE webhook_endpoint SET ${set} WHERE id = $1`, [endpointId]);
    await change(/webhook_endpoint_disabled_complete/, 'disabled_at = now()');
    await change(/webhook_endpoint_disabled_reason_known/, `disabled_at = now(), disabled_reason = 'mood'`);
    await change(/webhook_endpoint_types_known/, `types = '{}'`);
    await change(/webhook_endpoint_types_known/, `types = '{generation.created}'`);
    await change(/webhook_endpoint_url_length/, `url = ''`);
  });

  it('an operator’s action is of a known kind', async () => {
    const tenant = await newTenant(test.db);
    await refuses(
      /operator_action_kind_known/,
      `INSERT INTO operator_action (kind, tenant_id, actor, reason, detail) VALUES ('forget', $1, 'a', 'r', '{}')`,
      [tenant.id],
    );
  });
});
