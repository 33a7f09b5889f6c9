import type { Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer, SeenRequest } from './scripted-server.ts';

export const JOB = '80e732af-660e-45cd-bd63-580e4f2a94cc';
export const APP = 'fal-ai/veo3';
export const URL_1 = 'https://v3.fal.media/files/a/out.mp4';
const URL_2 = 'https://v3.fal.media/files/b/1.png';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const HOUR_MS = 3_600_000;

export const json = (status: number, body: unknown): ScriptedAnswer => ({
  status,
  body: JSON.stringify(body),
});
/** A model's own error. */
const typed = (status: number, type: string) =>
  json(status, { detail: [{ loc: ['body', 'prompt'], msg: 'secret text of the provider', type }] });
/** fal's own error. */
export const plain = (status: number, errorType?: string) =>
  json(status, { detail: 'secret text of the provider', error_type: errorType });

const refused = (name: string, answer: ScriptedAnswer, code: string, reason: string) =>
  ({ name, answer, expect: { kind: 'refused', code, reason } }) as Row<SubmitAnswer>;
const unknown = (name: string, answer: ScriptedAnswer, reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
export const succeeded = (outputs: readonly string[], linkMs: number | null = NOW_MS + HOUR_MS) =>
  ({
    kind: 'succeeded',
    status: 'COMPLETED',
    outputs: outputs.map((url) => ({ url })),
    linkExpiresAt: linkMs === null ? null : new Date(linkMs),
    cost: null,
  }) as const;
const failed = (code: Extract<Observation, { kind: 'failed' }>['code'], reason: string) =>
  ({ kind: 'failed', status: 'COMPLETED', code, reason, cost: null }) as const;
export const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;

const requestUrl = (baseUrl: string) => `${baseUrl}/${APP}/requests/${JOB}`;
const accepted = (
  name: string,
  members: (baseUrl: string) => object,
  kept: readonly string[],
): Row<SubmitAnswer> => ({
  name,
  answer: (_request, baseUrl) => json(200, { request_id: JOB, status: 'IN_QUEUE', ...members(baseUrl) }),
  expect: (baseUrl) => {
    const all = {
      statusUrl: `${requestUrl(baseUrl)}/status`,
      responseUrl: requestUrl(baseUrl),
      cancelUrl: `${requestUrl(baseUrl)}/cancel`,
    };
    const urls = Object.fromEntries(Object.entries(all).filter(([url]) => kept.includes(url)));
    return { kind: 'accepted', handle: { jobId: JOB, app: APP, ...urls }, status: 'IN_QUEUE' };
  },
});
const allUrls = (base: string) => ({
  status_url: `${base}/${APP}/requests/${JOB}/status`,
  response_url: `${base}/${APP}/requests/${JOB}`,
  cancel_url: `${base}/${APP}/requests/${JOB}/cancel`,
});

export const submitRows: readonly Row<SubmitAnswer>[] = [
  accepted('all URLs on its own host', allUrls, ['statusUrl', 'responseUrl', 'cancelUrl']),
  accepted('no URLs', () => ({ gateway_request_id: JOB }), []),
  accepted('SSRF URLs on another host', () => allUrls('https://evil.example'), []),
  accepted('SSRF the same host on another port', (base) => allUrls(`${base}0`), []),
  accepted('SSRF a user name before the host', (base) => allUrls(base.replace('//', '//u@')), []),
  accepted(
    'URLs about another request',
    (base) => ({ ...allUrls(base), cancel_url: `${base}/${APP}/requests/other/cancel` }),
    ['statusUrl', 'responseUrl'],
  ),
  accepted('URLs that are none', () => ({ status_url: 'x', response_url: 7, cancel_url: null }), []),
  unknown('200 without id', json(200, { status: 'IN_QUEUE' }), 'http_200:unreadable'),
  unknown('200 with an id that is no path', json(200, { request_id: '../x' }), 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('an error inside 200', plain(200, 'internal_error'), 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('409', plain(409), 'http_409:error'),
  unknown(
    '400 of a service behind it',
    typed(400, 'downstream_service_error'),
    'http_400:downstream_service_error',
  ),
  unknown('500', plain(500, 'internal_error'), 'http_500:internal_error'),
  unknown('503', plain(503, 'runner_scheduling_failure'), 'http_503:runner_scheduling_failure'),
  unknown('504', plain(504, 'request_timeout'), 'http_504:request_timeout'),
  unknown('an unsafe type is not kept', typed(500, 'x y\n'), 'http_500:unspecified'),
  refused('validation', typed(422, 'missing'), 'invalid_input', 'http_422:missing'),
  refused('validation as text', plain(422), 'invalid_input', 'http_422:error'),
  refused(
    'content',
    typed(422, 'content_policy_violation'),
    'content_rejected',
    'http_422:content_policy_violation',
  ),
  refused('a malformed request', plain(400, 'bad_request'), 'provider_rejected', 'http_400:bad_request'),
  refused('401', plain(401), 'provider_rejected', 'http_401:error'),
  refused('403', { status: 403 }, 'provider_rejected', 'http_403'),
  refused('402', { status: 402 }, 'provider_unavailable', 'http_402'),
  ...[404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status }, 'provider_rejected', `http_${status}`),
  ),
  {
    name: '429',
    answer: { ...plain(429), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:error', retryAfterMs: 7_000 },
  },
];

const isStatus = ({ url }: SeenRequest) => url.endsWith('/status');
/** A request that is COMPLETED, whose result is this answer. */
export const completed =
  (result: ScriptedAnswer, members: object = {}) =>
  (request: SeenRequest): ScriptedAnswer =>
    isStatus(request) ? json(200, { status: 'COMPLETED', request_id: JOB, ...members }) : result;
export const state = (status: number, members: object) => json(status, { request_id: JOB, ...members });
const result = (name: string, answer: ScriptedAnswer, expected: Observation): Row<Observation> => ({
  name: `result: ${name}`,
  answer: completed(answer),
  expect: expected,
});
const large = { video: { url: URL_1 }, timings: 'x'.repeat(10_000) };

export const observeRows: readonly Row<Observation>[] = [
  {
    name: 'IN_QUEUE',
    answer: state(202, { status: 'IN_QUEUE', queue_position: 3 }),
    expect: running('IN_QUEUE'),
  },
  {
    name: 'IN_PROGRESS',
    answer: state(202, { status: 'IN_PROGRESS', logs: null }),
    expect: running('IN_PROGRESS'),
  },
  ...['FAILED', 'completed', 'CANCELED'].map((status) => ({
    name: `D5 ${status} is unknown`,
    answer: state(200, { status }),
    expect: running(status, true),
  })),
  ...(
    [
      ['a video', { video: { url: URL_1, content_type: 'video/mp4' }, seed: 7 }, [URL_1]],
      [
        'images, each once',
        { images: [{ url: URL_2 }, { url: `${URL_2}?2` }, { url: URL_2 }] },
        [URL_2, `${URL_2}?2`],
      ],
      ['a sound', { audio: { url: URL_1 } }, [URL_1]],
      [
        'with sync_mode a file itself (DL-11)',
        { images: [{ url: 'data:image/png;base64,AAAA' }] },
        ['data:image/png;base64,AAAA'],
      ],
      ['a sound by its address', { audio_url: URL_1, duration_ms: 4 }, [URL_1]],
    ] as const
  ).map(([name, body, urls]) => result(name, json(200, body), succeeded(urls))),
  result('from 10 kB on it is kept for six minutes', json(200, large), succeeded([URL_1], NOW_MS + 360_000)),
  ...[{}, [], 'a text', { video: null }, { images: [] }, { video: { url: 'file:///etc/passwd' } }, null].map(
    (body) =>
      result(
        `${JSON.stringify(body)} is none`,
        json(200, body),
        failed('no_output', 'succeeded_without_output'),
      ),
  ),
  result(
    'a blackened image is not delivered',
    json(200, { images: [{ url: URL_2 }, { url: URL_1 }], has_nsfw_concepts: [true, false] }),
    succeeded([URL_1]),
  ),
  result(
    'only blackened images',
    json(200, { images: [{ url: URL_2 }], has_nsfw_concepts: [true] }),
    failed('content_rejected', 'nsfw_concepts'),
  ),
  result('unreadable', { status: 200, body: '<html>' }, unavailable('unreadable_answer')),
  result('D2 a 422 for bad input', typed(422, 'missing'), failed('invalid_input', 'missing')),
  result('D2 a 422 with text', plain(422), failed('invalid_input', 'http_422')),
  result(
    'D2 rejected content',
    typed(422, 'content_policy_violation'),
    failed('content_rejected', 'content_policy_violation'),
  ),
  result('no media made', typed(422, 'no_media_generated'), failed('no_output', 'no_media_generated')),
  result('400 of the model', typed(400, 'image_load_error'), failed('invalid_input', 'image_load_error')),
  result(
    '400 of a service behind the model',
    typed(400, 'downstream_service_error'),
    failed('provider_failed', 'downstream_service_error'),
  ),
  result(
    '500 of the model',
    typed(500, 'internal_server_error'),
    failed('provider_failed', 'internal_server_error'),
  ),
  result(
    'a refusal of the model, whatever its status',
    typed(403, 'content_policy_violation'),
    failed('content_rejected', 'content_policy_violation'),
  ),
  result('a type that is not safe', typed(500, 'x y'), failed('provider_failed', 'unspecified')),
  result(
    '503 of the runner',
    plain(503, 'runner_disconnected'),
    failed('provider_failed', 'runner_disconnected'),
  ),
  result('400 as text', plain(400), failed('provider_failed', 'http_400')),
  result('ended by our cancel', plain(499, 'client_cancelled'), { kind: 'cancelled', status: 'COMPLETED' }),
  result('not there yet', json(400, { detail: 'Request is still in progress' }), running('IN_PROGRESS')),
  result('removed', plain(404), succeeded([], null)),
  result('404 that is a page', { status: 404, body: '<html>' }, unavailable('http_404')),
  result('D2 500 of a gateway', { status: 500, body: '<html>' }, unavailable('http_500')),
  result('D2 500 without a type', plain(500), unavailable('http_500')),
  result('401', plain(401), unavailable('http_401', true)),
  result('403 as a page', { status: 403, body: '<html>' }, unavailable('http_403', true)),
  result('429', plain(429), unavailable('http_429')),
  {
    name: 'COMPLETED with an error is no success',
    answer: completed(json(200, { video: { url: URL_1 } }), {
      error: 'text',
      error_type: 'runner_server_error',
    }),
    expect: failed('provider_failed', 'runner_server_error'),
  },
  {
    name: 'COMPLETED with an error, whose result tells more',
    answer: completed(typed(422, 'content_policy_violation'), { error: 'text' }),
    expect: failed('content_rejected', 'content_policy_violation'),
  },
  {
    name: 'COMPLETED with an error alone, the result out of reach',
    answer: completed({ status: 500, body: '<html>' }, { error: 'text' }),
    expect: failed('provider_failed', 'http_500'),
  },
  {
    name: 'COMPLETED after our cancel',
    answer: completed(plain(404), { error: 'text', error_type: 'client_cancelled' }),
    expect: { kind: 'cancelled', status: 'COMPLETED' },
  },
  { name: 'not found', answer: plain(404), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another request',
    answer: json(200, { status: 'IN_QUEUE', request_id: 'other' }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: state(200, {}), expect: unavailable('unreadable_answer') },
  {
    name: 'a status in an error',
    answer: json(500, { status: 'COMPLETED' }),
    expect: unavailable('http_500'),
  },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: { status },
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];
