import { describe, expect, it } from 'vitest';
import { loadGeneration, requestCancel, settle } from '../../src/db/index.ts';
import { submissionId } from '../../src/domain/submission-id.ts';
import { tally, useDatabase } from './database.ts';
import { generationOf } from './facts.ts';
import {
  accept,
  accepted,
  answer,
  create,
  drop,
  newTenant,
  observe,
  planFor,
  receive,
  send,
  store,
  storing,
} from './fixtures.ts';

const test = useDatabase({ poolSize: 16 });
const load = (generationId: string, dueInMs = 10_000) => loadGeneration(test.db, { generationId, dueInMs });

describe('load_generation', () => {
  it('is null for a row that is not there', async () => {
    expect(await load(`gen_${'0'.repeat(26)}`)).toBeNull();
  });

  it('tells a new generation as it was sold', async () => {
    const tenant = await newTenant(test.db);
    const id = await create(test.db, tenant, { input: { prompt: 'é 🎬' } });
    const loaded = await load(id);
    expect(loaded).toMatchObject({
      generation: {
        id,
        tenantId: tenant.id,
        state: 'queued',
        stage: 'queued',
        input: { prompt: 'é 🎬' },
        plan: planFor(),
        credits: 100,
        cancelRequested: false,
        succeeded: false,
        storeInMs: null,
      },
      submission: null,
      hints: [],
      outputs: [],
    });
    expect(loaded!.generation.deadlineInMs).toBeGreaterThan(890_000);
    expect(loaded!.generation.deadlineInMs).toBeLessThanOrEqual(900_000);
  });

  it('tells the last submission with its ages', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await answer(test.db, id, await send(test.db, id), 'refused');
    await send(test.db, id, { ordinal: 2, callbackBase: null });
    await accept(test.db, id, 'job-2', 2);
    const { submission } = (await load(id))!;
    expect(submission).toMatchObject({
      id: submissionId(id, 2),
      ordinal: 2,
      state: 'accepted',
      handle: { jobId: 'job-2' },
      jobId: 'job-2',
      leaseInMs: null,
      sinceObservedMs: null,
      everUnknown: false,
      callbacks: false,
      cancelSent: false,
    });
    expect(submission!.sinceAcceptedMs).toBeGreaterThanOrEqual(0);
    expect(submission!.sinceAcceptedMs).toBeLessThan(30_000);
  });

  it('takes the wake and the hints, each once, by one of several', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await receive(test.db, { submissionId: submissionId(id, 1), jobId: `job-${id}`, terminal: true });
    await requestCancel(test.db, { generationId: id, tenantId: null, actor: 'operator' });
    const loads = await Promise.all(Array.from({ length: 6 }, () => load(id)));
    expect(tally(loads.map((loaded) => String(loaded!.hints.length)))).toEqual({ '1': 1, '0': 5 });
    expect(loads.every((loaded) => loaded!.generation.cancelRequested)).toBe(true);
    expect(await generationOf(test.db, id)).toMatchObject({ wakeRequestedAt: null });
  });

  it('says by when the run must next have written', async () => {
    const id = await create(test.db, await newTenant(test.db));
    await load(id, 60_000);
    const inMs = (await generationOf(test.db, id)).dueAt!.getTime() - Date.now();
    expect(inMs).toBeGreaterThan(30_000);
    expect(inMs).toBeLessThan(65_000);
  });

  it('tells the outputs with their attempts and leases', async () => {
    const id = await storing(test.db, await newTenant(test.db), 3);
    await store(test.db, id, { index: 0 });
    await drop(test.db, id, 1, 'invalid');
    const loaded = await load(id);
    expect(loaded!.outputs).toMatchObject([
      { index: 0, state: 'stored', attempt: 1, goneCount: 0, leaseInMs: null },
      { index: 1, state: 'invalid', attempt: 1, goneCount: 0, leaseInMs: null },
      { index: 2, state: 'storing', attempt: 1, goneCount: 0 },
    ]);
    expect(loaded!.outputs[2]!.leaseInMs).toBeGreaterThan(10_000);
    expect(loaded!.generation.succeeded).toBe(true);
    expect(loaded!.generation.storeInMs).toBeGreaterThan(86_000_000);
  });

  it('changes nothing of an ended row', async () => {
    const id = await accepted(test.db, await newTenant(test.db));
    await receive(test.db, { submissionId: submissionId(id, 1), terminal: true });
    await observe(test.db, id, 'failed');
    await settle(test.db, id, { state: 'failed', errorCode: 'no_output' });
    const before = await generationOf(test.db, id);
    const loaded = await load(id);
    expect(loaded).toMatchObject({
      generation: { state: 'failed', stage: 'done', errorCode: 'no_output' },
      hints: [],
    });
    expect(await generationOf(test.db, id)).toEqual(before);
  });
});
