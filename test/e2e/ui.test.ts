import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pauseTarget, resumeTarget } from '../../src/db/pauses.ts';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { eventually } from '../simulators/control.ts';
import { fastCatalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { video } from '../support/provider-models.ts';
import { detailsOf } from '../support/run-details.ts';
import { unknownCatalogue } from '../support/unknown-models.ts';

let room: Darkroom;
beforeAll(async () => {
  const models = [...fastCatalogue.models, ...unknownCatalogue.models];
  const catalogue = catalogueSchema.parse({ models });
  room = await startDarkroom({ catalogue, unknownToWorker: 'replicate' });
});
afterAll(() => room?.stop());

/** The run's current details, once they have these words. */
function details(id: string, words: string): Promise<string> {
  return eventually(async () => {
    const found = await detailsOf(room.client, id).catch(() => '');
    return found.includes(words) ? found : undefined;
  }, 60_000);
}

/** Until a query of OPERATIONS.md finds this run and none of the others: Temporal's lists follow a moment later. */
async function finds(query: string, wanted: string, others: readonly string[]): Promise<void> {
  const found = new Set<string>();
  const fits = async () => {
    found.clear();
    for await (const { workflowId } of room.client.workflow.list({ query })) found.add(workflowId);
    return (found.has(wanted) && others.every((other) => !found.has(other))) || undefined;
  };
  await eventually(fits, 60_000).catch(() => undefined);
  expect({ query, found: [wanted, ...others].filter((id) => found.has(id)) }).toEqual({
    query,
    found: [wanted],
  });
}

const CAPACITY = { kind: 'status_429', retry_after: 600 } as const;

describe('what the Temporal UI shows of a run, and Terminate and Cancel pressed there', () => {
  it('queued behind a refusal for capacity; Terminate: the sweep starts it again, then it is delivered', async () => {
    const prompt = uniquePrompt('queued, terminated');
    await room.sim.fault(prompt, { ...CAPACITY, retry_after: 10, times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    const note = await details(asked.id, 'no capacity');
    expect(note).toMatch(/^\*\*queued\*\*, stage queued: the provider has no capacity\.\n/);
    expect(note).toContain('- Hold: 40 credits');
    expect(note).toMatch(/- Last problem: `http_429[^`]*`/);
    expect(note).toContain('**To do:** Nothing is to be done');
    await room.client.workflow.getHandle(asked.id).terminate('pressed in the UI');
    await untilEnd(room, asked.id, 90_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('queued behind a refusal for capacity; Cancel: cancelled without a job', async () => {
    const prompt = uniquePrompt('queued, cancelled');
    await room.sim.fault(prompt, CAPACITY);
    const asked = await ask(room, 'by-callback', prompt);
    await details(asked.id, 'no capacity');
    await room.client.workflow.getHandle(asked.id).cancel();
    await untilEnd(room, asked.id, 60_000);
    const { cancellation } = await expectPromise(room, asked, { state: 'cancelled', jobs: 0 });
    expect(cancellation?.requested_by).toBe('operator');
    expect(await details(asked.id, '**cancelled**')).toMatch(/To do:\*\* nothing is left to do\.$/);
  });

  it('queued because a person paused its model: the command that lets it go on stands there', async () => {
    const pause = { kind: 'model', target: 'by-poll', reason: 'test', actor: 'test' } as const;
    // Accepted before, since a paused model takes nothing new.
    const prompt = uniquePrompt('paused');
    await room.sim.fault(prompt, { ...CAPACITY, times: 1 });
    const asked = await ask(room, 'by-poll', prompt);
    await details(asked.id, 'no capacity');
    await pauseTarget(room.db, pause);
    await room.client.workflow.getHandle(asked.id).signal('wake', { reason: 'operator' });
    const note = await details(asked.id, 'has paused the model');
    expect(note).toContain('    npx darkroom resume model by-poll --reason "…"');
    await resumeTarget(room.db, pause);
    await untilEnd(room, asked.id, 60_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('unknown where nothing can be asked: the submission and the command that attaches its job', async () => {
    const prompt = uniquePrompt('unknown');
    await room.sims['fal']!.fault(prompt, { kind: 'reset_after_accept' }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'lost-fal', prompt, { ...video(prompt), deadline_seconds: 600 });
    const note = await details(asked.id, 'Only a callback can name it');
    const submission = `sub_${asked.id.slice(4)}_1`;
    expect(note).toMatch(/^\*\*running\*\*, stage submission_unknown: /);
    expect(note).toContain(`- Provider: \`fal\`, no job known, submission \`${submission}\``);
    expect(note).toContain(`    npx darkroom submission attach ${submission} --job JOB --reason "…"`);
    await room.client.workflow.getHandle(asked.id).terminate('pressed in the UI');
    // What a new run reads from the row it tells again, and it sends nothing.
    await details(asked.id, 'Only a callback can name it');
    expect((await room.sims['fal']!.journal(prompt)).jobs.length).toBe(1);
  });

  it('waiting for a callback, asked, ended: where the job is, then how it ended', async () => {
    const prompt = uniquePrompt('waiting');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-callback', prompt);
    const note = await details(asked.id, 'waiting for the callback of infro');
    const job = (await room.sim.journal(prompt)).jobs[0]?.id ?? '';
    expect(note).toContain(`- Provider: \`infro\`, job \`${job}\``);
    expect(note).toContain('- Next look: ');
    await room.sim.post(`jobs/${job}`, { status: 'succeeded' });
    await untilEnd(room, asked.id, 60_000);
    expect(await details(asked.id, '**succeeded**')).toContain('credits captured');
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('a cancel that the provider does not take yet is told', async () => {
    const prompt = uniquePrompt('cancel not taken');
    await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'cancel_5xx' });
    const asked = await ask(room, 'by-callback', prompt);
    await details(asked.id, 'waiting for the callback');
    await room.client.workflow.getHandle(asked.id).cancel();
    expect(await details(asked.id, '- Cancellation: asked for')).toContain('infro is told, and its answer');
    const job = (await room.sim.journal(prompt)).jobs[0]?.id ?? '';
    await room.sim.post(`jobs/${job}`, { status: 'succeeded' });
    await untilEnd(room, asked.id, 60_000);
    const { cancellation } = await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(cancellation?.outcome).toBe('too_late');
  });
});

it('the queries of OPERATIONS.md find the runs they are for', async () => {
  const [done, failed, running] = ['done', 'failed', 'running'].map((name) => uniquePrompt(name));
  await room.sim.fault(failed!, { kind: 'fail' });
  await room.sim.fault(running!, { kind: 'stuck' });
  const parked = uniquePrompt('with a provider that no worker knows');
  const [a, b, c, d] = await Promise.all([
    ask(room, 'by-callback', done!),
    ask(room, 'early-look', failed!),
    ask(room, 'by-callback', running!, { deadline_seconds: 1_800 }),
    ask(room, 'lost-replicate', parked, video(parked)),
  ]);
  await Promise.all([untilEnd(room, a.id, 60_000), untilEnd(room, b.id, 60_000)]);
  await until(room, c.id, ({ stage }) => stage === 'waiting', 60_000);
  await finds('Provider="infro" AND GenerationState="running"', c.id, [a.id, b.id]);
  const failures = `TenantId="${room.tenantId}" AND GenerationState IN ("failed", "expired")`;
  await finds(failures, b.id, [a.id, c.id]);
  await finds('Model="by-callback" AND GenerationState="succeeded"', a.id, [b.id, c.id]);
  const since = new Date(Date.now() + 60_000).toISOString();
  await finds(`ExecutionStatus="Running" AND StartTime < "${since}"`, c.id, [a.id, b.id]);
  await finds('GenerationState="needs_operator"', d.id, [a.id, b.id, c.id]);
  const note = await details(d.id, 'Needs an operator');
  expect(note).toContain('(`unknown_provider`)');
  expect(note).toContain('PROVIDER_REPLICATE_API_KEY');
  expect(note.endsWith(`    npx darkroom generation wake ${d.id}`)).toBe(true);
});
