import type { Observation } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import { CONTENT, error, FILE_URL, NOW_MS, OPENAI, taskError, VIDEO } from './openaivideos-rows.ts';

const NOW = NOW_MS / 1_000;

const job = (members: object) => ({ status: 200, body: JSON.stringify({ id: VIDEO, ...members }) });
const running = (status: string, progress: number | null = null, unknownStatus = false) =>
  ({ kind: 'running', status, progress, unknownStatus }) as const;
const completed = (linkExpiresAt: Date | null) => (baseUrl: string) =>
  ({
    kind: 'succeeded',
    status: 'completed',
    outputs: [{ url: CONTENT(baseUrl) }],
    linkExpiresAt,
    cost: null,
  }) as const;
const failed = (code: 'provider_failed' | 'content_rejected', reason: string, status = 'failed') =>
  ({ kind: 'failed', status, code, reason, cost: null }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;

export const observeRows: readonly Row<Observation>[] = [
  { name: 'queued, as OpenAI shows it', answer: job(OPENAI), expect: running('queued', 0) },
  {
    name: 'in_progress',
    answer: job({ ...OPENAI, status: 'in_progress', progress: 33 }),
    expect: running('in_progress', 0.33),
  },
  ...[
    [{ progress: 100 }, 1],
    [{ progress: '45%' }, 0.45],
    [{ progress: '7' }, 0.07],
    [{ progress: 101 }, null],
    [{ progress: -1 }, null],
    [{ progress: 'half' }, null],
    [{ progress: null }, null],
    [{}, null],
  ].map(([members, progress]) => ({
    name: `progress ${JSON.stringify(members)}`,
    answer: job({ status: 'in_progress', ...(members as object) }),
    expect: running('in_progress', progress as number | null),
  })),
  ...['Completed', 'SUCCESS', 'succeeded', 'pending', 'cancelled', 'canceled', 'expired', 'unknown'].map(
    (status) => ({
      name: `${status} is unknown until it is configured`,
      answer: job({ status, expires_at: NOW + 60, video_url: FILE_URL }),
      expect: running(status, null, true),
    }),
  ),
  { name: 'an unsafe status', answer: job({ status: 'a b' }), expect: running('unspecified', null, true) },
  {
    name: 'completed: the content, until expires_at',
    answer: job({ ...OPENAI, status: 'completed', progress: 100, expires_at: NOW + 3_600 }),
    expect: completed(new Date(NOW_MS + 3_600_000)),
  },
  {
    name: 'completed without an end',
    answer: job({ ...OPENAI, status: 'completed' }),
    expect: completed(null),
  },
  {
    name: 'the end in milliseconds, as New API writes times',
    answer: job({ status: 'completed', expires_at: NOW_MS + 60_000 }),
    expect: completed(new Date(NOW_MS + 60_000)),
  },
  {
    name: 'the end as ISO text',
    answer: job({ status: 'completed', expires_at: '2026-11-29T13:00:00Z' }),
    expect: completed(new Date(NOW_MS + 3_600_000)),
  },
  ...[0, -1, 'soon', {}].map((end) => ({
    name: `an end that is none: ${JSON.stringify(end)}`,
    answer: job({ status: 'completed', expires_at: end }),
    expect: completed(null),
  })),
  ...[3_600, 86_400_000, 2_592_000].map((seconds) => ({
    name: `a length where the end would be: ${seconds}`,
    answer: job({ status: 'completed', expires_at: seconds }),
    expect: completed(null),
  })),
  ...[NOW - 60, (NOW - 60) * 1_000, NOW - 61, '2026-11-29T11:58:59Z'].map((end) => ({
    name: `an end before the job was made: ${end}`,
    answer: job({ status: 'completed', created_at: NOW - 60, expires_at: end }),
    expect: completed(null),
  })),
  {
    name: 'an end a second after the job was made',
    answer: job({ status: 'completed', created_at: (NOW - 60) * 1_000, expires_at: NOW - 59 }),
    expect: completed(null),
  },
  ...[1, 600].map((seconds) => ({
    name: `over for ${seconds} s by our clock: the download decides`,
    answer: job({ status: 'completed', created_at: NOW - 3_600, expires_at: NOW - seconds }),
    expect: completed(null),
  })),
  {
    name: 'completed with New API’s empty error',
    answer: job({ status: 'completed', error: { code: 0, message: '' } }),
    expect: completed(null),
  },
  {
    name: 'completed with an error is a refusal',
    answer: job({ status: 'completed', error: { code: 'moderation_blocked', message: 'secret' } }),
    expect: failed('content_rejected', 'moderation_blocked', 'completed'),
  },
  ...[{ code: null, message: 'secret' }, { message: 'secret' }, 'secret'].map((given) => ({
    name: `completed with an error without a code: ${JSON.stringify(given)}`,
    answer: job({ status: 'completed', error: given }),
    expect: failed('provider_failed', 'unspecified', 'completed'),
  })),
  ...[null, {}, '', { code: '', message: 'success' }, { code: null, message: ' ' }].map((given) => ({
    name: `completed with an error that is none: ${JSON.stringify(given)}`,
    answer: job({ status: 'completed', error: given }),
    expect: completed(null),
  })),
  {
    name: 'failed by what is else the code of no such task',
    answer: job({ status: 'failed', error: { code: 'task_not_exist' } }),
    expect: failed('provider_failed', 'task_not_exist'),
  },
  {
    name: 'failed with a code',
    answer: job({
      ...OPENAI,
      status: 'failed',
      error: { code: 'video_generation_failed', message: 'secret' },
    }),
    expect: failed('provider_failed', 'video_generation_failed'),
  },
  ...[null, 'secret text', {}, { code: null }, { code: 'two words' }].map((given) => ({
    name: `failed with ${JSON.stringify(given)}`,
    answer: job({ status: 'failed', error: given }),
    expect: failed('provider_failed', 'unspecified'),
  })),
  ...['moderation_blocked', 'content_policy_violation', 'content_filter'].map((code) => ({
    name: `failed by ${code}`,
    answer: job({ status: 'failed', error: { code, message: 'secret' } }),
    expect: failed('content_rejected', code),
  })),
  {
    name: 'sentinel_block is no content',
    answer: job({ status: 'failed', error: { code: 'sentinel_block' } }),
    expect: failed('provider_failed', 'sentinel_block'),
  },
  { name: 'no such video', answer: error(404, null), expect: { kind: 'not_found' } },
  {
    name: 'no such task of New API',
    answer: taskError(400, 'task_not_exist'),
    expect: { kind: 'not_found' },
  },
  { name: 'the same inside 200', answer: taskError(200, 'task_not_exist'), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'a route that is not found',
    answer: { status: 404, body: '{"detail":"Not Found"}' },
    expect: unavailable('http_404'),
  },
  { name: '400 of another kind', answer: error(400, 'odd'), expect: unavailable('http_400') },
  {
    name: 'another video',
    answer: { status: 200, body: '{"id":"other","status":"completed"}' },
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: job({}), expect: unavailable('unreadable_answer') },
  { name: 'a status that is no text', answer: job({ status: 2 }), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: { status },
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '429',
    answer: { status: 429, headers: { 'retry-after': '3' } },
    expect: unavailable('http_429', false, 3_000),
  },
  { name: '500', answer: error(500, null, 'server_error'), expect: unavailable('http_500') },
];
