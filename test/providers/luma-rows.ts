import type { Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

export const JOB = 'd290f1ee-6c54-4b01-90e6-d701748f0851';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const HOUR_MS = 3_600_000;
const URL_1 = 'https://luma-outputs.s3.us-west-2.amazonaws.com/o.mp4?X-Amz-Expires=3600&X-Amz-Signature=5';

const json = (status: number, body: unknown, headers = {}): ScriptedAnswer => ({
  status,
  headers: { 'x-api-version': '2026-04-01', ...headers },
  body: JSON.stringify(body),
});
const error = (status: number, detail: unknown, headers = {}) => json(status, { detail }, headers);
/** A generation with all members that Luma shows. */
const generation = (members: object, status = 200) =>
  json(status, {
    id: JOB,
    type: 'video',
    state: 'queued',
    model: 'ray-3.2',
    created_at: '2026-11-29T11:59:00Z',
    output: [],
    failure_reason: null,
    failure_code: null,
    ...members,
  });
const video = (url: unknown) => ({ type: 'video', url });
const accepted = (name: string, answer: ScriptedAnswer, status = 'queued'): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'accepted', handle: { jobId: JOB }, status },
});
const unknown = (name: string, answer: ScriptedAnswer, reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
type Refused = Extract<SubmitAnswer, { kind: 'refused' }>['code'];
const refused = (
  status: number,
  detail: unknown,
  code: Refused,
  reason = 'unspecified',
): Row<SubmitAnswer> => ({
  name: `${status} ${JSON.stringify(detail)}`,
  answer: error(status, detail),
  expect: { kind: 'refused', code, reason: `http_${status}:${reason}` },
});
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const succeeded = (urls: readonly string[]) =>
  ({
    kind: 'succeeded',
    status: 'completed',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt: new Date(NOW_MS + HOUR_MS),
    cost: null,
  }) as const;
type Failed = Extract<Observation, { kind: 'failed' }>['code'];
const failed = (failure_code: unknown, code: Failed, reason = 'unspecified'): Row<Observation> => ({
  name: `failed, ${JSON.stringify(failure_code)}`,
  answer: generation({ state: 'failed', failure_code, failure_reason: 'secret text of the provider' }),
  expect: { kind: 'failed', status: 'failed', code, reason, cost: null },
});
const noOutput = {
  kind: 'failed',
  status: 'completed',
  code: 'no_output',
  reason: 'succeeded_without_output',
  cost: null,
} as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;

export const submitRows: readonly Row<SubmitAnswer>[] = [
  accepted('201, as the page shows it', generation({}, 201)),
  accepted('200', generation({})),
  accepted('already processing', generation({ state: 'processing' }, 201), 'processing'),
  accepted('only an id', json(201, { id: JOB }), 'not_given'),
  accepted('a state that is no word', json(201, { id: JOB, state: 'on its way' }), 'unspecified'),
  accepted('a state that is no text', json(201, { id: JOB, state: 7 }), 'not_given'),
  unknown('201 without id', json(201, { state: 'queued' }), 'http_201:unreadable'),
  unknown('201 with an id that is a number', json(201, { id: 7 }), 'http_201:unreadable'),
  unknown('201 with an id that is no path', json(201, { id: '..' }), 'http_201:unreadable'),
  unknown('201 without body', { status: 201 }, 'http_201:unreadable'),
  unknown('201 not UTF-8', { status: 201, body: Buffer.from([0x7b, 0xff]) }, 'http_201:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('an error under 200', error(200, 'Upstream service unavailable'), 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 of a gateway', { status: 400, body: '<html>' }, 'http_400'),
  unknown('400 in another envelope', json(400, { error: 'x' }), 'http_400'),
  unknown('422 of a gateway', { status: 422 }, 'http_422'),
  unknown('408', { status: 408 }, 'http_408'),
  unknown('409', error(409, 'Conflict'), 'http_409:unspecified'),
  unknown('418', error(418, 'teapot'), 'http_418:unspecified'),
  unknown('500', error(500, 'Internal Server Error'), 'http_500:unspecified'),
  unknown('502 upstream', error(502, 'Upstream service unavailable'), 'http_502:unspecified'),
  unknown('503 ingestion', error(503, 'Image URL ingestion unavailable'), 'http_503:unspecified'),
  unknown('504', { status: 504, headers: { 'retry-after': '9' } }, 'http_504'),
  refused(400, 'Unknown model: super-model-v9', 'invalid_input'),
  refused(400, "Type 'video' is not supported for model 'uni-1'", 'invalid_input'),
  refused(400, "Invalid aspect_ratio '4:3'. Valid: 1:1, 1:2", 'invalid_input'),
  refused(400, 'Prompt must be between 1 and 6000 characters', 'invalid_input'),
  refused(422, 'source: failed to fetch URL (HTTP 404)', 'invalid_input'),
  refused(422, [{ type: 'missing', loc: ['body', 'prompt'], msg: 'Field required' }], 'invalid_input'),
  refused(413, 'Image exceeds 50 MB size limit', 'invalid_input'),
  refused(400, 'The prompt was flagged by our content moderation system.', 'content_rejected', 'moderated'),
  refused(422, 'Prompt violates the content policy', 'content_rejected', 'moderated'),
  ...['Missing or invalid API key', 'Invalid API key', 'API key has been revoked', 'API key has expired'].map(
    (detail) => refused(401, detail, 'provider_rejected'),
  ),
  refused(402, 'Insufficient credits. Please add credits to continue.', 'provider_unavailable'),
  refused(403, 'API client is suspended', 'provider_rejected'),
  refused(404, 'Not Found', 'provider_rejected'),
  ...([401, 403, 404, 405, 413, 415] as const).map((status): Row<SubmitAnswer> => ({
    name: `${status} without a text`,
    answer: { status },
    expect: { kind: 'refused', code: 'provider_rejected', reason: `http_${status}` },
  })),
  {
    name: '402 without a text',
    answer: { status: 402 },
    expect: { kind: 'refused', code: 'provider_unavailable', reason: 'http_402' },
  },
  {
    name: '429, requests a minute',
    answer: error(429, 'Rate limit exceeded', { 'retry-after': '12', 'x-ratelimit-reset': '1712592012' }),
    expect: { kind: 'capacity', reason: 'http_429:unspecified', retryAfterMs: 12_000 },
  },
  {
    name: '429, jobs at once',
    answer: error(429, 'Too many concurrent jobs', { 'retry-after': '60' }),
    expect: { kind: 'capacity', reason: 'http_429:unspecified', retryAfterMs: 60_000 },
  },
  {
    name: '429 with a date',
    answer: { status: 429, headers: { 'retry-after': new Date(NOW_MS + 30_000).toUTCString() } },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: 30_000 },
  },
  {
    name: '429 without a time',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];

export const observeRows: readonly Row<Observation>[] = [
  { name: 'queued', answer: generation({}), expect: running('queued') },
  { name: 'processing', answer: generation({ state: 'processing' }), expect: running('processing') },
  ...['dreaming', 'Completed', 'FAILED', 'succeeded', 'cancelled'].map((state) => ({
    name: `${state} is unknown`,
    answer: generation({ state, output: [video(URL_1)] }),
    expect: running(state, true),
  })),
  {
    name: 'a state that is no word',
    answer: generation({ state: 'almost done' }),
    expect: running('unspecified', true),
  },
  {
    name: 'completed: its link lives an hour from this look',
    answer: generation({ state: 'completed', output: [video(URL_1)] }),
    expect: succeeded([URL_1]),
  },
  {
    name: 'an image',
    answer: generation({ state: 'completed', type: 'image', output: [{ type: 'image', url: `${URL_1}&i` }] }),
    expect: succeeded([`${URL_1}&i`]),
  },
  {
    name: 'several outputs, each once, with members that we do not know',
    answer: generation({
      state: 'completed',
      output: [{ ...video(URL_1), layer: { index: 0 } }, video(`${URL_1}&2`), video(URL_1)],
    }),
    expect: succeeded([URL_1, `${URL_1}&2`]),
  },
  {
    name: 'outputs that are none beside one that is',
    answer: generation({ state: 'completed', output: [null, 'x', {}, video(7), video(URL_1)] }),
    expect: succeeded([URL_1]),
  },
  ...[
    null,
    [],
    {},
    'https://x.example/a.mp4',
    [video(null)],
    [video('')],
    [video('file:///etc/passwd')],
    [video('https://u@h.example/')],
    [video('https://:p@h.example/')],
    ['https://x.example/a.mp4'],
  ].map((output) => ({
    name: `output ${JSON.stringify(output)} is none`,
    answer: generation({ state: 'completed', output }),
    expect: noOutput,
  })),
  { name: 'no output member', answer: json(200, { id: JOB, state: 'completed' }), expect: noOutput },
  failed('content_moderated', 'content_rejected', 'content_moderated'),
  failed('generation_failed', 'provider_failed', 'generation_failed'),
  failed('budget_exhausted', 'provider_unavailable', 'budget_exhausted'),
  failed('rate_limited', 'provider_unavailable', 'rate_limited'),
  failed('output_not_found', 'no_output', 'output_not_found'),
  failed('image_too_large', 'invalid_input', 'image_too_large'),
  failed('unsupported_format', 'invalid_input', 'unsupported_format'),
  failed('corrupt_input', 'invalid_input', 'corrupt_input'),
  failed('invalid_request', 'invalid_input', 'invalid_request'),
  failed('Content_Moderated', 'provider_failed', 'Content_Moderated'),
  failed('gpu_lost', 'provider_failed', 'gpu_lost'),
  failed('not a code\n', 'provider_failed'),
  failed(null, 'provider_failed'),
  failed(7, 'provider_failed'),
  {
    name: 'failed with an output is failed',
    answer: generation({ state: 'failed', output: [video(URL_1)], failure_code: 'generation_failed' }),
    expect: {
      kind: 'failed',
      status: 'failed',
      code: 'provider_failed',
      reason: 'generation_failed',
      cost: null,
    },
  },
  { name: 'not found', answer: error(404, 'Generation not found'), expect: { kind: 'not_found' } },
  { name: 'a path that is not found', answer: error(404, 'Not Found'), expect: unavailable('http_404') },
  {
    name: 'a 404 that lists what is wrong',
    answer: error(404, [{ type: 'missing', loc: ['path', 'id'], msg: 'Field required' }]),
    expect: unavailable('http_404'),
  },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'not found in 200',
    answer: error(200, 'Generation not found'),
    expect: unavailable('unreadable_answer'),
  },
  {
    name: 'another generation',
    answer: generation({ id: 'd290f1ee-6c54-4b01-90e6-d701748f0852', state: 'completed' }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no state', answer: json(200, { id: JOB }), expect: unavailable('unreadable_answer') },
  { name: 'an empty state', answer: generation({ state: '' }), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  { name: '204', answer: { status: 204 }, expect: unavailable('unreadable_answer') },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: error(status, 'Missing or invalid API key'),
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '429',
    answer: error(429, 'Rate limit exceeded', { 'retry-after': '3' }),
    expect: unavailable('http_429', false, 3_000),
  },
  { name: '502', answer: error(502, 'Upstream service unavailable'), expect: unavailable('http_502') },
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];
