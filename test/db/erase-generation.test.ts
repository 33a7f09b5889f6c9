import { describe, expect, it } from 'vitest';
import {
  createGeneration,
  eraseGeneration,
  keepWebhookBody,
  recordCallback,
  recordSubmission,
  settle,
} from '../../src/db/index.ts';
import type { NewGeneration } from '../../src/db/index.ts';
import { newId } from '../../src/domain/ids.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { useDatabase } from './database.ts';
import {
  accept,
  callback,
  claimOf,
  create,
  newGeneration,
  newTenant,
  observe,
  send,
  store,
} from './fixtures.ts';
import type { Tenant } from './fixtures.ts';
import { inputRow, newInput, uses } from './inputs.ts';
import { FAILED, failedAtProvider, SUCCEEDED } from './money.ts';
import { claimOne, endedGeneration, newEndpoint, record } from './webhooks.ts';
import { untilWaiting } from './waiting.ts';

const test = useDatabase();
const CANARY = 'a-canary-in-the-coal-mine';
const PROMPT = { prompt: `${CANARY} sings`, image_url: `https://product.example/${CANARY}.png` };

/** Every column of every table that holds the canary, as text, as JSON or as bytes. */
async function found(): Promise<string[]> {
  const columns = await test.sql<{ table: string; column: string; type: string }>(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name NOT LIKE '\\_prisma%' AND data_type IN ('text', 'json', 'jsonb', 'bytea', 'ARRAY', 'character varying')
     ORDER BY 1, 2`,
  );
  const looks = columns.map(({ table, column, type }) => {
    const holds =
      type === 'bytea'
        ? `position(convert_to('${CANARY}', 'UTF8') IN "${column}") > 0`
        : `"${column}"::text LIKE '%${CANARY}%'`;
    return `SELECT '${table}.${column}' AS place WHERE EXISTS (SELECT 1 FROM "${table}" WHERE ${holds})`;
  });
  return (await test.sql<{ place: string }>(looks.join(' UNION ALL '))).map(({ place }) => place);
}

const callBack = (over: Partial<Parameters<typeof callback>[0]> & { submissionId: string | null }) =>
  recordCallback(test.db, callback(over), Buffer.from(`{"echo":"${CANARY}"}`));

function asking(tenant: Tenant, over: Partial<NewGeneration> = {}): NewGeneration {
  const plain = newGeneration(tenant, { input: PROMPT, ...over });
  const answer = { ...(JSON.parse(plain.responseTemplate) as object), input: PROMPT, model: 'm' };
  return { ...plain, responseTemplate: JSON.stringify(answer) };
}

/** A generation that has ended, and whose prompt is wherever one can be; with the answer to its creation. */
async function everywhere(tenant: Tenant) {
  const endpoint = await newEndpoint(test.db, tenant);
  const request = asking(tenant);
  const id = request.generationId;
  await createGeneration(test.db, request);
  const body = JSON.stringify(PROMPT);
  await send(test.db, id, { request: { ...claimOf(id).request, body } });
  const sub = submissionId(id, 1);
  await callBack({ submissionId: null, jobId: `job-${id}` });
  await accept(test.db, id);
  await callBack({ submissionId: sub, jobId: `job-${id}`, progress: 0.5 });
  await callBack({ submissionId: null, jobId: `orphan-${id}` });
  await accept(test.db, id, `orphan-${id}`);
  await observe(test.db, id, 'succeeded');
  await store(test.db, id);
  await settle(test.db, id, SUCCEEDED);
  const delivery = await claimOne(test.db);
  await keepWebhookBody(test.db, { eventId: delivery.eventId, body });
  await record(test.db, delivery, 'failed', { delaysMs: [0, 0, 0] }, `you sent ${body}`);
  return { id, request, endpoint, delivery, body };
}

describe('erase_generation', () => {
  it('takes the prompt out of every row of every table, whatever comes after it; the rest stays', async () => {
    const tenant = await newTenant(test.db);
    const { id, request, delivery, body } = await everywhere(tenant);
    expect(await found()).toEqual([
      'callback.body',
      'generation.input',
      'generation.response_body',
      'submission.request',
      'webhook_attempt.answer',
      'webhook_event.body',
    ]);
    const read = () =>
      test.db.prisma.generation.findUniqueOrThrow({
        where: { id },
        include: { hold: true, outputs: true, events: true },
      });
    const before = await read();
    const erase = () => eraseGeneration(test.db, { generationId: id, tenantId: tenant.id });
    expect(await erase()).toEqual({ outcome: 'erased' });
    expect(await found()).toEqual([]);
    const erased = await read();
    expect(erased).toEqual({
      ...before,
      input: {},
      responseBody: expect.any(String) as string,
      erasedAt: expect.any(Date) as Date,
      updatedAt: erased.erasedAt,
    });
    const { responseBody } = erased;
    expect(JSON.parse(responseBody)).toEqual({ ...(JSON.parse(before.responseBody) as object), input: {} });
    expect(await createGeneration(test.db, request)).toMatchObject({ outcome: 'replayed', responseBody });

    // A provider that calls back late, a receiver that echoes, bytes that were made before.
    await callBack({ submissionId: submissionId(id, 1), jobId: `job-${id}`, terminal: true });
    const again = await claimOne(test.db);
    expect(again).toMatchObject({ deliveryId: delivery.deliveryId, attempt: 2, body: null });
    expect(await keepWebhookBody(test.db, { eventId: delivery.eventId, body })).toBeNull();
    await record(test.db, again, 'failed', { delaysMs: [0, 0, 0] }, `you sent ${body}`);
    expect(await found()).toEqual([]);
    const made = { eventId: delivery.eventId, body: '{"input":{}}', erased: true };
    expect(await keepWebhookBody(test.db, made)).toBe(made.body);
    const last = await claimOne(test.db);
    expect(last.body).toBe(made.body);
    await record(test.db, last, 'delivered');

    expect(await erase()).toEqual({ outcome: 'erased' });
    expect((await read()).erasedAt).toEqual(erased.erasedAt);
  });

  it('a job that is accepted after it brings no callback of before back', async () => {
    const tenant = await newTenant(test.db);
    const request = asking(tenant, { deadlineSeconds: 0 });
    const id = request.generationId;
    await createGeneration(test.db, request);
    const fence = await send(test.db, id);
    const sub = submissionId(id, 1);
    await recordSubmission(test.db, {
      submissionId: sub,
      fence,
      kind: 'unknown',
      problem: 'cut',
      retryInMs: 1,
    });
    await settle(test.db, id, { state: 'expired', errorCode: 'submission_unresolved' });
    await callBack({ submissionId: null, jobId: `job-${id}` });
    await eraseGeneration(test.db, { generationId: id, tenantId: tenant.id });
    await accept(test.db, id);
    expect(await test.db.prisma.callback.count({ where: { submissionId: sub } })).toBe(1);
    expect(await found()).toEqual([]);
  });

  it('what is written in the very moment of it is not kept either', async () => {
    const tenant = await newTenant(test.db);
    await newEndpoint(test.db, tenant);
    const id = await failedAtProvider(test.db, tenant);
    await settle(test.db, id, FAILED);
    const delivery = await claimOne(test.db);
    const client = await test.connect();
    await client.query('BEGIN');
    await client.query('SELECT erase_generation($1::jsonb)', [
      JSON.stringify({ generationId: id, tenantId: tenant.id }),
    ]);
    const writing = [
      keepWebhookBody(test.db, { eventId: delivery.eventId, body: CANARY }),
      record(test.db, delivery, 'delivered', {}, CANARY),
      callBack({ submissionId: submissionId(id, 1) }),
    ];
    await untilWaiting(test, writing.length);
    await client.query('COMMIT');
    await Promise.all(writing);
    expect(await found()).toEqual([]);
  });

  it('not before the end, not of another tenant, not of none', async () => {
    const [tenant, other] = [await newTenant(test.db), await newTenant(test.db)];
    const [running, ended] = [await create(test.db, tenant), await endedGeneration(test.db, tenant)];
    const erase = (generationId: string, tenantId: string) =>
      eraseGeneration(test.db, { generationId, tenantId });
    expect(await erase(running, tenant.id)).toEqual({ outcome: 'not_terminal' });
    expect(await erase(ended, other.id)).toEqual({ outcome: 'not_found' });
    expect(await erase(newId('gen'), tenant.id)).toEqual({ outcome: 'not_found' });
    const rows = await test.db.prisma.generation.findMany({ where: { tenantId: tenant.id } });
    expect(rows.map(({ erasedAt, input }) => [erasedAt, input])).toEqual([
      [null, { prompt: 'a cat' }],
      [null, { prompt: 'a cat' }],
    ]);
  });

  it('by an operator it is on record, once; by its tenant it is not', async () => {
    const tenant = await newTenant(test.db);
    const [one, two] = [await endedGeneration(test.db, tenant), await endedGeneration(test.db, tenant)];
    await eraseGeneration(test.db, { generationId: one, tenantId: tenant.id });
    const by = { generationId: two, tenantId: null, actor: 'cli:ann', reason: 'asked by mail' };
    await eraseGeneration(test.db, by);
    await eraseGeneration(test.db, by);
    const actions = await test.db.prisma.operatorAction.findMany({ where: { tenantId: tenant.id } });
    expect(actions).toMatchObject([
      { kind: 'erase', generationId: two, actor: 'cli:ann', reason: 'asked by mail', detail: {} },
    ]);
  });

  it('removes the inputs that nothing else was made from', async () => {
    const tenant = await newTenant(test.db);
    const [own, shared] = [await newInput(test.db, tenant), await newInput(test.db, tenant)];
    const one = await endedGeneration(test.db, tenant, uses(own, shared));
    const two = await create(test.db, tenant, uses(shared));
    const erase = (generationId: string) => eraseGeneration(test.db, { generationId, tenantId: tenant.id });
    const states = async () => [
      (await inputRow(test.db, own)).state,
      (await inputRow(test.db, shared)).state,
    ];
    await erase(one);
    expect(await states()).toEqual(['deleting', 'stored']);
    await settle(test.db, two, FAILED);
    expect(await states()).toEqual(['deleting', 'stored']);
    await erase(two);
    expect(await states()).toEqual(['deleting', 'deleting']);
    expect(await test.db.prisma.generationInput.count()).toBe(0);
  });
});
