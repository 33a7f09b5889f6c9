import { describe, expect, it } from 'vitest';
import type { GenerationView } from '../../src/domain/generation-view.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { ask, call, expectPromise, until, untilEnd, uniquePrompt } from '../support/generations.ts';
import type { Asked } from '../support/generations.ts';
import { catalogueCost, polledModel, PROVIDER_ROWS, video } from '../support/provider-models.ts';
import type { Cost, ProviderRow } from '../support/provider-models.ts';

type Faults = Parameters<Darkroom['sim']['fault']>[1][];

/** So many callbacks come before the last one. A look that they wake may see the end before its callback is there. */
const EARLY_CALLBACKS: Readonly<Record<string, number>> = { kling: 2, minimax: 2 };

/** Every way of a generation at these providers; the tests of one provider run at the same time, on jobs of their own. */
export function providersEndToEnd(room: () => Darkroom, names: readonly string[]): void {
  describe.concurrent.each(PROVIDER_ROWS.filter(({ name }) => names.includes(name)))('$name', (row) => {
    oneProvider(room, row);
  });
}

function oneProvider(room: () => Darkroom, row: ProviderRow): void {
  const { name: provider, callbacks } = row;
  const sim = () => room().sims[provider]!;

  async function started(model: string, ...faults: Faults): Promise<Asked> {
    const prompt = uniquePrompt(model);
    if (faults.length > 0) await sim().fault(prompt, ...faults);
    return ask(room(), model, prompt, video(prompt));
  }

  async function ended(model: string, ...faults: Faults): Promise<Asked> {
    const asked = await started(model, ...faults);
    await untilEnd(room(), asked.id, 60_000);
    return asked;
  }

  const promise = (asked: Asked, state: string, jobs: number): Promise<GenerationView> =>
    expectPromise(room(), asked, { provider, state, jobs });

  const submissionOf = ({ id }: Asked) =>
    room().db.prisma.submission.findFirstOrThrow({
      where: { generationId: id },
      include: { callbacks: true },
    });

  it.concurrent.each(callbacks ? [provider] : [])(
    'by callback: delivered, captured, its cost booked',
    async () => {
      const early = EARLY_CALLBACKS[provider];
      const faults: Faults = early === undefined ? [] : [{ kind: 'no_callbacks', times: early }];
      const asked = await ended(provider, ...faults);
      const generation = await promise(asked, 'succeeded', 1);
      expect(generation).toMatchObject({ delivery: 'stored', error: null, cancellation: null });
      const submission = await submissionOf(asked);
      expect(submission.finishedBy).toBe('callback');
      expect(submission.callbacks.length).toBeGreaterThanOrEqual(1);
      expectCost(submission);
    },
  );

  it.concurrent('polling only: delivered, no callback is asked for (T16)', async () => {
    const asked = await ended(polledModel(row));
    await promise(asked, 'succeeded', 1);
    const submission = await submissionOf(asked);
    expect(submission).toMatchObject({ finishedBy: 'poll', callbackBase: null, callbacks: [] });
    expect((await sim().journal(asked.prompt)).jobs[0]?.callbacks).toEqual([]);
    expectCost(submission);
  });

  it.concurrent('refused: failed as bad input, released, no job', async () => {
    const asked = await ended(provider, { kind: 'refuse', ...row.refusal });
    expect((await promise(asked, 'failed', 0)).error).toMatchObject({
      code: 'invalid_input',
      retryable: false,
    });
    expect((await submissionOf(asked)).costAmount).toBeNull();
  });

  it.concurrent('content refused at the submit: failed, released, no job', async () => {
    const asked = await ended(provider, { kind: 'refuse_content' });
    expect((await promise(asked, 'failed', 0)).error?.code).toBe('content_rejected');
  });

  it.concurrent('moderated in its own way: failed, released, one job (D1)', async () => {
    const asked = await ended(provider, { kind: 'moderated' });
    expect((await promise(asked, 'failed', 1)).error).toMatchObject({
      code: 'content_rejected',
      retryable: false,
    });
    expectCost(await submissionOf(asked), unbilled('moderated'));
  });

  it.concurrent('the provider fails: failed, released, one job', async () => {
    const asked = await ended(provider, { kind: 'fail' });
    expect((await promise(asked, 'failed', 1)).error).toMatchObject({
      code: 'provider_failed',
      retryable: true,
    });
    expectCost(await submissionOf(asked), unbilled('failed'));
  });

  it.concurrent('its output is dead for ever: output_lost, released, never generated again', async () => {
    const asked = await ended(provider, { kind: 'link_404' });
    const generation = await promise(asked, 'failed', 1);
    expect(generation).toMatchObject({ error: { code: 'output_lost' }, delivery: 'failed' });
    expect((await sim().journal(asked.prompt)).jobs[0]).toMatchObject({ submits: 1, renders_done: 1 });
  });

  it.concurrent(`cancelled while it renders: ${row.cancel}`, async () => {
    const supported = row.cancel !== 'unsupported';
    // Some can be cancelled only at the beginning of a render.
    const asked = await started(provider, supported ? { kind: 'render_ms', ms: 240_000 } : { kind: 'stuck' });
    await until(room(), asked.id, ({ stage }) => stage === 'waiting');
    expect((await call(room(), 'DELETE', `/v1/generations/${asked.id}`)).status).toBe(202);
    if (!supported) {
      await until(room(), asked.id, ({ cancellation }) => cancellation?.outcome === 'unsupported');
      const [job] = (await sim().journal(asked.prompt)).jobs;
      await sim().post(`jobs/${encodeURIComponent(job!.id)}`, { status: 'succeeded' });
    }
    await untilEnd(room(), asked.id, 60_000);
    const generation = await promise(asked, supported ? 'cancelled' : 'succeeded', 1);
    expect(generation.cancellation).toMatchObject({ requested_by: 'tenant', outcome: row.cancel });
    expect((await sim().journal(asked.prompt)).jobs[0]?.cancels).toBe(supported ? 1 : 0);
    expectCost(await submissionOf(asked), supported ? unbilled('cancelled') : row.cost);
  });

  function unbilled(end: 'failed' | 'moderated' | 'cancelled'): Cost {
    return row.unbilled?.[end] ?? catalogueCost;
  }

  function expectCost(submission: Awaited<ReturnType<typeof submissionOf>>, cost = row.cost): void {
    const { amount, ...rest } = cost;
    const { costAmount, costUnit: unit, costFinal: final, costSource: source } = submission;
    expect({ unit, final, source }).toEqual(rest);
    expect(costAmount?.toString()).toMatch(amount);
  }
}
