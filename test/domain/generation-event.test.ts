import { describe, expect, it } from 'vitest';
import {
  generationEventSchema,
  viewEvent,
  viewSnapshot,
  type GenerationEventView,
} from '../../src/domain/generation-event.ts';
import type { JsonObject } from '../../src/domain/json.ts';

const AT = '2026-11-29T12:00:00.123Z';
const base = { generation: 'gen_1', at: AT };
const view = (data: JsonObject): GenerationEventView => {
  const shown = viewEvent('gen_1', { data, createdAt: new Date(AT) });
  return generationEventSchema.strict().parse(JSON.parse(JSON.stringify(shown)));
};

describe('an event as its followers see it', () => {
  it.each<[JsonObject, object]>([
    [
      { state: 'queued', stage: 'queued' },
      { state: 'queued', stage: 'queued' },
    ],
    [{ progress: 0.25 }, { progress: 0.25 }],
    [{ outcome: 'too_late' }, { outcome: 'too_late' }],
    [
      {
        state: 'succeeded',
        stage: 'done',
        delivery: 'partial',
        errorCode: null,
        captured: 50,
        released: 50,
      },
      {
        state: 'succeeded',
        stage: 'done',
        delivery: 'partial',
        error: null,
        credits: { captured: 50, released: 50 },
      },
    ],
    [
      { state: 'failed', stage: 'done', delivery: 'failed', errorCode: 'no_output' },
      {
        state: 'failed',
        stage: 'done',
        delivery: 'failed',
        error: {
          code: 'no_output',
          retryable: true,
          message: 'The provider finished without any usable output. Create a new generation to try again.',
        },
      },
    ],
  ])('%j', (data, told) => {
    expect(view(data)).toEqual({ ...base, ...told });
  });

  it('shows nothing that is not listed, and half an amount is none', () => {
    expect(view({ stage: 'waiting', providerJobId: 'job-1', captured: 5 })).toEqual({
      ...base,
      stage: 'waiting',
    });
    expect(() => view({ state: 'odd' })).toThrow();
  });

  it('a snapshot tells where the generation stands', () => {
    const row = {
      updatedAt: new Date(AT),
      state: 'expired',
      stage: 'done',
      progress: null,
      delivery: 'failed',
      errorCode: 'deadline_exceeded',
      cancelOutcome: 'unsupported',
    };
    expect(viewSnapshot('gen_1', row)).toMatchObject({
      ...base,
      state: 'expired',
      stage: 'done',
      progress: null,
      delivery: 'failed',
      error: { code: 'deadline_exceeded', retryable: true },
      outcome: 'unsupported',
    });
    const running = viewSnapshot('gen_1', { ...row, errorCode: null, cancelOutcome: null });
    expect([running.error, running.outcome]).toEqual([null, null]);
  });
});
