import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const TASK = 'video_task_abc123';
export const FILE_URL = 'https://crazyrouter.com/files/video_abc123.mp4';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);

const error = (status: number, code: string | null, type = 'invalid_request_error') => ({
  status,
  body: JSON.stringify({ error: { message: 'secret text of the provider', type, code } }),
});
const taskError = (status: number, code: string) => ({
  status,
  body: JSON.stringify({ code, message: 'secret text of the provider', data: null }),
});
const refused = (
  name: string,
  answer: ReturnType<typeof error>,
  code: string,
  reason: string,
): Row<SubmitAnswer> => ({ name, answer, expect: { kind: 'refused', code, reason } as SubmitAnswer });
const unknown = (name: string, answer: Row<SubmitAnswer>['answer'], reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});

export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: 'the create response of its page',
    answer: { status: 200, body: `{"id":"${TASK}","status":"processing","status_update_time":1709123456}` },
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'processing' },
  },
  {
    name: 'an id only, as in the article',
    answer: { status: 201, body: '{"id":"vid_7f3"}' },
    expect: { kind: 'accepted', handle: { jobId: 'vid_7f3' }, status: 'not_given' },
  },
  unknown('200 without id', { status: 200, body: '{"status":"processing"}' }, 'http_200:unreadable'),
  unknown('200 with an id that is none', { status: 200, body: '{"id":7}' }, 'http_200:unreadable'),
  unknown('200 with an error', { ...error(200, 'x') }, 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('400 without code', error(400, null), 'http_400'),
  unknown('400 of another type', error(400, 'odd', 'upstream_error'), 'http_400:odd'),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('a key error', error(400, 'idempotency_conflict'), 'http_400:idempotency_conflict'),
  unknown('409', error(409, 'task_exists'), 'http_409:task_exists'),
  unknown('500', error(500, 'do_request_failed', 'upstream_error'), 'http_500:do_request_failed'),
  unknown('502: the upstream may have it', error(502, 'bad_response'), 'http_502:bad_response'),
  unknown('503', { status: 503 }, 'http_503'),
  unknown('an unsafe code is not kept', error(500, 'x y\n'), 'http_500:unspecified'),
  refused('validation', error(400, 'invalid_request'), 'invalid_input', 'http_400:invalid_request'),
  refused(
    'content',
    error(400, 'sensitive_words_detected'),
    'content_rejected',
    'http_400:sensitive_words_detected',
  ),
  unknown('no other channel', taskError(503, 'get_channel_failed'), 'http_503:get_channel_failed'),
  refused(
    'quota',
    error(403, 'insufficient_quota', 'insufficient_quota'),
    'provider_unavailable',
    'http_403:insufficient_quota',
  ),
  refused(
    '401',
    error(401, 'invalid_api_key', 'authentication_error'),
    'provider_rejected',
    'http_401:invalid_api_key',
  ),
  ...[403, 404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status, body: '' }, 'provider_rejected', `http_${status}`),
  ),
  refused('402', { status: 402, body: '' }, 'provider_unavailable', 'http_402'),
  {
    name: '429 with a time',
    answer: { ...error(429, 'rate_limit_exceeded', 'rate_limit_error'), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:rate_limit_exceeded', retryAfterMs: 7_000 },
  },
  {
    name: '429 without a time',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];

const task = (members: object) => ({ status: 200, body: JSON.stringify({ id: TASK, ...members }) });
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const succeeded = (urls: readonly string[], status = 'completed') =>
  ({
    kind: 'succeeded',
    status,
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt: null,
    cost: null,
  }) as const;
const failed = (code: 'provider_failed' | 'content_rejected', reason: string, status = 'failed') =>
  ({ kind: 'failed', status, code, reason, cost: null }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;

export const observeRows: readonly Row<Observation>[] = [
  ...['processing', 'queued', 'pending', 'running', 'in_progress'].map((status) => ({
    name: status,
    answer: task({ status }),
    expect: running(status),
  })),
  ...['cancelled', 'canceled'].map((status) => ({
    name: status,
    answer: task({ status }),
    expect: { kind: 'cancelled', status } as const,
  })),
  ...['Completed', 'SUCCESS', 'FAILURE', 'timeout'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ status, video_url: FILE_URL }),
    expect: running(status, true),
  })),
  {
    name: 'completed',
    answer: task({ status: 'completed', status_update_time: 1709123500, video_url: FILE_URL }),
    expect: succeeded([FILE_URL]),
  },
  {
    name: 'succeeded, as the article names it',
    answer: task({ status: 'succeeded', video_url: FILE_URL }),
    expect: succeeded([FILE_URL], 'succeeded'),
  },
  {
    name: 'results that differ by model, each once',
    answer: task({
      status: 'completed',
      video: { url: FILE_URL, duration: 10 },
      outputs: [FILE_URL, `${FILE_URL}?2`],
    }),
    expect: succeeded([FILE_URL, `${FILE_URL}?2`]),
  },
  ...[{}, { video_url: null }, { video_url: '' }, { video: { url: 7 } }, { image: FILE_URL }].map(
    (result) => ({
      name: `completed with ${JSON.stringify(result)} has no output`,
      answer: task({ status: 'completed', ...result }),
      expect: {
        kind: 'failed',
        status: 'completed',
        code: 'no_output',
        reason: 'succeeded_without_output',
        cost: null,
      } as const,
    }),
  ),
  {
    name: 'failed with a code',
    answer: task({ status: 'failed', error: { code: 'upstream_timeout', message: 'secret' } }),
    expect: failed('provider_failed', 'upstream_timeout'),
  },
  {
    name: 'failed without a code',
    answer: task({ status: 'failed', error: 'secret' }),
    expect: failed('provider_failed', 'unspecified'),
  },
  {
    name: 'failed by moderation',
    answer: task({ status: 'failed', code: 'content_policy_violation' }),
    expect: failed('content_rejected', 'content_policy_violation'),
  },
  {
    name: 'expired',
    answer: task({ status: 'expired' }),
    expect: failed('provider_failed', 'unspecified', 'expired'),
  },
  { name: 'no such task', answer: taskError(400, 'task_not_exist'), expect: { kind: 'not_found' } },
  {
    name: 'no such task inside 200',
    answer: taskError(200, 'task_not_exist'),
    expect: { kind: 'not_found' },
  },
  { name: 'no such route', answer: error(404, 'not_found'), expect: unavailable('http_404') },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another task',
    answer: { status: 200, body: '{"id":"other","status":"completed"}' },
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: task({}), expect: unavailable('unreadable_answer') },
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
  { name: '502', answer: { status: 502 }, expect: unavailable('http_502') },
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  { name: 'not offered', answer: { status: 200, body: '{}' }, expect: { kind: 'unsupported' } },
];
