import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

/** An id and a time as Kling's own pages show them. */
export const JOB = '893605946402811985';
const UPDATED = 1_781_080_794_151;
const DAY_MS = 86_400_000;
/** Within the 30 days that its outputs live. */
export const NOW_MS = UPDATED + DAY_MS;
const URL_1 = 'https://v1-fdl.kechuangai.com/ksc2/a.mp4?cacheKey=x';
const EXPIRES = new Date(UPDATED + 30 * DAY_MS);

const envelope = (code: number, data?: unknown, status = 200, headers = {}) => ({
  status,
  headers,
  body: JSON.stringify({ code, message: 'secret text of the provider', request_id: 'r', data }),
});
const saying = (code: number, message: string, status: number) => ({
  status,
  body: JSON.stringify({ code, message, request_id: 'r' }),
});
const task = (members: object) => envelope(0, [{ id: JOB, update_time: UPDATED, ...members }]);
const video = (url: unknown = URL_1) => ({ type: 'video', id: '1', url, duration: '5.1' });
const unknown = (name: string, answer: Row<SubmitAnswer>['answer'], reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const refused = (
  code: number,
  status: number,
  means: Extract<SubmitAnswer, { kind: 'refused' }>['code'],
): Row<SubmitAnswer> => ({
  name: `code ${code} under HTTP ${status}`,
  answer: envelope(code, undefined, status),
  expect: { kind: 'refused', code: means, reason: `http_${status}:${code}` },
});
const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const succeeded = (over: Partial<Extract<Observation, { kind: 'succeeded' }>> = {}) =>
  ({
    kind: 'succeeded',
    status: 'succeeded',
    outputs: [{ url: URL_1 }],
    linkExpiresAt: EXPIRES,
    cost: null,
    ...over,
  }) as const;
const noOutput = {
  kind: 'failed',
  status: 'succeeded',
  code: 'no_output',
  reason: 'succeeded_without_output',
  cost: null,
} as const;
const failed = (rejected: boolean) =>
  ({
    kind: 'failed',
    status: 'failed',
    code: rejected ? 'content_rejected' : 'provider_failed',
    reason: rejected ? 'content_message' : 'unspecified',
    cost: null,
  }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const charge = (amount: unknown, members: object = { charge_type: 'unit', package_type: 'video' }) => ({
  amount,
  ...members,
});
const usd = { charge_type: 'cash', cash_type: 'balance', currency: 'USD', list_price: '9' };
const withBilling = (
  name: string,
  billing: unknown,
  cost: Extract<Observation, { kind: 'succeeded' }>['cost'],
): Row<Observation> => ({
  name: `billing: ${name}`,
  answer: task({ status: 'succeeded', outputs: [video()], billing }),
  expect: succeeded({ cost }),
});

export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: 'code 0 with an id',
    answer: envelope(0, { id: JOB, status: 'submitted', create_time: UPDATED, external_id: 'key-1' }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'submitted' },
  },
  unknown('code 0 without id', envelope(0, { status: 'submitted' }), 'http_200:unreadable'),
  unknown('code 0 without data', envelope(0), 'http_200:unreadable'),
  unknown('code 0 with an id that is a number', envelope(0, { id: 893 }), 'http_200:unreadable'),
  unknown('code 0 with two ids in one', envelope(0, { id: '1,2' }), 'http_200:unreadable'),
  unknown('code 0 under HTTP 500', envelope(0, { id: JOB }, 500), 'http_500:unreadable'),
  unknown('200 without body', { status: 200 }, 'http_200'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200'),
  unknown('200 with a code that is text', { status: 200, body: '{"code":"0"}' }, 'http_200'),
  unknown('unlisted code', envelope(1999, undefined, 400), 'http_400:1999'),
  unknown('unlisted code under HTTP 200', envelope(7), 'http_200:7'),
  ...[
    [500, 5000],
    [503, 5001],
    [504, 5002],
    [200, 5000],
    [429, 5000],
    [401, 5002],
  ].map(([status = 0, code = 0]) =>
    unknown(
      `server code ${code} under HTTP ${status}`,
      envelope(code, undefined, status),
      `http_${status}:${code}`,
    ),
  ),
  unknown('502 of a gateway', { status: 502, body: '<html>' }, 'http_502'),
  unknown('400 of a gateway', { status: 400, body: '<html>' }, 'http_400'),
  ...[
    'external_task_id must be unique within a single user account',
    'Duplicate external task id',
    'task already exists',
    '自定义任务ID重复',
  ].map((message) => unknown(`duplicate: ${message}`, saying(1201, message, 400), 'http_400:1201:duplicate')),
  refused(1201, 400, 'invalid_input'),
  refused(1200, 200, 'invalid_input'),
  refused(1300, 400, 'content_rejected'),
  refused(1301, 400, 'content_rejected'),
  refused(1301, 200, 'content_rejected'),
  ...[1000, 1001, 1002, 1003, 1004].map((code) => refused(code, 401, 'provider_rejected')),
  refused(1103, 403, 'provider_rejected'),
  refused(1202, 404, 'provider_rejected'),
  refused(1203, 404, 'provider_rejected'),
  // A 429 that no wait mends: money, and the list of allowed addresses.
  ...[1100, 1101, 1102].map((code) => refused(code, 429, 'provider_unavailable')),
  refused(1304, 429, 'provider_rejected'),
  ...[401, 403, 404, 405, 413, 415].map((status): Row<SubmitAnswer> => ({
    name: `${status} of a gateway`,
    answer: { status },
    expect: { kind: 'refused', code: 'provider_rejected', reason: `http_${status}` },
  })),
  ...[1302, 1303].map((code): Row<SubmitAnswer> => ({
    name: `code ${code}`,
    answer: envelope(code, undefined, 429, { 'retry-after': '7' }),
    expect: { kind: 'capacity', reason: `http_429:${code}`, retryAfterMs: 7_000 },
  })),
  {
    name: 'too many at once, under HTTP 200 and without a time',
    answer: envelope(1303),
    expect: { kind: 'capacity', reason: 'http_200:1303', retryAfterMs: null },
  },
  {
    name: '429 of a gateway',
    answer: { status: 429, headers: { 'retry-after': '2' } },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: 2_000 },
  },
];

export const observeRows: readonly Row<Observation>[] = [
  { name: 'submitted', answer: task({ status: 'submitted' }), expect: running('submitted') },
  { name: 'processing', answer: task({ status: 'processing' }), expect: running('processing') },
  ...['succeed', 'Succeeded', 'FAILED', 'canceled'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ status, outputs: [video()] }),
    expect: running(status, true),
  })),
  { name: 'succeeded', answer: task({ status: 'succeeded', outputs: [video()] }), expect: succeeded() },
  {
    name: 'no update time, no expiry',
    answer: envelope(0, [{ id: JOB, status: 'succeeded', outputs: [video()] }]),
    expect: succeeded({ linkExpiresAt: null }),
  },
  {
    name: 'an update time in text',
    answer: task({ status: 'succeeded', outputs: [video()], update_time: String(UPDATED) }),
    expect: succeeded(),
  },
  {
    name: 'only the videos, each once',
    answer: task({
      status: 'succeeded',
      outputs: [
        { type: 'image', url: 'https://p1-fdl.klingai.com/cover.png' },
        video(),
        video(),
        video(`${URL_1}&2`),
      ],
    }),
    expect: succeeded({ outputs: [{ url: URL_1 }, { url: `${URL_1}&2` }] }),
  },
  ...[
    undefined,
    null,
    [],
    [7],
    [video(null)],
    [video('file:///etc/passwd')],
    [video('https://u:p@h.example/')],
  ].map((outputs) => ({
    name: `outputs ${JSON.stringify(outputs)} are none`,
    answer: task({ status: 'succeeded', outputs }),
    expect: noOutput,
  })),
  {
    name: 'a video that our clock calls over, and that is listed still: the download decides',
    answer: task({ status: 'succeeded', outputs: [video()], update_time: NOW_MS - 30 * DAY_MS }),
    expect: succeeded({ linkExpiresAt: null }),
  },
  {
    name: 'no outputs past 30 days are gone',
    answer: task({ status: 'succeeded', outputs: [], update_time: NOW_MS - 30 * DAY_MS }),
    expect: succeeded({ outputs: [], linkExpiresAt: new Date(NOW_MS) }),
  },
  withBilling('units', [charge('3.00')], { amount: '3', unit: 'units', final: true }),
  withBilling('money', [charge('0.42', usd)], { amount: '0.42', unit: 'USD', final: true }),
  withBilling('a number', [charge(2.5)], { amount: '2.5', unit: 'units', final: true }),
  withBilling('zero', [charge('0')], { amount: '0', unit: 'units', final: true }),
  withBilling('two packages of one kind, exact', [charge('0.1'), charge('0.2')], {
    amount: '0.3',
    unit: 'units',
    final: true,
  }),
  withBilling('of two units', [charge('1'), charge('0.42', usd)], null),
  withBilling('none', [], null),
  withBilling('not a list', { amount: '1' }, null),
  withBilling('no plain decimal', [charge('1e3')], null),
  withBilling('below zero', [charge('-1')], null),
  withBilling('an odd account', [charge('1', { charge_type: 'gift' })], null),
  withBilling('an odd currency', [charge('1', { charge_type: 'cash', currency: 'U S D' })], null),
  ...['Failure to pass the risk control system', 'Content policy violation', '触发内容风控'].map(
    (message) => ({
      name: `failed by moderation: ${message}`,
      answer: task({ status: 'failed', message, outputs: [], billing: [] }),
      expect: failed(true),
    }),
  ),
  {
    name: 'failed',
    answer: task({ status: 'failed', message: 'Generation failed, please retry' }),
    expect: failed(false),
  },
  { name: 'failed without a message', answer: task({ status: 'failed' }), expect: failed(false) },
  {
    name: 'failed, and charged all the same',
    answer: task({ status: 'failed', billing: [charge('3')] }),
    expect: { ...failed(false), cost: { amount: '3', unit: 'units', final: true } },
  },
  { name: 'an empty list', answer: envelope(0, []), expect: { kind: 'not_found' } },
  { name: 'code 1203', answer: envelope(1203, undefined, 404), expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another task',
    answer: envelope(0, [{ id: '893605946402811986', status: 'succeeded', outputs: [video()] }]),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: task({}), expect: unavailable('unreadable_answer') },
  { name: 'no data', answer: envelope(0), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  ...[1000, 1004, 1101, 1103, 1304].map((code) => ({
    name: `code ${code}`,
    answer: envelope(code, undefined, 401),
    expect: unavailable(`http_401:${code}`, true),
  })),
  { name: 'an error under HTTP 200', answer: envelope(5000), expect: unavailable('http_200:5000') },
  { name: '401 of a gateway', answer: { status: 401 }, expect: unavailable('http_401', true) },
  {
    name: 'too many requests',
    answer: envelope(1302, undefined, 429, { 'retry-after': '3' }),
    expect: unavailable('http_429:1302', false, 3_000),
  },
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  { name: 'is not offered', answer: task({ status: 'processing' }), expect: { kind: 'unsupported' } },
];
