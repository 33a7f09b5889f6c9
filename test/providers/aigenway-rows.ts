import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const TASK = 'cmomwuy0m000qbr0371src20a';
export const FILE_URL = 'https://api.aigenway.com/v1/files/results/u/t/video_0.mp4';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const UNTIL = '2026-12-29T12:00:00.000Z';
const USD = (amount: string) => ({ amount, unit: 'USD', final: false });

const error = (status: number, code: string | null, details?: object) => ({
  status,
  body: JSON.stringify({
    success: false,
    error: { code, message: 'secret text of the provider', details, request_id: 'r' },
  }),
});
const refused = (name: string, status: number, error_: string, code: string): Row<SubmitAnswer> => ({
  name,
  answer: error(status, error_),
  expect: { kind: 'refused', code, reason: `http_${status}:${error_}` } as SubmitAnswer,
});
const unknown = (name: string, answer: Row<SubmitAnswer>['answer'], reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const accepted = (members: object, status = 202) => ({ status, body: JSON.stringify(members) });

export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: '202, as the service answers',
    answer: accepted({
      success: true,
      mode: 'async',
      status: 'PENDING',
      task_id: TASK,
      reserved_amount: '12000000',
      currency: 'USD',
      message: 'Accepted',
    }),
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'PENDING', cost: USD('0.12') },
  },
  {
    name: '202 with an id only',
    answer: accepted({ task_id: TASK }),
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'not_given', cost: null },
  },
  ...[-1, 1.5, '1e9', '9'.repeat(19), null].map((amount) => ({
    name: `a reserved amount of ${amount} is none`,
    answer: accepted({ task_id: TASK, status: 'PENDING', reserved_amount: amount }),
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'PENDING', cost: null } as const,
  })),
  unknown('202 without id', accepted({ status: 'PENDING' }), 'http_202:unreadable'),
  unknown('202 with an id that is none', accepted({ task_id: '..' }), 'http_202:unreadable'),
  unknown('202 HTML', { status: 202, body: '<html>' }, 'http_202:unreadable'),
  unknown('200 with the error envelope', { ...error(500, 'x'), status: 200 }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('key in use', error(409, 'idempotency_key_in_use'), 'http_409:idempotency_key_in_use'),
  unknown('other body', error(422, 'idempotency_key_mismatch'), 'http_422:idempotency_key_mismatch'),
  unknown('409', error(409, 'task_failed'), 'http_409:task_failed'),
  unknown('422 invalid_request', error(422, 'invalid_request'), 'http_422:invalid_request'),
  unknown('422 without code', error(422, null), 'http_422'),
  unknown('422 HTML', { status: 422, body: '<html>' }, 'http_422'),
  unknown('500', error(500, 'internal_error'), 'http_500:internal_error'),
  unknown('503', { status: 503, headers: { 'retry-after': '9' } }, 'http_503'),
  unknown('an unsafe code is not kept', error(500, 'x y\n'), 'http_500:unspecified'),
  refused('parameters', 422, 'invalid_parameters', 'invalid_input'),
  refused('parameters 400', 400, 'invalid_parameters', 'invalid_input'),
  refused('request 400', 400, 'invalid_request', 'invalid_input'),
  refused('content', 422, 'content_policy_violation', 'content_rejected'),
  refused('key', 401, 'invalid_api_key', 'provider_rejected'),
  refused('blocked', 403, 'user_blocked', 'provider_rejected'),
  refused('not ours', 403, 'method_not_available_for_user', 'provider_rejected'),
  refused('model', 404, 'unsupported_model', 'provider_rejected'),
  refused('price', 422, 'price_not_configured', 'provider_rejected'),
  refused('balance', 422, 'insufficient_balance', 'provider_unavailable'),
  refused('upstream off', 503, 'provider_unavailable', 'provider_unavailable'),
  {
    name: '429 with a header',
    answer: { ...error(429, 'rate_limit_exceeded'), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:rate_limit_exceeded', retryAfterMs: 7_000 },
  },
  {
    name: '429 with the time in the body',
    answer: error(429, 'rate_limit_exceeded', { limit: 60, retryAfterSeconds: 12 }),
    expect: { kind: 'capacity', reason: 'http_429:rate_limit_exceeded', retryAfterMs: 12_000 },
  },
  {
    name: '429 without a time',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];

const task = (members: object, wrapped = true) => {
  const found = { id: TASK, mode: 'ASYNC', ...members };
  return { status: 200, body: JSON.stringify(wrapped ? { success: true, task: found } : found) };
};
const file = (url: string, until: string | null = UNTIL) => ({ type: 'video', url, available_until: until });
const succeeded = (
  urls: readonly string[],
  until: string | null,
  cost: ReturnType<typeof USD> | null = null,
) =>
  ({
    kind: 'succeeded',
    status: 'SUCCEEDED',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt: until === null ? null : new Date(until),
    cost,
  }) as const;
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const failed = (code: 'provider_failed' | 'content_rejected', reason: string, status = 'FAILED') =>
  ({ kind: 'failed', status, code, reason, cost: null }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const noOutput = {
  kind: 'failed',
  status: 'SUCCEEDED',
  code: 'no_output',
  reason: 'succeeded_without_output',
  cost: null,
} as const;

export const observeRows: readonly Row<Observation>[] = [
  ...['PENDING', 'pending', 'PROCESSING', 'processing'].map((status) => ({
    name: status,
    answer: task({ status }),
    expect: running(status),
  })),
  ...['CANCELLED', 'cancelled'].map((status) => ({
    name: status,
    answer: task({ status }),
    expect: { kind: 'cancelled', status } as const,
  })),
  ...['Succeeded', 'SUCCESS', 'canceled', 'EXPIRED'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ status, result: file(FILE_URL) }),
    expect: running(status, true),
  })),
  {
    name: 'SUCCEEDED: the files, each once',
    answer: task({
      status: 'SUCCEEDED',
      reserved_amount: '25000000',
      result: { ...file(FILE_URL), files: [file(FILE_URL), file(`${FILE_URL}?2`)] },
    }),
    expect: succeeded([FILE_URL, `${FILE_URL}?2`], UNTIL, USD('0.25')),
  },
  {
    name: 'a task without envelope, one file',
    answer: task({ status: 'SUCCEEDED', result: file(FILE_URL, null) }, false),
    expect: succeeded([FILE_URL], null),
  },
  {
    name: 'result_files are preferred to the raw result',
    answer: task({
      status: 'SUCCEEDED',
      result: { url: 'https://inner.example/x' },
      result_files: [{ url: FILE_URL }],
    }),
    expect: succeeded([FILE_URL], null),
  },
  {
    name: 'lower-case succeeded',
    answer: task({ status: 'succeeded', result: file(FILE_URL) }),
    expect: { ...succeeded([FILE_URL], UNTIL), status: 'succeeded' },
  },
  {
    name: 'a file that our clock calls over, and that is listed still: the download decides',
    answer: task({ status: 'SUCCEEDED', result: file(FILE_URL, '2026-11-29T11:59:59Z') }),
    expect: succeeded([FILE_URL], null),
  },
  {
    name: 'no file any more past available_until is gone',
    answer: task({ status: 'SUCCEEDED', result: { url: null, available_until: '2026-11-29T12:00:00Z' } }),
    expect: succeeded([], '2026-11-29T12:00:00.000Z'),
  },
  ...[null, {}, [], 'x', { url: null, files: [] }, { url: 'ftp://h/x' }, { files: [{ url: 7 }] }].map(
    (result) => ({
      name: `result ${JSON.stringify(result)} is none`,
      answer: task({ status: 'SUCCEEDED', result }),
      expect: noOutput,
    }),
  ),
  { name: 'no result is none', answer: task({ status: 'SUCCEEDED' }), expect: noOutput },
  {
    name: 'FAILED with a code',
    answer: task({ status: 'FAILED', error_code: 'provider_outage', error_message: 'secret' }),
    expect: failed('provider_failed', 'provider_outage'),
  },
  {
    name: 'failed without a code',
    answer: task({ status: 'failed', error_code: null }),
    expect: failed('provider_failed', 'unspecified', 'failed'),
  },
  {
    name: 'FAILED by moderation',
    answer: task({ status: 'FAILED', error_code: 'content_policy_violation' }),
    expect: failed('content_rejected', 'content_policy_violation'),
  },
  { name: 'not found', answer: error(404, 'task_not_found'), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another task',
    answer: { status: 200, body: JSON.stringify({ task: { id: 'other', status: 'SUCCEEDED' } }) },
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
  { name: '503', answer: { status: 503 }, expect: unavailable('http_503') },
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  { name: 'not offered', answer: { status: 200, body: '{}' }, expect: { kind: 'unsupported' } },
];
