import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../simulators/control.ts';
import { unhurriedCatalogue } from '../support/catalogue.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, get, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import { billedActions, historyOf, recordHistory, wasDisturbed } from '../support/history.ts';

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue: unhurriedCatalogue });
});
afterAll(() => room?.stop());

describe('one generation; what fails is released (T39)', () => {
  it('finished by a callback: 30 events, 8 billed actions, the same bytes, one capture', async () => {
    const run = async () => {
      const made = await ask(room, 'by-callback', uniquePrompt('rain'));
      await untilEnd(room, made.id);
      const generation = await expectPromise(room, made, { state: 'succeeded', jobs: 1 });
      expect(generation).toMatchObject({
        stage: 'done',
        delivery: 'stored',
        progress: 1,
        error: null,
        cancellation: null,
      });
      expect(await finishedBy(made.id)).toBe('callback');
      return { asked: made, events: await historyOf(room, made.id) };
    };
    let { asked, events } = await run();
    for (let again = 0; again < 3 && wasDisturbed(events, 1); again += 1) ({ asked, events } = await run());
    expect(events.length).toBeLessThanOrEqual(30);
    expect(billedActions(events)).toBeLessThanOrEqual(8);
    await recordHistory(room, asked.id, 'callback');
  });

  it('finished by polling: at most 40 events, however often it polled', async () => {
    const prompt = uniquePrompt('slow fog');
    await room.sim.fault(prompt, { kind: 'stuck' });
    const asked = await ask(room, 'by-poll', prompt);
    const job = await eventually(async () => {
      const [stuck] = (await room.sim.journal(prompt)).jobs;
      return (stuck?.observes ?? 0) >= 4 ? stuck : undefined;
    }, 60_000);
    await room.sim.post(`jobs/${job.id}`, { status: 'succeeded' });
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await finishedBy(asked.id)).toBe('poll');
    const [submission] = await room.db.prisma.submission.findMany({ where: { generationId: asked.id } });
    expect(submission?.observeCount).toBeGreaterThanOrEqual(4);
    expect((await historyOf(room, asked.id)).length).toBeLessThanOrEqual(40);
    await recordHistory(room, asked.id, 'poll');
  });

  it('its callback never comes: the first look finds it', async () => {
    const prompt = uniquePrompt('no callback');
    await room.sim.fault(prompt, { kind: 'no_callbacks' });
    const asked = await ask(room, 'early-look', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect(await finishedBy(asked.id)).toBe('poll');
  });

  it('a callback that interrupts polling: still at most 40 events', async () => {
    const prompt = uniquePrompt('callback while polled');
    const asked = await ask(room, 'by-callback', prompt);
    await until(room, asked.id, ({ stage }) => stage === 'waiting' || stage === 'done');
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    expect((await historyOf(room, asked.id)).length).toBeLessThanOrEqual(40);
  });

  it('the provider fails: failed, released, one job', async () => {
    const prompt = uniquePrompt('fails');
    await room.sim.fault(prompt, { kind: 'fail' });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    const generation = await expectPromise(room, asked, { state: 'failed', jobs: 1 });
    expect(generation.error).toMatchObject({ code: 'provider_failed', retryable: true });
  });

  it.each([
    ['moderated', 'content_rejected'],
    ['succeeded_without_output', 'no_output'],
  ] as const)('the provider ends it as %s: %s', async (kind, code) => {
    const prompt = uniquePrompt(kind);
    await room.sim.fault(prompt, { kind });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    expect((await expectPromise(room, asked, { state: 'failed', jobs: 1 })).error?.code).toBe(code);
  });

  it('a capacity refusal keeps it queued and is tried again with the same key', async () => {
    const prompt = uniquePrompt('busy');
    await room.sim.fault(prompt, { kind: 'status_429', retry_after: 1, times: 2 });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const { requests } = await room.sim.journal(prompt);
    const keys = requests
      .filter(({ method }) => method === 'POST')
      .map(({ idempotency_key }) => idempotency_key);
    expect(keys.length).toBe(3);
    expect(new Set(keys).size).toBe(1);
  });

  it('an unknown status string means still running', async () => {
    const prompt = uniquePrompt('odd status');
    await room.sim.fault(prompt, { kind: 'unknown_status', status: 'warming_up', times: 2 });
    const asked = await ask(room, 'by-poll', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('A1 submit answered by', () => {
  it.each(['reset_after_accept', 'answer_lost_then_ok', 'status_5xx_after_accept', 'missing_id'] as const)(
    '%s: unknown, then the replay of the same key finds the one job',
    async (kind) => {
      const prompt = uniquePrompt(kind);
      await room.sim.fault(prompt, { kind, times: 1 });
      const asked = await ask(room, 'by-callback', prompt);
      await untilEnd(room, asked.id);
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
      const submissions = await room.db.prisma.submission.findMany({ where: { generationId: asked.id } });
      expect(submissions.length).toBe(1);
      if (kind === 'reset_after_accept') await recordHistory(room, asked.id, 'unknown');
    },
  );

  it('a reset before acceptance: the same key again, one job', async () => {
    const prompt = uniquePrompt('reset before');
    await room.sim.fault(prompt, { kind: 'reset_before_accept', times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it('a refusal: failed, released, no job', async () => {
    const prompt = uniquePrompt('refused');
    await room.sim.fault(prompt, {
      kind: 'refuse',
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_prompt',
    });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    expect((await expectPromise(room, asked, { state: 'failed', jobs: 0 })).error?.code).toBe(
      'invalid_input',
    );
  });
});

describe.concurrent('T39 deadline', () => {
  it.concurrent('a documented 4xx after an ambiguous try: unknown stays unknown, until the deadline', async () => {
    const prompt = uniquePrompt('4xx after unknown');
    await room.sim.fault(
      prompt,
      { kind: 'reset_before_accept', times: 1 },
      { kind: 'refuse', status: 400, type: 'invalid_request_error', code: 'invalid_prompt' },
    );
    const asked = await ask(room, 'short-deadline', prompt);
    await untilEnd(room, asked.id);
    expect((await expectPromise(room, asked, { state: 'expired', jobs: 0 })).error?.code).toBe(
      'submission_unresolved',
    );
    const { requests } = await room.sim.journal(prompt);
    expect(requests.filter(({ method }) => method === 'POST').length).toBeLessThanOrEqual(8);
  });

  it.concurrent('the provider is silent until the deadline: cancelled there, expired, released', async () => {
    const prompt = uniquePrompt('silent');
    await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'short-deadline', prompt);
    const generation = await untilEnd(room, asked.id);
    expect((await expectPromise(room, asked, { state: 'expired', jobs: 1 })).error?.code).toBe(
      'deadline_exceeded',
    );
    expect(Date.parse(generation.completed_at ?? '')).toBeGreaterThanOrEqual(
      Date.parse(generation.deadline_at),
    );
    expect((await room.sim.journal(prompt)).jobs[0]?.cancels).toBe(1);
    // T22 one status: nothing of what the provider last said of it.
    expect(JSON.stringify(generation)).not.toMatch(/canceled|job_|infro/);
    await recordHistory(room, asked.id, 'deadline');
  });

  it.concurrent('a success first seen in the answer to the cancel at the deadline counts', async () => {
    const prompt = uniquePrompt('done at the deadline');
    await room.sim.fault(prompt, { kind: 'stuck' }, { kind: 'no_callbacks' }, { kind: 'cancel_succeeded' });
    const asked = await ask(room, 'short-deadline', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });
});

describe('outputs', () => {
  it.each(['link_404', 'link_truncated'] as const)('%s once: fetched again, delivered', async (kind) => {
    const prompt = uniquePrompt(kind);
    await room.sim.fault(prompt, { kind, times: 1 });
    const asked = await ask(room, 'by-callback', prompt);
    await untilEnd(room, asked.id);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
  });

  it.each([
    ['link_404', 'output_lost'],
    ['link_html', 'output_invalid'],
    ['link_wrong_type', 'output_invalid'],
    ['link_empty', 'output_invalid'],
    ['link_redirect_private', 'output_invalid'],
  ] as const)('%s for ever: failed as %s, released, never generated again', async (kind, code) => {
    const prompt = uniquePrompt(kind);
    await room.sim.fault(prompt, { kind });
    const asked = await ask(room, 'short-store', prompt);
    await untilEnd(room, asked.id);
    expect((await expectPromise(room, asked, { state: 'failed', jobs: 1 })).error?.code).toBe(code);
  });

  it('a slow link is not cut by a second callback', async () => {
    const downloadsOf = async (prompt: string) => {
      await room.sim.fault(prompt, { kind: 'link_slow', ms: 1_000, times: 1 });
      const asked = await ask(room, 'by-callback', prompt);
      await until(room, asked.id, ({ stage }) => stage === 'storing');
      const [job] = (await room.sim.journal(prompt)).jobs;
      await room.sim.post('callback', {
        job_id: job?.id,
        event_id: `evt_${crypto.randomUUID()}`,
        type: 'job.succeeded',
      });
      await untilEnd(room, asked.id);
      const downloads = (await room.sim.journal(prompt)).jobs[0]?.downloads;
      await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
      return downloads;
    };
    let downloads = await downloadsOf(uniquePrompt('slow link'));
    // A worker that stood still for 3 s has lost its lease.
    for (let again = 0; again < 2 && downloads !== 1; again += 1)
      downloads = await downloadsOf(uniquePrompt('slow link'));
    expect(downloads).toBe(1);
  });
});

describe('needs_operator', () => {
  it('401 on observing past the deadline: set aside, hold intact, goes on when woken', async () => {
    const prompt = uniquePrompt('denied');
    await room.sim.fault(prompt, { kind: 'observe_5xx', status: 401 }, { kind: 'no_callbacks' });
    const asked = await ask(room, 'short-deadline', prompt);
    const parked = await until(room, asked.id, ({ stage }) => stage === 'needs_operator');
    expect(parked.credits.held).toBe(40);
    const row = await room.db.prisma.generation.findUniqueOrThrow({ where: { id: asked.id } });
    expect(row.operatorReason).toBe('provider_access_denied');
    await room.sim.post('reset');
    // The job is gone with the reset: past the deadline that ends it.
    await room.client.workflow.getHandle(asked.id).signal('wake', { reason: 'operator' });
    await untilEnd(room, asked.id);
    const generation = await get(room, asked.id);
    expect(generation).toMatchObject({ state: 'expired', credits: { held: 0, captured: 0, released: 40 } });
    await recordHistory(room, asked.id, 'parked');
  });
});

describe('the history', () => {
  it('holds no prompt, URL, body or secret', async () => {
    const prompt = uniquePrompt('CANARY-PROMPT');
    await room.sim.fault(prompt, { kind: 'reset_after_accept', times: 1 }, { kind: 'link_404', times: 1 });
    const asked = await ask(room, 'by-callback', prompt, { metadata: { note: 'CANARY-METADATA' } });
    await untilEnd(room, asked.id);
    const text = JSON.stringify(await historyOf(room, asked.id));
    const decoded = [...text.matchAll(/"data":"([A-Za-z0-9+/=]+)"/g)].map(([, data]) =>
      Buffer.from(data ?? '', 'base64').toString(),
    );
    const all = [text, ...decoded].join('\n');
    for (const secret of ['CANARY', 'http://', 'https://', 'sim-key', 'whsec', room.key, '/callbacks/']) {
      expect(all).not.toContain(secret);
    }
    expect(all).toContain(asked.id);
  });
});

describe('list and read', () => {
  it('answers by Prefer: wait when it ends', async () => {
    const asked = await ask(room, 'by-callback', uniquePrompt('waited for'));
    const end = await eventually(async () => {
      const answer = await fetch(`${room.apiUrl}/v1/generations/${asked.id}`, {
        headers: { authorization: `Bearer ${room.key}`, prefer: 'wait=10' },
      });
      const body = (await answer.json()) as { stage: string };
      return body.stage === 'done' ? body : undefined;
    }, 90_000);
    expect(end).toMatchObject({ state: 'succeeded' });
    expect((await call(room, 'GET', '/v1/generations?limit=1')).status).toBe(200);
  });
});

async function finishedBy(id: string): Promise<string | null | undefined> {
  return (await room.db.prisma.submission.findFirst({ where: { generationId: id } }))?.finishedBy;
}
