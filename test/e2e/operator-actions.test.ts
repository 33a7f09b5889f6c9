import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { submissionId } from '../../src/domain/submission-id.ts';
import { createApiKey } from '../../src/services/create-api-key.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  expectInvariants,
  expectPromise,
  get,
  lasting,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { budgetCatalogue, unknownCatalogue } from '../support/unknown-models.ts';

let room: Darkroom;
let operator: string;
beforeAll(async () => {
  room = await startDarkroom({
    catalogue: { ...unknownCatalogue, models: [...unknownCatalogue.models, ...budgetCatalogue.models] },
  });
  const key = await createApiKey({ db: room.db }, { tenantId: null, scopes: ['admin'], label: 'e2e' });
  operator = key.text;
});
afterAll(() => room?.stop());

const provider = 'crazyrouter';
const simulator = () => room.sims[provider]!;
const jobsOf = async ({ prompt }: Asked) => (await simulator().journal(prompt)).jobs;

/** What an operator asks for over the admin API, which must take it. */
async function act({ id }: Asked, action: string, body: object = {}): Promise<Record<string, unknown>> {
  const answer = await fetch(`${room.apiUrl}/admin/v1/generations/${id}/${action}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'end to end', ...body }),
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return JSON.parse(text) as Record<string, unknown>;
}

const submissionOf = ({ id }: Asked, ordinal = 1) =>
  room.db.prisma.submission.findUniqueOrThrow({
    where: { id: submissionId(id, ordinal) },
    include: { lateSuccess: true },
  });
const once = (asked: Asked, fits: (row: Awaited<ReturnType<typeof submissionOf>>) => boolean, ordinal = 1) =>
  eventually(async () => {
    const row = await submissionOf(asked, ordinal);
    return fits(row) ? row : undefined;
  }, 60_000);

/** The answer to its submit is lost, and nothing can find the job: this provider has no list, no callback, no replay. */
async function unknown(words: string, kind: 'reset_after_accept' | 'reset_before_accept'): Promise<Asked> {
  const prompt = uniquePrompt(words);
  await simulator().fault(prompt, { kind, times: 1 }, { kind: 'render_ms', ms: 300 });
  const asked = await ask(room, 'kill-crazyrouter', prompt, video(prompt));
  await until(room, asked.id, ({ stage }) => stage === 'submission_unknown');
  return asked;
}

async function untilRendered(asked: Asked, jobId: string): Promise<void> {
  await eventually(async () => {
    const job = (await jobsOf(asked)).find(({ id }) => id === jobId);
    return job?.status === 'succeeded' || undefined;
  }, 30_000);
}

/** The job of a dead submission, named by an operator: its cost is booked, the tenant sees nothing of it. */
async function expectAttachedLate(asked: Asked, jobId: string): Promise<void> {
  // One that still renders is looked at again after an hour only.
  await untilRendered(asked, jobId);
  const before = await get(room, asked.id);
  const acted = await act(asked, 'attach-job', { job_id: jobId, submission: submissionId(asked.id, 1) });
  expect(acted['outcome']).toBe('attaching_late');
  const row = await once(asked, ({ endedAs }) => endedAs !== null);
  expect(row).toMatchObject({ state: 'abandoned', providerJobId: jobId, endedAs: 'succeeded' });
  expect(row.lateSuccess).not.toBeNull();
  expect(`${String(row.costAmount)} ${row.costUnit}`).toBe('0.2 USD');
  expect(lasting(await get(room, asked.id))).toEqual(lasting(before));
}

describe('a submission whose answer was lost', () => {
  it.concurrent('attached by hand: a wrong id is told and changes nothing, the right one is delivered', async () => {
    const asked = await unknown('attached by hand', 'reset_after_accept');
    expect((await act(asked, 'attach-job', { job_id: 'task_nowhere' }))['outcome']).toBe('attaching');
    await once(asked, ({ problem }) => problem === 'named_job_not_found');
    expect(await submissionOf(asked)).toMatchObject({ state: 'unknown', providerJobId: null });
    const [job] = await jobsOf(asked);
    await act(asked, 'attach-job', { job_id: job!.id });
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider, state: 'succeeded', jobs: 1 });
    expect(await submissionOf(asked)).toMatchObject({ state: 'accepted', providerJobId: job!.id });
  });

  it.concurrent('declared not accepted: failed, released; the job that turns up is a cost only', async () => {
    const asked = await unknown('declared not accepted', 'reset_after_accept');
    expect(await act(asked, 'not-accepted')).toMatchObject({ outcome: 'ended', state: 'failed' });
    const facts = { provider, state: 'failed', jobs: 1 };
    expect((await expectPromise(room, asked, facts)).error?.code).toBe('provider_unavailable');
    const [job] = await jobsOf(asked);
    await expectAttachedLate(asked, job!.id);
    await expectPromise(room, asked, facts);
  });

  it.concurrent('resubmitted, and rightly: one job, delivered', async () => {
    const asked = await unknown('resubmitted', 'reset_before_accept');
    await act(asked, 'not-accepted', { resubmit: true, confirm: true });
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { provider, state: 'succeeded', jobs: 1 });
    const [first, second] = [await submissionOf(asked), await submissionOf(asked, 2)];
    expect([first.state, second.state]).toEqual(['abandoned', 'accepted']);
    const [job] = await jobsOf(asked);
    expect(job).toMatchObject({ id: second.providerJobId, idempotency_key: second.idempotencyKey });
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
  });

  it.concurrent('resubmitted, and wrongly: two jobs, the second delivered and charged once, the first a cost', async () => {
    const asked = await unknown('resubmitted wrongly', 'reset_after_accept');
    const [first] = await jobsOf(asked);
    await act(asked, 'not-accepted', { resubmit: true, confirm: true });
    const end = await untilEnd(room, asked.id, 60_000);
    expect(end).toMatchObject({ state: 'succeeded', credits: { captured: 40, released: 0 } });
    await expectAttachedLate(asked, first!.id);
    const jobs = await jobsOf(asked);
    expect(jobs).toHaveLength(2);
    const second = await submissionOf(asked, 2);
    expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set([first!.id, second.providerJobId]));
    expect(second.providerJobId).not.toBe(first!.id);
    await expectInvariants(room);
  });
});

describe('a job whose callback is lost, long before its first poll', () => {
  it.concurrent.each(['its run waits', 'its run is gone'])('%s: observed now, delivered', async (run) => {
    const prompt = uniquePrompt(`observed now, ${run}`);
    await room.sim.fault(prompt, { kind: 'no_callbacks' }, { kind: 'stuck' });
    const asked = await ask(room, 'called', prompt, video(prompt));
    await until(room, asked.id, ({ stage }) => stage === 'waiting');
    const [job] = (await room.sim.journal(prompt)).jobs;
    await room.sim.post(`jobs/${job!.id}`, { status: 'succeeded' });
    if (run === 'its run is gone') await room.client.workflow.getHandle(asked.id).terminate('test');
    expect(await act(asked, 'observe')).toMatchObject({ outcome: 'observing', stage: 'waiting' });
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});
