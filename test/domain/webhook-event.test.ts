import { describe, expect, it } from 'vitest';
import type { GenerationFacts } from '../../src/domain/generation-view.ts';
import { viewGeneration } from '../../src/domain/generation-view.ts';
import {
  DEFAULT_WEBHOOK_TYPES,
  generationWebhookBody,
  TEST_WEBHOOK_TYPE,
  webhookBody,
  WEBHOOK_TYPES,
} from '../../src/domain/webhook-event.ts';
import { WEBHOOK_PROBLEMS } from '../../src/domain/webhook-problem.ts';
import { jitteredSchedule, WEBHOOK_TIMINGS } from '../../src/domain/webhook-schedule.ts';

const EVENT = {
  id: 'evt_1_succeeded',
  type: 'generation.succeeded',
  timestamp: '2026-11-29T12:00:00.000Z',
};

function view(input: GenerationFacts['input'], metadata: GenerationFacts['metadata'] = {}) {
  return viewGeneration({
    id: 'gen_1',
    account: 'default',
    state: 'succeeded',
    stage: 'done',
    progress: 1,
    model: 'm',
    provider: null,
    input,
    metadata,
    creditsHeld: 5,
    creditsCaptured: 5,
    creditsRefunded: 0,
    holdOpen: false,
    delivery: 'stored',
    cancellation: null,
    errorCode: null,
    outputs: [],
    createdAt: EVENT.timestamp,
    updatedAt: EVENT.timestamp,
    startedAt: null,
    completedAt: EVENT.timestamp,
    deadlineAt: EVENT.timestamp,
    expectedDurationSeconds: 60,
  });
}

describe('the body of an event', () => {
  it('is type, timestamp, version, id and data, in this order', () => {
    expect(webhookBody(EVENT, { a: 1 })).toBe(
      '{"type":"generation.succeeded","timestamp":"2026-11-29T12:00:00.000Z","version":1,"id":"evt_1_succeeded","data":{"a":1}}',
    );
  });

  it('of a generation holds the whole view, as the API shows it', () => {
    const shown = view({ prompt: 'a cat' }, { order: 'A-1' });
    expect(JSON.parse(generationWebhookBody(EVENT, shown))).toEqual({ ...EVENT, version: 1, data: shown });
  });

  it('leaves the input out, and says so, where it would be more than 20 kB; all else stays', () => {
    const base = Buffer.byteLength(generationWebhookBody(EVENT, view({ prompt: '' })));
    const fits = generationWebhookBody(EVENT, view({ prompt: 'x'.repeat(20_000 - base) }));
    expect(Buffer.byteLength(fits)).toBe(20_000);
    expect(fits).not.toContain('input_omitted');
    // Counted in bytes, not in characters.
    for (const prompt of ['x'.repeat(20_001 - base), 'ż'.repeat(10_000), 'x'.repeat(100_000)]) {
      const body = generationWebhookBody(EVENT, view({ prompt }, { order: 'A-1' }));
      const { input: _left, ...rest } = view({ prompt }, { order: 'A-1' });
      expect(JSON.parse(body)).toEqual({ ...EVENT, version: 1, data: { ...rest, input_omitted: true } });
      expect(Buffer.byteLength(body)).toBeLessThan(20_000);
    }
  });
});

it('the types: the four ends are heard of by default, updates by choice', () => {
  expect(WEBHOOK_TYPES).toEqual([...DEFAULT_WEBHOOK_TYPES, 'generation.updated']);
  expect(DEFAULT_WEBHOOK_TYPES.map((type) => type.replace('generation.', ''))).toEqual([
    'succeeded',
    'failed',
    'cancelled',
    'expired',
  ]);
  for (const type of [...WEBHOOK_TYPES, TEST_WEBHOOK_TYPE]) expect(type).toMatch(/^[a-z]+\.[a-z]+$/);
});

it('the schedule: ten attempts over most of a day, each wait within 20 % of its time', () => {
  const { scheduleMs, timeoutMs, disableAfterMs } = WEBHOOK_TIMINGS;
  const minutes = [0, 1 / 60, 5 / 60, 0.5, 2, 10, 30, 120, 300, 600];
  expect(scheduleMs).toEqual(minutes.map((minute) => Math.round(minute * 60_000)));
  expect([timeoutMs, disableAfterMs]).toEqual([10_000, 5 * 86_400_000]);
  expect(jitteredSchedule([0, 1_000, 5_000], () => 0)).toEqual([0, 800, 4_000]);
  expect(jitteredSchedule([0, 1_000, 5_000], () => 0.5)).toEqual([0, 1_000, 5_000]);
  expect(jitteredSchedule([1_000], () => 0.999_999)).toEqual([1_200]);
  const draws = [0, 0.5, 0.25];
  expect(jitteredSchedule([1_000, 1_000, 1_000], () => draws.shift()!)).toEqual([800, 1_000, 900]);
});

it('SSRF-8 the problems are fixed words, none of which tells a private address from a dead one', () => {
  expect(Object.keys(WEBHOOK_PROBLEMS)).toEqual([
    'unreachable',
    'tls_failed',
    'timeout',
    'connection_lost',
    'bad_answer',
    'redirect',
    'gone',
    'http_status',
    'secret_unavailable',
    'body_unavailable',
  ]);
  expect(JSON.stringify(WEBHOOK_PROBLEMS)).not.toMatch(/private|blocked|internal|refused|dns/i);
});
