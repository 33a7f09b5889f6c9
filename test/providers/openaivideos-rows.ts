import type { CancelAnswer, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const VIDEO = 'video_69b131ea03548190925a6a06febf993b';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
export const CONTENT = (baseUrl: string) => `${baseUrl}/v1/videos/${VIDEO}/content`;
/** A link of the kind that aggregators show. */
export const FILE_URL = 'https://files.aggregator.example/cdn/20261129/example.mp4';

export const error = (
  status: number,
  code: string | number | null,
  type: string | null = 'invalid_request_error',
) => ({
  status,
  body: JSON.stringify({ error: { message: 'secret text of the provider', type, param: null, code } }),
});
export const taskError = (status: number, code: string) => ({
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
const accepted = (name: string, status: number, body: object, seen: string): Row<SubmitAnswer> => ({
  name,
  answer: { status, body: JSON.stringify(body) },
  expect: { kind: 'accepted', handle: { jobId: VIDEO }, status: seen },
});

/** As OpenAI shows a job (openai-node, resources/videos). */
export const OPENAI = {
  id: VIDEO,
  object: 'video',
  status: 'queued',
  progress: 0,
  seconds: '4',
  size: '720x1280',
  created_at: 1773220330,
  completed_at: null,
  expires_at: null,
  error: null,
  model: 'sora-2',
  prompt: 'x',
  remixed_from_video_id: null,
};

export const submitRows: readonly Row<SubmitAnswer>[] = [
  accepted('as OpenAI answers', 200, OPENAI, 'queued'),
  accepted(
    'OpenRouter: 202, pending, a polling URL',
    202,
    {
      id: VIDEO,
      polling_url: `/api/v1/videos/${VIDEO}`,
      status: 'pending',
    },
    'pending',
  ),
  accepted('New API: id and task_id', 200, { ...OPENAI, task_id: VIDEO }, 'queued'),
  accepted('New API, older: task_id alone', 200, { task_id: VIDEO, status: 'queued' }, 'queued'),
  accepted('an id alone', 201, { id: VIDEO }, 'not_given'),
  accepted(
    'a job that has failed already',
    200,
    { ...OPENAI, status: 'failed', error: { code: 'x' } },
    'failed',
  ),
  unknown(
    '200 without id',
    { status: 200, body: '{"object":"video","status":"queued"}' },
    'http_200:unreadable',
  ),
  unknown('200 with an id that is none', { status: 200, body: '{"id":7}' }, 'http_200:unreadable'),
  unknown('200 with an empty id', { status: 200, body: '{"id":""}' }, 'http_200:unreadable'),
  unknown('200 with dots as id', { status: 200, body: '{"id":".."}' }, 'http_200:unreadable'),
  unknown('200 with an error', error(200, 'invalid_value'), 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('a redirect', { status: 307, headers: { location: '/elsewhere' } }, 'http_307'),
  unknown('400 of another type', error(400, 'odd', 'upstream_error'), 'http_400:odd'),
  unknown('400 without code and type', error(400, null, null), 'http_400'),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('a key error', error(400, 'idempotency_key_reuse'), 'http_400:idempotency_key_reuse'),
  unknown(
    'a key in flight',
    error(409, 'idempotency_key_in_progress'),
    'http_409:idempotency_key_in_progress',
  ),
  unknown('409', error(409, 'already_exists'), 'http_409:already_exists'),
  unknown('408', { status: 408 }, 'http_408'),
  unknown('422 with a text', { status: 422, body: '{"detail":"no"}' }, 'http_422'),
  unknown('500', error(500, null, 'server_error'), 'http_500'),
  unknown('500 of New API', taskError(500, 'do_request_failed'), 'http_500:do_request_failed'),
  unknown(
    'no second channel of New API: the first may have it',
    taskError(500, 'get_channel_failed'),
    'http_500:get_channel_failed',
  ),
  unknown('502: the upstream may have it', error(502, 'bad_response'), 'http_502:bad_response'),
  unknown('503', { status: 503 }, 'http_503'),
  unknown('an unsafe code is not kept', error(500, 'x y\n'), 'http_500:unspecified'),
  refused('a value', error(400, 'invalid_value'), 'invalid_input', 'http_400:invalid_value'),
  refused('validation without a code', error(400, null), 'invalid_input', 'http_400'),
  refused('New API, local', taskError(400, 'invalid_request'), 'invalid_input', 'http_400:invalid_request'),
  refused(
    'a parameter',
    error(400, 'missing_required_parameter', 'bad'),
    'invalid_input',
    'http_400:missing_required_parameter',
  ),
  refused(
    'FastAPI',
    { status: 422, body: '{"detail":[{"loc":["body","prompt"],"msg":"field required","type":"missing"}]}' },
    'invalid_input',
    'http_422',
  ),
  ...[
    [400, 'moderation_blocked', 'video_generation_user_error'],
    [400, 'content_policy_violation', 'invalid_request_error'],
    [403, 'content_filter', 'invalid_request_error'],
    [400, 'sensitive_words_detected', 'new_api_error'],
  ].map(([status, code, type]) =>
    refused(
      `${code}`,
      error(Number(status), `${code}`, `${type}`),
      'content_rejected',
      `http_${status}:${code}`,
    ),
  ),
  refused(
    'sentinel_block is no content',
    error(400, 'sentinel_block'),
    'provider_unavailable',
    'http_400:sentinel_block',
  ),
  refused(
    'no channel of New API',
    error(503, 'model_not_found', 'new_api_error'),
    'provider_unavailable',
    'http_503:model_not_found',
  ),
  refused('no such model', error(404, 'model_not_found'), 'provider_rejected', 'http_404:model_not_found'),
  refused(
    'OpenAI: no money, as 429',
    error(429, 'insufficient_quota', 'insufficient_quota'),
    'provider_unavailable',
    'http_429:insufficient_quota',
  ),
  refused(
    'OpenAI: limit of spending',
    error(400, 'billing_hard_limit_reached'),
    'provider_unavailable',
    'http_400:billing_hard_limit_reached',
  ),
  refused(
    'New API: no money',
    error(403, 'insufficient_user_quota', 'new_api_error'),
    'provider_unavailable',
    'http_403:insufficient_user_quota',
  ),
  refused(
    'OpenRouter: no money, codes are numbers',
    error(402, 402, null),
    'provider_unavailable',
    'http_402:402',
  ),
  refused('401', error(401, 'invalid_api_key'), 'provider_rejected', 'http_401:invalid_api_key'),
  ...[403, 404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status, body: '' }, 'provider_rejected', `http_${status}`),
  ),
  {
    name: '429 with a time',
    answer: { ...error(429, 'rate_limit_exceeded', 'requests'), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:rate_limit_exceeded', retryAfterMs: 7_000 },
  },
  {
    name: '429 without a time',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  { name: 'not offered', answer: { status: 200, body: '{}' }, expect: { kind: 'unsupported' } },
];
