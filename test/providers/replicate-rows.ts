import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const JOB = 'ufawqhfynnddngldkgtslldrkq';
const URL_1 = 'https://replicate.delivery/pbxt/a/out.mp4';
const URL_2 = 'https://b.replicate.delivery/b/out-1.png';
const COMPLETED_AT = '2026-11-29T12:00:00.383588891Z';
const COMPLETED_MS = Date.UTC(2026, 10, 29, 12, 0, 0, 383);
export const NOW_MS = COMPLETED_MS + 60_000;
const HOUR_MS = 3_600_000;

const error = (status: number, members: object = { detail: 'secret text of the provider' }) => ({
  status,
  body: JSON.stringify({ status, ...members }),
});
const titled = (status: number, title: string) => error(status, { title, detail: 'text' });
const prediction = (members: object, status = 200) => ({
  status,
  body: JSON.stringify({ id: JOB, output: null, error: null, data_removed: false, ...members }),
});
const refused = (name: string, answer: Row<SubmitAnswer>['answer'], code: string, reason: string) =>
  ({ name, answer, expect: { kind: 'refused', code, reason } }) as Row<SubmitAnswer>;
const unknown = (name: string, answer: Row<SubmitAnswer>['answer'], reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const capacity = (name: string, answer: Row<SubmitAnswer>['answer'], retryAfterMs: number | null) =>
  ({ name, answer, expect: { kind: 'capacity', reason: 'http_429:error', retryAfterMs } }) as const;
const succeeded = (outputs: readonly string[], linkMs = NOW_MS + HOUR_MS) =>
  ({
    kind: 'succeeded',
    status: 'succeeded',
    outputs: outputs.map((url) => ({ url })),
    linkExpiresAt: new Date(linkMs),
    cost: null,
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
const running = (status: string, over: Partial<Extract<Observation, { kind: 'running' }>> = {}) =>
  ({ kind: 'running', status, progress: null, unknownStatus: false, ...over }) as const;

export const submitRows: readonly Row<SubmitAnswer>[] = [
  ...[200, 201, 202].map((status) => ({
    name: `${status} with an id`,
    answer: prediction({ status: 'starting' }, status),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'starting' } as const,
  })),
  unknown('201 without id', { status: 201, body: '{"status":"starting"}' }, 'http_201:unreadable'),
  unknown('201 with an id that is no path', { status: 201, body: '{"id":"../x"}' }, 'http_201:unreadable'),
  unknown('201 without body', { status: 201 }, 'http_201:unreadable'),
  unknown('201 not UTF-8', { status: 201, body: Buffer.from([0x7b, 0xff]) }, 'http_201:unreadable'),
  unknown('an error inside 200', { status: 200, body: error(503).body }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('422 without envelope', { status: 422, body: '{}' }, 'http_422'),
  unknown('409', error(409), 'http_409:error'),
  unknown('500', titled(500, 'Internal server error'), 'http_500:internal_server_error'),
  unknown('503 with Retry-After', { ...error(503), headers: { 'retry-after': '9' } }, 'http_503:error'),
  refused(
    'validation',
    titled(422, 'Input validation failed'),
    'invalid_input',
    'http_422:input_validation_failed',
  ),
  refused('400 with detail', error(400), 'invalid_input', 'http_400:error'),
  refused(
    'a version that is none',
    titled(422, 'Invalid version or not permitted'),
    'provider_rejected',
    'http_422:invalid_version_or_not_permitted',
  ),
  refused(
    'content',
    error(422, { title: 'Input validation failed', detail: 'The input was flagged as sensitive. (E005)' }),
    'content_rejected',
    'http_422:content_rejected',
  ),
  refused('401', titled(401, 'Unauthenticated'), 'provider_rejected', 'http_401:unauthenticated'),
  refused('403', { status: 403 }, 'provider_rejected', 'http_403'),
  refused('402', titled(402, 'Insufficient credit'), 'provider_unavailable', 'http_402:insufficient_credit'),
  ...[404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status }, 'provider_rejected', `http_${status}`),
  ),
  capacity('429 with a header', { ...error(429), headers: { 'retry-after': '7' } }, 7_000),
  capacity('429 with seconds in the body', error(429, { detail: 'x', retry_after: 11 }), 11_000),
  capacity(
    '429 with the documented text',
    error(429, { detail: 'Request was throttled. Your rate limit resets in ~30s.' }),
    30_000,
  ),
  capacity('429 without a time', error(429), null),
];

export const observeRows: readonly Row<Observation>[] = [
  { name: 'starting', answer: prediction({ status: 'starting' }), expect: running('starting') },
  {
    name: 'processing, with a progress bar in the logs',
    answer: prediction({
      status: 'processing',
      logs: 'seed 7\n 10%|#    | 1/10\r 76%|###   | 7/10 [00:33]\nx',
    }),
    expect: running('processing', { progress: 0.76 }),
  },
  {
    name: 'D3 canceled, with the seconds until then',
    answer: prediction({ status: 'canceled', metrics: { predict_time: 1.5 } }),
    expect: {
      kind: 'cancelled',
      status: 'canceled',
      cost: { amount: '1.5', unit: 'seconds', final: false },
    },
  },
  {
    name: 'D3 aborted is an end, and not billed',
    answer: prediction({ status: 'aborted' }),
    expect: { kind: 'cancelled', status: 'aborted', cost: { amount: '0', unit: 'seconds', final: true } },
  },
  ...['cancelled', 'Succeeded', 'expired', 'timed_out', 'nsfw', 'foo_new'].map((status) => ({
    name: `D3 ${status} is unknown`,
    answer: prediction({ status, output: URL_1 }),
    expect: running(status, { unknownStatus: true }),
  })),
  {
    name: 'succeeded: the link lives an hour from the end on',
    answer: prediction({
      status: 'succeeded',
      output: URL_1,
      completed_at: COMPLETED_AT,
      metrics: { predict_time: 5.247161016, image_count: 1 },
    }),
    expect: {
      ...succeeded([URL_1], COMPLETED_MS + HOUR_MS),
      cost: { amount: '5.247161016', unit: 'seconds', final: false },
    },
  },
  ...(
    [
      ['a list', [URL_1, URL_2], [URL_1, URL_2]],
      ['an object', { video: URL_1, seed: 7, ok: true }, [URL_1]],
      ['nested', { a: [{ b: { file: URL_2 } }], text: 'x' }, [URL_2]],
      ['each once', [URL_1, { again: URL_1 }], [URL_1]],
      ['beside a foreign URL', { source: 'https://example.com/in.png', out: URL_2 }, [URL_2]],
      ['a file itself (DL-11)', ['data:image/png;base64,AAAA'], ['data:image/png;base64,AAAA']],
      [
        'files itself beside a foreign URL',
        { in: 'https://example.com/in.png', out: 'data:image/png;base64,AAAA' },
        ['data:image/png;base64,AAAA'],
      ],
      ['only a foreign URL', 'https://example.com/out.png', ['https://example.com/out.png']],
    ] as const
  ).map(([name, output, urls]) => ({
    name: `output is ${name}`,
    answer: prediction({ status: 'succeeded', output }),
    expect: succeeded(urls),
  })),
  {
    name: 'a file that our clock calls over, and that is listed still: the download decides',
    answer: prediction({ status: 'succeeded', output: URL_1, completed_at: '2026-11-29T11:01:00.383Z' }),
    expect: { ...succeeded([URL_1]), linkExpiresAt: null },
  },
  {
    name: 'data removed after an hour is gone',
    answer: prediction({ status: 'succeeded', output: null, data_removed: true, completed_at: COMPLETED_AT }),
    expect: succeeded([], COMPLETED_MS + HOUR_MS),
  },
  ...[null, {}, [], '', 'a text', 7, 'data:image/png,AAAA', 'file:///etc/passwd', 'https://u@h.example/'].map(
    (output) => ({
      name: `output ${JSON.stringify(output)} is none`,
      answer: prediction({ status: 'succeeded', output }),
      expect: noOutput,
    }),
  ),
  {
    name: 'failed with free text',
    answer: prediction({ status: 'failed', error: 'CUDA out of memory; secret text' }),
    expect: failed('provider_failed', 'unspecified'),
  },
  {
    name: 'failed with a code at its end',
    answer: prediction({ status: 'failed', error: 'Something broke. (E001)' }),
    expect: failed('provider_failed', 'E001'),
  },
  {
    name: 'failed with an object',
    answer: prediction({ status: 'failed', error: { a: 1 }, metrics: { predict_time: 3 } }),
    expect: {
      ...failed('provider_failed', 'unspecified'),
      cost: { amount: '3', unit: 'seconds', final: false },
    },
  },
  {
    name: 'failed by moderation with a code',
    answer: prediction({ status: 'failed', error: 'The input or output was flagged as sensitive. (E005)' }),
    expect: failed('content_rejected', 'E005'),
  },
  {
    name: 'failed by moderation of an image',
    answer: prediction({ status: 'failed', error: 'NSFW content detected. Try a different prompt.' }),
    expect: failed('content_rejected', 'unspecified'),
  },
  {
    name: 'metrics that are none',
    answer: prediction({ status: 'failed', metrics: { predict_time: -1 } }),
    expect: failed('provider_failed', 'unspecified'),
  },
  { name: 'not found', answer: error(404), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another job',
    answer: { status: 200, body: '{"id":"other","status":"succeeded"}' },
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: prediction({}), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: { status },
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '429',
    answer: error(429, { detail: 'Your rate limit resets in ~3s.' }),
    expect: unavailable('http_429', false, 3_000),
  },
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];

const CANCELLED = { kind: 'cancelled', status: 'canceled', cost: null } as const;
/** The cancel is refused with this status, the look after it shows that prediction. */
const refusedThen =
  (status: number, seen: object): Row<CancelAnswer>['answer'] =>
  (request) =>
    request.method === 'POST' ? error(status) : prediction(seen);

export const cancelRows: readonly Row<CancelAnswer>[] = [
  {
    name: 'canceled',
    answer: prediction({ status: 'canceled' }),
    expect: { kind: 'answered', observation: CANCELLED },
  },
  {
    name: 'E1 finished before',
    answer: prediction({ status: 'succeeded', output: URL_1 }),
    expect: { kind: 'answered', observation: succeeded([URL_1]) },
  },
  {
    name: 'still running',
    answer: prediction({ status: 'processing' }, 202),
    expect: { kind: 'answered', observation: running('processing') },
  },
  ...[400, 409, 422].map((status) => ({
    name: `E1 refused with ${status}, since it has ended`,
    answer: refusedThen(status, { status: 'succeeded', output: URL_1 }),
    expect: { kind: 'answered', observation: succeeded([URL_1]) } as const,
  })),
  {
    name: 'refused though it runs',
    answer: refusedThen(422, { status: 'processing' }),
    expect: { kind: 'unavailable', reason: 'http_422' },
  },
  {
    name: 'no body',
    answer: { status: 204 },
    expect: { kind: 'unavailable', reason: 'unreadable_answer' },
  },
  {
    name: 'not found says nothing of the job',
    answer: error(404),
    expect: { kind: 'unavailable', reason: 'http_404' },
  },
];
