import type { Observation, SubmitAnswer } from '../../../src/domain/provider.ts';
import type { Row } from '../fixture.ts';
import type { ScriptedAnswer } from '../scripted-server.ts';

export const JOB = 'job_19';
const URL_1 = 'https://api.tidewater.example/files/a.mp4';
const EXPIRES = 1_764_000_000;
/** A minute before the links above are over. */
export const NOW_MS = (EXPIRES - 60) * 1_000;

const json = (status: number, body: unknown, headers = {}): ScriptedAnswer => ({
  status,
  headers,
  body: JSON.stringify(body),
});
const error = (status: number, code: string | null, headers = {}) =>
  json(status, { error: { code, message: 'secret text of the provider' } }, headers);
const job = (members: object) => json(200, { id: JOB, ...members });
const unknown = (name: string, answer: ScriptedAnswer, reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const refused = (
  name: string,
  answer: ScriptedAnswer,
  code: Extract<SubmitAnswer, { kind: 'refused' }>['code'],
  reason: string,
): Row<SubmitAnswer> => ({ name, answer, expect: { kind: 'refused', code, reason } });
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const credits = (amount: string) => ({ amount, unit: 'credits', final: true });
type Cost = ReturnType<typeof credits> | null;
const succeeded = (urls: readonly string[], linkExpiresAt: Date | null = null, cost: Cost = null) =>
  ({
    kind: 'succeeded',
    status: 'succeeded',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt,
    cost,
  }) as const;
const failed = (
  code: Extract<Observation, { kind: 'failed' }>['code'],
  reason: string,
  status = 'failed',
  cost: Cost = null,
) => ({ kind: 'failed', status, code, reason, cost }) as const;
const noOutput = failed('no_output', 'succeeded_without_output', 'succeeded');
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;

// [change] what each documented answer to a submit proves
export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: '201',
    answer: json(201, { id: JOB, status: 'queued' }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'queued' },
  },
  {
    name: '200 without status',
    answer: json(200, { id: JOB }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given' },
  },
  unknown('201 without id', json(201, { status: 'queued' }), 'http_201:unreadable'),
  unknown('201 with an id that is a number', json(201, { id: 19 }), 'http_201:unreadable'),
  unknown('201 with an id that is no path', json(201, { id: '..' }), 'http_201:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 without code', error(400, null), 'http_400'),
  unknown('400 of a gateway', { status: 400, body: '<html>' }, 'http_400'),
  unknown('408', { status: 408 }, 'http_408'),
  unknown('409', error(409, 'conflict'), 'http_409:conflict'),
  unknown('500', error(500, 'internal_error'), 'http_500:internal_error'),
  unknown('503', { status: 503 }, 'http_503'),
  unknown('an unsafe code is not kept', error(500, 'x y\n'), 'http_500:unspecified'),
  refused('validation', error(400, 'invalid_parameter'), 'invalid_input', 'http_400:invalid_parameter'),
  refused('validation 422', error(422, 'too_long'), 'invalid_input', 'http_422:too_long'),
  refused('content', error(400, 'moderated'), 'content_rejected', 'http_400:moderated'),
  refused('402', { status: 402 }, 'provider_unavailable', 'http_402'),
  ...[401, 403, 404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status }, 'provider_rejected', `http_${status}`),
  ),
  {
    name: '429 with a time',
    answer: error(429, 'rate_limit_exceeded', { 'retry-after': '7' }),
    expect: { kind: 'capacity', reason: 'http_429:rate_limit_exceeded', retryAfterMs: 7_000 },
  },
  {
    name: '429 without a time',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];

// [change] what each documented answer to a look says: every status string, in exact case, and every error code
export const observeRows: readonly Row<Observation>[] = [
  { name: 'queued', answer: job({ status: 'queued' }), expect: running('queued') },
  { name: 'running', answer: job({ status: 'running' }), expect: running('running') },
  {
    name: 'cancelled',
    answer: job({ status: 'cancelled', cost: 0 }),
    expect: { kind: 'cancelled', status: 'cancelled', cost: credits('0') },
  },
  ...['canceled', 'Succeeded', 'FAILED', 'expired'].map((status) => ({
    name: `${status} is unknown`,
    answer: job({ status, output: [URL_1] }),
    expect: running(status, true),
  })),
  {
    name: 'succeeded',
    answer: job({ status: 'succeeded', output: [URL_1], expires_at: EXPIRES, cost: 20 }),
    expect: succeeded([URL_1], new Date(EXPIRES * 1_000), credits('20')),
  },
  ...[null, -1, 'free'].map((cost) => ({
    name: `a cost of ${JSON.stringify(cost)} is none`,
    answer: job({ status: 'succeeded', output: [URL_1], cost }),
    expect: succeeded([URL_1]),
  })),
  {
    name: 'several outputs, each once, and an expiry that is no time',
    answer: job({ status: 'succeeded', output: [URL_1, `${URL_1}?2`, URL_1], expires_at: 'soon' }),
    expect: succeeded([URL_1, `${URL_1}?2`]),
  },
  {
    name: 'output null past its expiry is gone',
    answer: job({ status: 'succeeded', output: null, expires_at: EXPIRES - 120 }),
    expect: succeeded([], new Date((EXPIRES - 120) * 1_000)),
  },
  ...[null, [], '', [7], ['file:///etc/passwd'], ['https://u:p@h.example/']].map((output) => ({
    name: `output ${JSON.stringify(output)} is none`,
    answer: job({ status: 'succeeded', output }),
    expect: noOutput,
  })),
  {
    name: 'failed',
    answer: job({ status: 'failed', error: { code: 'gpu_lost' }, cost: 0 }),
    expect: failed('provider_failed', 'gpu_lost', 'failed', credits('0')),
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
    answer: json(200, { id: 'job_20', status: 'succeeded' }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: job({}), expect: unavailable('unreadable_answer') },
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
