import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogueSchema } from '../../src/domain/catalogue.ts';
import { eventually } from '../simulators/control.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import {
  ask,
  call,
  expectPromise,
  get,
  lasting,
  until,
  untilEnd,
  uniquePrompt,
} from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { fastModel, PROVIDER_ROWS, providerCatalogue, routeOf, video } from '../support/provider-models.ts';

const FORGED_BODY = JSON.stringify({
  id: 'prov-1',
  status: 'succeeded',
  output: ['https://evil.test/x.png'],
});
const FORGED_TYPES = ['application/json', 'application/x-www-form-urlencoded', 'text/plain'];

/** It is not asked about its jobs before all of its callbacks were sent again. */
const called = fastModel('infro-called', [routeOf('infro')], { firstPollMs: 120_000, safetyPollMs: 120_000 });
const catalogue = catalogueSchema.parse({ models: [...providerCatalogue.models, called] });

let room: Darkroom;
beforeAll(async () => {
  room = await startDarkroom({ catalogue });
});
afterAll(() => room?.stop());

type Faults = Parameters<Darkroom['sim']['fault']>[1][];

async function started(provider: string, ...faults: Faults): Promise<Asked> {
  const prompt = uniquePrompt(provider);
  if (faults.length > 0) await room.sims[provider]!.fault(prompt, ...faults);
  return ask(room, provider, prompt, video(prompt));
}

const jobOf = (provider: string, { prompt }: Asked) =>
  eventually(async () => (await room.sims[provider]!.journal(prompt)).jobs[0], 90_000);
const inbox = ({ id }: Asked) =>
  room.db.prisma.callback.findMany({ where: { submission: { generationId: id } } });

/** Sends a callback of this job now, as its provider would; the answers to it. */
const callback = async (provider: string, jobId: string, more: object) =>
  (await room.sims[provider]!.post<{ answers: unknown[] }>('callback', { job_id: jobId, ...more })).answers;

describe.concurrent.each(PROVIDER_ROWS.filter(({ callbacks }) => callbacks))(
  '$name',
  ({ name, cancel, events }) => {
    const delivered = (asked: Asked) =>
      expectPromise(room, asked, { provider: name, state: 'succeeded', jobs: 1 });

    it.concurrent('B5 WHI-1 forged ones change nothing, whatever their content type; the true one ends it', async () => {
      const asked = await started(name, { kind: 'callback_forged' }, { kind: 'stuck' });
      const forged = await eventually(
        async () => (await jobOf(name, asked)).callbacks.find((sent) => sent.forged),
        20_000,
      );
      expect(forged.answer).toBe(401);
      const { id } = await jobOf(name, asked);
      const answers = await Promise.all(
        FORGED_TYPES.map((type) =>
          callback(name, id, { body: FORGED_BODY, headers: { 'content-type': type } }),
        ),
      );
      // Two sign nothing. To Kling, with the token in the URL, it is a hint, and the job is looked at, nothing else; to MiniMax it
      // names no task.
      const answer = { kling: 200, minimax: 400 }[name] ?? 401;
      expect(answers.flat()).toEqual(FORGED_TYPES.map(() => answer));
      expect((await jobOf(name, asked)).downloads).toBe(0);
      await room.sims[name]!.post(`jobs/${encodeURIComponent(id)}`, { status: 'succeeded' });
      await untilEnd(room, asked.id, 60_000);
      await delivered(asked);
      const believed = (await inbox(asked)).filter(({ providerJobId }) => providerJobId !== id);
      expect(believed.length).toBe(name === 'kling' ? 1 : 0);
    });

    it.concurrent('C5 twenty equal ones at once: all 200, one row, one download, one capture', async () => {
      const asked = await started(name, { kind: 'callback_twenty' });
      await untilEnd(room, asked.id, 60_000);
      const sent = await eventually(async () => {
        const { callbacks } = await jobOf(name, asked);
        return callbacks.length >= 20 ? callbacks : undefined;
      }, 90_000);
      expect(new Set(sent.map(({ answer }) => answer))).toEqual(new Set([200]));
      expect((await jobOf(name, asked)).downloads).toBe(1);
      await delivered(asked);
      expect((await inbox(asked)).filter(({ terminal }) => terminal).length).toBe(1);
    });

    it.concurrent('C6 an earlier one after the last: 200, nothing changes', async () => {
      const asked = await started(name, { kind: 'callback_reordered' });
      await untilEnd(room, asked.id, 60_000);
      const last = await eventually(async () => {
        const { callbacks } = await jobOf(name, asked);
        return callbacks.length >= 2 ? callbacks.at(-1) : undefined;
      }, 90_000);
      expect(last.answer).toBe(200);
      await delivered(asked);
    });

    it.concurrent('WHI-14 T15 before the answer to the submit: delivered once', async () => {
      const asked = await started(name, { kind: 'callback_before_answer' });
      await untilEnd(room, asked.id, 60_000);
      await delivered(asked);
      expect((await jobOf(name, asked)).submits).toBe(1);
    });

    it.concurrent.each(['succeeded', 'failed', ...(cancel === 'unsupported' ? [] : ['cancelled'])])(
      'C6 WHI-15 %s, then one of every kind: 200, kept for audit, state and ledger as before',
      async (state) => {
        const fault =
          { succeeded: [], failed: [{ kind: 'fail' }], cancelled: [{ kind: 'render_ms', ms: 240_000 }] }[
            state
          ] ?? [];
        const asked = await started(name, ...(fault as Faults));
        if (state === 'cancelled') {
          await until(room, asked.id, ({ stage }) => stage === 'waiting');
          await call(room, 'DELETE', `/v1/generations/${asked.id}`);
        }
        await untilEnd(room, asked.id, 60_000);
        const before = await get(room, asked.id);
        const { id } = await jobOf(name, asked);
        const kept = (await inbox(asked)).length;
        for (const type of events) {
          const sent = { type, event_id: `evt_${type}_${id}`, time_offset_seconds: 1 };
          expect(await callback(name, id, sent), type).toEqual([200]);
        }
        expect(lasting(await get(room, asked.id))).toEqual(lasting(before));
        await expectPromise(room, asked, { provider: name, state, jobs: 1 });
        expect((await inbox(asked)).length).toBeGreaterThan(kept);
      },
    );
  },
);

describe('C3', () => {
  it('the API dies before the row is written: the same event is sent again, and counts then', async () => {
    await room.running.api.stop(0, 'SIGKILL');
    const api = await room.startApi('before:record_callback');
    const prompt = uniquePrompt('called again');
    const asked = await ask(room, 'infro-called', prompt, video(prompt));
    await api.ended;
    await room.startApi();
    // The fifth time comes 42.5 s after the first one.
    await untilEnd(room, asked.id, 100_000);
    await expectPromise(room, asked, { state: 'succeeded', jobs: 1 });
    const { callbacks } = await jobOf('infro', asked);
    expect(new Set(callbacks.map(({ event_id }) => event_id)).size).toBe(1);
    expect(callbacks.at(-1)?.answer).toBe(200);
    expect((await inbox(asked)).length).toBe(1);
    const submission = await room.db.prisma.submission.findFirst({ where: { generationId: asked.id } });
    expect(submission?.finishedBy).toBe('callback');
  }, 150_000);
});
