import { expect, it } from 'vitest';
import { apiKeyIdFor, API_KEY_ID, makeApiKey, parseApiKey } from '../../src/domain/api-key.ts';
import { firstGenerationId, GENERATION_ID, newId, TENANT_ID, tenantIdFor } from '../../src/domain/ids.ts';
import { listedGenerationSchema } from '../../src/domain/operated-generation.ts';
import { operatedDeliveryDetailSchema, operatedDeliverySchema } from '../../src/domain/operated-webhook.ts';
import { SWEEP_COUNT_NAMES, SWEEP_COUNTS, SWEEP_PASSES, SWEEP_PROBLEMS } from '../../src/domain/sweep.ts';

it('the first id of a time sorts before all that are made from then on, and after those before', () => {
  const first = firstGenerationId(1_764_000_000_000);
  expect(first).toMatch(GENERATION_ID);
  for (let count = 0; count < 100; count += 1) {
    expect(newId('gen', 1_764_000_000_000) > first).toBe(true);
    expect(newId('gen', 1_763_999_999_999) < first).toBe(true);
  }
  expect(firstGenerationId(-1)).toBe(`gen_${'0'.repeat(26)}`);
});

it('ids made under an idempotency key are the same at each repeat, of the right shape, and no two keys meet', () => {
  const keys = ['order-17', 'order-18', ''];
  expect(keys.map(tenantIdFor)).toEqual(keys.map(tenantIdFor));
  expect(keys.map(apiKeyIdFor)).toEqual(keys.map(apiKeyIdFor));
  for (const key of keys) {
    expect(tenantIdFor(key)).toMatch(TENANT_ID);
    expect(apiKeyIdFor(key)).toMatch(API_KEY_ID);
  }
  expect(new Set([...keys.map(tenantIdFor), ...keys.map(apiKeyIdFor)]).size).toBe(6);
});

it('a key made under a given id has it, with a secret of its own each time', () => {
  const id = apiKeyIdFor('order-17');
  const [one, two] = [makeApiKey(id), makeApiKey(id)];
  expect([one.id, two.id, parseApiKey(one.text)?.id]).toEqual([id, id, id]);
  expect(one.text).not.toBe(two.text);
});

it('what operators see of a delivery has its tenant and run, and never what the receiver answered', () => {
  expect(Object.keys(operatedDeliverySchema.shape)).toEqual(
    expect.arrayContaining(['tenant', 'receiver', 'temporal_url']),
  );
  const tries = operatedDeliveryDetailSchema.shape.tries.element.shape;
  expect(Object.keys(tries)).toContain('attempt');
  expect(Object.keys(tries)).not.toContain('answer');
});

it('what operators see in the list has nothing of the tenant’s content', () => {
  const fields = Object.keys(listedGenerationSchema.shape);
  expect(fields).toEqual(
    expect.arrayContaining(['id', 'temporal_url', 'stage', 'overdue_seconds', 'reason']),
  );
  for (const field of ['input', 'metadata', 'prompt', 'callback_url']) expect(fields).not.toContain(field);
});

it('passes, problems and counts of the sweep are closed lists of names that metrics can carry', () => {
  expect(SWEEP_COUNT_NAMES).toEqual(Object.keys(SWEEP_COUNTS));
  for (const names of [SWEEP_PASSES, SWEEP_PROBLEMS, SWEEP_COUNT_NAMES]) {
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  }
});
