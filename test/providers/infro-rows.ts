import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const JOB = 'job_19';
export const URL_1 = 'https://out.infro.io/a.mp4';
const EXPIRES = 1_764_000_000;
/** Between the two expiry times below. */
export const NOW_MS = (EXPIRES - 60) * 1_000;

const error = (status: number, code: string | null, type = 'invalid_request_error') => ({
  status,
  body: JSON.stringify({ error: { type, code, message: 'secret text of the provider' } }),
});
const refused = (name: string, answer: Row<SubmitAnswer>['answer'], code: string, reason: string) =>
  ({ name, answer, expect: { kind: 'refused', code, reason } }) as Row<SubmitAnswer>;
const unknown = (name: string, answer: Row<SubmitAnswer>['answer'], reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const job = (members: object, status = 200) => ({ status, body: JSON.stringify({ id: JOB, ...members }) });
const succeeded = (
  outputs: readonly string[],
  over: Partial<Extract<Observation, { kind: 'succeeded' }>> = {},
) =>
  ({
    kind: 'succeeded',
    status: 'succeeded',
    outputs: outputs.map((url) => ({ url })),
    linkExpiresAt: null,
    cost: null,
    ...over,
  }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const noOutput = {
  kind: 'failed',
  status: 'succeeded',
  code: 'no_output',
  reason: 'succeeded_without_output',
  cost: null,
} as const;
const failed = (code: 'provider_failed' | 'content_rejected', reason: string) =>
  ({ kind: 'failed', status: 'failed', code, reason, cost: null }) as const;
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;

export const submitRows: readonly Row<SubmitAnswer>[] = [
  ...[200, 201, 202].map((status) => ({
    name: `${status} with an id`,
    answer: job({ status: 'queued' }, status),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'queued' } as const,
  })),
  unknown('202 without id', { status: 202, body: '{"status":"queued"}' }, 'http_202:unreadable'),
  unknown('202 with an id that is a number', { status: 202, body: '{"id":19}' }, 'http_202:unreadable'),
  unknown('202 with an id that is no path', { status: 202, body: '{"id":".."}' }, 'http_202:unreadable'),
  unknown('202 without body', { status: 202 }, 'http_202:unreadable'),
  unknown('202 not UTF-8', { status: 202, body: Buffer.from([0x7b, 0xff]) }, 'http_202:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('key reuse', error(400, 'idempotency_key_reuse'), 'http_400:idempotency_key_reuse'),
  unknown(
    'key in progress',
    error(400, 'idempotency_key_in_progress'),
    'http_400:idempotency_key_in_progress',
  ),
  unknown('key reuse, other status', error(422, 'idempotency_key_reuse'), 'http_422:idempotency_key_reuse'),
  unknown('other key error', error(400, 'idempotency_error'), 'http_400:idempotency_error'),
  unknown('duplicate', error(409, 'duplicate_job'), 'http_409:duplicate_job'),
  unknown('400 without code', error(400, null), 'http_400'),
  unknown('400 of another type', error(400, 'odd', 'api_error'), 'http_400:odd'),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('unlisted 4xx', error(418, 'teapot'), 'http_418:teapot'),
  unknown('408', { status: 408 }, 'http_408'),
  unknown('500', error(500, 'internal_error', 'api_error'), 'http_500:internal_error'),
  unknown('503 with Retry-After', { status: 503, headers: { 'retry-after': '9' } }, 'http_503'),
  unknown('an unsafe code is not kept', error(500, 'x y\n'), 'http_500:unspecified'),
  refused('validation', error(400, 'invalid_parameter'), 'invalid_input', 'http_400:invalid_parameter'),
  refused('validation 422', error(422, 'too_long'), 'invalid_input', 'http_422:too_long'),
  refused(
    'content',
    error(400, 'content_policy_violation'),
    'content_rejected',
    'http_400:content_policy_violation',
  ),
  refused(
    'content 403',
    error(403, 'moderation_blocked', 'x'),
    'content_rejected',
    'http_403:moderation_blocked',
  ),
  refused('401', error(401, 'invalid_api_key', 'auth'), 'provider_rejected', 'http_401:invalid_api_key'),
  refused('403', { status: 403 }, 'provider_rejected', 'http_403'),
  refused('402', { status: 402 }, 'provider_unavailable', 'http_402'),
  ...[404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status }, 'provider_rejected', `http_${status}`),
  ),
  {
    name: '429 with seconds',
    answer: { ...error(429, 'rate_limit'), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:rate_limit', retryAfterMs: 7_000 },
  },
  {
    name: '429 with a date',
    answer: { status: 429, headers: { 'retry-after': new Date(NOW_MS + 30_000).toUTCString() } },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: 30_000 },
  },
  {
    name: '429 without a time, even about jobs in progress',
    answer: error(429, 'too_many_in_progress'),
    expect: { kind: 'capacity', reason: 'http_429:too_many_in_progress', retryAfterMs: null },
  },
];

export const observeRows: readonly Row<Observation>[] = [
  { name: 'queued', answer: job({ status: 'queued' }), expect: running('queued') },
  { name: 'running', answer: job({ status: 'running' }), expect: running('running') },
  {
    name: 'canceled',
    answer: job({ status: 'canceled' }),
    expect: { kind: 'cancelled', status: 'canceled' },
  },
  ...['cancelled', 'Succeeded', 'FAILED', 'expired'].map((status) => ({
    name: `${status} is unknown`,
    answer: job({ status, output: { url: URL_1 } }),
    expect: running(status, true),
  })),
  {
    name: 'succeeded',
    answer: job({ status: 'succeeded', output: { url: URL_1, expires_at: EXPIRES }, usage: { cost: 0.25 } }),
    expect: succeeded([URL_1], {
      linkExpiresAt: new Date(EXPIRES * 1_000),
      cost: { amount: '0.25', unit: 'USD', final: false },
    }),
  },
  {
    name: 'expires_at on the job, cost null',
    answer: job({ status: 'succeeded', output: URL_1, expires_at: EXPIRES, usage: { cost: null } }),
    expect: succeeded([URL_1], { linkExpiresAt: new Date(EXPIRES * 1_000) }),
  },
  {
    name: 'several outputs, each once',
    answer: job({ status: 'succeeded', output: { videos: [{ url: URL_1 }, { url: `${URL_1}?2` }, URL_1] } }),
    expect: succeeded([URL_1, `${URL_1}?2`]),
  },
  {
    name: 'an expiry that is no time',
    answer: job({ status: 'succeeded', output: URL_1, expires_at: 'soon', usage: { cost: -1 } }),
    expect: succeeded([URL_1]),
  },
  {
    name: 'an output that our clock calls over, and that is listed still: the download decides',
    answer: job({ status: 'succeeded', output: { url: URL_1 }, expires_at: EXPIRES - 60 }),
    expect: succeeded([URL_1]),
  },
  {
    name: 'output null past its expiry is gone',
    answer: job({ status: 'succeeded', output: null, expires_at: EXPIRES - 120 }),
    expect: succeeded([], { linkExpiresAt: new Date((EXPIRES - 120) * 1_000) }),
  },
  {
    name: 'output null with no expiry known is gone',
    answer: job({ status: 'succeeded', output: null }),
    expect: succeeded([]),
  },
  {
    name: 'output null before its expiry never was',
    answer: job({ status: 'succeeded', output: null, expires_at: EXPIRES }),
    expect: noOutput,
  },
  ...[
    {},
    [],
    '',
    'not a url',
    { url: 7 },
    { url: 'file:///etc/passwd' },
    { url: 'https://u@h.example/' },
    { url: 'https://:p@h.example/' },
  ].map((output) => ({
    name: `output ${JSON.stringify(output)} is none`,
    answer: job({ status: 'succeeded', output }),
    expect: noOutput,
  })),
  { name: 'no output member is none', answer: job({ status: 'succeeded' }), expect: noOutput },
  {
    name: 'failed',
    answer: job({ status: 'failed', error: { code: 'gpu_lost' } }),
    expect: failed('provider_failed', 'gpu_lost'),
  },
  {
    name: 'failed without reason',
    answer: job({ status: 'failed', error: 'text' }),
    expect: failed('provider_failed', 'unspecified'),
  },
  {
    name: 'failed by moderation',
    answer: job({ status: 'failed', error: { code: 'content_policy_violation' } }),
    expect: failed('content_rejected', 'content_policy_violation'),
  },
  { name: 'not found', answer: error(404, 'job_not_found'), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another job',
    answer: { status: 200, body: '{"id":"job_20","status":"succeeded"}' },
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: job({}), expect: unavailable('unreadable_answer') },
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
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  {
    name: 'canceled',
    answer: job({ status: 'canceled' }),
    expect: { kind: 'answered', observation: { kind: 'cancelled', status: 'canceled' } },
  },
  {
    name: 'finished before',
    answer: job({ status: 'succeeded', output: URL_1 }),
    expect: { kind: 'answered', observation: succeeded([URL_1]) },
  },
  {
    name: 'still running',
    answer: job({ status: 'running' }, 202),
    expect: { kind: 'answered', observation: running('running') },
  },
  {
    name: 'no body',
    answer: { status: 204 },
    expect: { kind: 'unavailable', reason: 'unreadable_answer' },
  },
  {
    name: 'not found says nothing of the job',
    answer: error(404, 'job_not_found'),
    expect: { kind: 'unavailable', reason: 'http_404' },
  },
  { name: '409', answer: error(409, 'x'), expect: { kind: 'unavailable', reason: 'http_409' } },
];
