import type { CancelAnswer, Observation, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

export const JOB = '17f20503-6c24-4c16-946b-35dbbce2af2f';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const DAY_MS = 86_400_000;
const URL_1 = 'https://dnznrvs05pmza.cloudfront.net/a.mp4?_jwt=x.y.z';
const CREATED = '2026-11-29T11:00:00.000Z';

const json = (status: number, body: unknown, headers = {}): ScriptedAnswer => ({
  status,
  headers,
  body: JSON.stringify(body),
});
const error = (status: number, text: string, issues?: readonly object[], headers = {}) =>
  json(status, { error: text, issues, docUrl: 'https://docs.dev.runwayml.com/api' }, headers);
const task = (members: object) => json(200, { id: JOB, createdAt: CREATED, ...members });
const gone = error(404, 'Task not found.');
const credits = (amount: number, final = true) => ({ amount: String(amount), unit: 'credits', final });
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
const running = (status: string, progress: number | null = null, unknownStatus = false) =>
  ({ kind: 'running', status, progress, unknownStatus }) as const;
const succeeded = (urls: readonly string[] = [URL_1], cost: ReturnType<typeof credits> | null = null) =>
  ({
    kind: 'succeeded',
    status: 'SUCCEEDED',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt: new Date(NOW_MS + DAY_MS),
    cost,
  }) as const;
const noOutput = {
  kind: 'failed',
  status: 'SUCCEEDED',
  code: 'no_output',
  reason: 'succeeded_without_output',
  cost: null,
} as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const failed = (
  failureCode: string | null | undefined,
  code: Extract<Observation, { kind: 'failed' }>['code'],
): Row<Observation> => ({
  name: `failureCode ${failureCode}`,
  answer: task({
    status: 'FAILED',
    failure: 'secret text of the provider',
    failureCode,
    cost: { credits: 0 },
  }),
  expect: { kind: 'failed', status: 'FAILED', code, reason: failureCode ?? 'unspecified', cost: credits(0) },
});

const NO_CREDITS = 'You do not have enough credits to run this task.';
const MODERATED = 'The input was flagged by our content moderation system.';
const INVALID = 'Validation of body failed';
const TOO_BIG = [{ code: 'too_big', maximum: 10, path: ['duration'], message: 'secret' }];

export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: 'an id and its estimated cost',
    answer: json(200, { id: JOB, estimatedCost: { credits: 25 } }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given', cost: credits(25, false) },
  },
  {
    name: 'an id alone, as before estimates were told',
    answer: json(200, { id: JOB }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given', cost: null },
  },
  {
    name: 'an estimate that is none',
    answer: json(201, { id: JOB, estimatedCost: { credits: '25' } }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given', cost: null },
  },
  unknown('no id', json(200, {}), 'http_200:unreadable'),
  unknown('an id that is a path', json(200, { id: '../x' }), 'http_200:unreadable'),
  unknown('an error under 200', error(200, NO_CREDITS), 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 of a gateway', { status: 400, body: '<html>' }, 'http_400'),
  unknown('408', error(408, 'x'), 'http_408:unspecified'),
  unknown('409', error(409, 'x'), 'http_409:unspecified'),
  unknown('500', error(500, 'x'), 'http_500:unspecified'),
  ...[502, 503, 504].map((status) => unknown(`${status} sheds load`, { status }, `http_${status}`)),
  refused('400 with an issue', error(400, INVALID, TOO_BIG), 'invalid_input', 'http_400:too_big'),
  refused('400 without issues', error(400, 'bad ratio'), 'invalid_input', 'http_400:unspecified'),
  refused(
    '400 with an odd issue',
    error(400, INVALID, [{ code: 7 }]),
    'invalid_input',
    'http_400:unspecified',
  ),
  refused('422', error(422, INVALID, TOO_BIG), 'invalid_input', 'http_422:too_big'),
  refused('no credits', error(400, NO_CREDITS), 'provider_unavailable', 'http_400:insufficient_credits'),
  refused('402', { status: 402 }, 'provider_unavailable', 'http_402'),
  refused('moderated', error(400, MODERATED), 'content_rejected', 'http_400:moderated'),
  ...[401, 403, 404, 405, 413, 415].map((status) =>
    refused(`${status}`, { status }, 'provider_rejected', `http_${status}`),
  ),
  refused(
    '401 with a text',
    error(401, 'The API key is not valid.'),
    'provider_rejected',
    'http_401:unspecified',
  ),
  {
    name: '429 with a time',
    answer: error(429, 'Daily limit', undefined, { 'retry-after': '7' }),
    expect: { kind: 'capacity', reason: 'http_429:unspecified', retryAfterMs: 7_000 },
  },
  {
    name: '429 without a time waits for the daily quota',
    answer: { status: 429 },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: 3_600_000 },
  },
];

export const observeRows: readonly Row<Observation>[] = [
  { name: 'PENDING', answer: task({ status: 'PENDING' }), expect: running('PENDING') },
  { name: 'THROTTLED', answer: task({ status: 'THROTTLED' }), expect: running('THROTTLED') },
  {
    name: 'RUNNING',
    answer: task({ status: 'RUNNING', progress: 0.25, estimatedCost: { credits: 25 } }),
    expect: running('RUNNING', 0.25),
  },
  ...[-0.1, 1.5, '0.5', null].map((progress) => ({
    name: `progress ${progress} is none`,
    answer: task({ status: 'RUNNING', progress }),
    expect: running('RUNNING'),
  })),
  ...['running', 'CANCELED', 'COMPLETED', 'EXPIRED'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ status, output: [URL_1] }),
    expect: running(status, null, true),
  })),
  {
    name: 'SUCCEEDED',
    answer: task({ status: 'SUCCEEDED', output: [URL_1], cost: { credits: 25 } }),
    expect: succeeded([URL_1], credits(25)),
  },
  {
    name: 'several outputs, each once',
    answer: task({ status: 'SUCCEEDED', output: [URL_1, `${URL_1}2`, URL_1, 7, 'file:///etc/passwd'] }),
    expect: succeeded([URL_1, `${URL_1}2`]),
  },
  {
    name: 'a cost that is none',
    answer: task({ status: 'SUCCEEDED', output: [URL_1], cost: { credits: -1 } }),
    expect: succeeded(),
  },
  ...[undefined, null, [], '', URL_1, [''], ['https://u:p@h.example/']].map((output) => ({
    name: `output ${JSON.stringify(output)} is none`,
    answer: task({ status: 'SUCCEEDED', output }),
    expect: noOutput,
  })),
  failed('SAFETY.INPUT.TEXT', 'content_rejected'),
  failed('SAFETY.INPUT.IMAGE', 'content_rejected'),
  failed('SAFETY.OUTPUT.VIDEO', 'content_rejected'),
  failed('INPUT_PREPROCESSING.SAFETY.TEXT', 'content_rejected'),
  failed('ASSET.INVALID', 'invalid_input'),
  failed('INPUT_PREPROCESSING.INTERNAL', 'provider_failed'),
  failed('INTERNAL.BAD_OUTPUT.CODE01', 'provider_failed'),
  failed('THIRD_PARTY.UNAVAILABLE', 'provider_failed'),
  failed('INTERNAL', 'provider_failed'),
  failed('SOMETHING.NEW', 'provider_failed'),
  failed('NOT.SAFETY.INPUT', 'provider_failed'),
  failed(null, 'provider_failed'),
  failed(undefined, 'provider_failed'),
  {
    name: 'moderated input stays charged',
    answer: task({ status: 'FAILED', failureCode: 'SAFETY.INPUT.TEXT', cost: { credits: 25 } }),
    expect: {
      kind: 'failed',
      status: 'FAILED',
      code: 'content_rejected',
      reason: 'SAFETY.INPUT.TEXT',
      cost: credits(25),
    },
  },
  {
    name: 'CANCELLED',
    answer: task({ status: 'CANCELLED', cost: { credits: 3 } }),
    expect: { kind: 'cancelled', status: 'CANCELLED', cost: credits(3) },
  },
  { name: 'not found', answer: gone, expect: { kind: 'not_found' } },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'another task',
    answer: json(200, { id: 'other', status: 'SUCCEEDED', output: [URL_1] }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: task({}), expect: unavailable('unreadable_answer') },
  { name: 'an error under 200', answer: error(200, 'x'), expect: unavailable('unreadable_answer') },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: error(status, 'x'),
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '429',
    answer: error(429, 'x', undefined, { 'retry-after': '3' }),
    expect: unavailable('http_429', false, 3_000),
  },
  { name: '503', answer: { status: 503 }, expect: unavailable('http_503') },
];

/** Look, DELETE, look again: each answer in its turn, the last one for ever. */
function inTurn(...answers: readonly ScriptedAnswer[]): () => ScriptedAnswer {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? { status: 500 };
}
const open = task({ status: 'RUNNING', progress: 0.5 });
const deleted: ScriptedAnswer = { status: 204 };
const answered = (observation: Observation): CancelAnswer => ({ kind: 'answered', observation });
const row = (
  name: string,
  expect: CancelAnswer,
  ...answers: readonly ScriptedAnswer[]
): Row<CancelAnswer> => ({
  name,
  answer: inTurn(...answers),
  expect,
});

export const cancelRows: readonly Row<CancelAnswer>[] = [
  row('deleted', answered({ kind: 'not_found' }), open, deleted, gone),
  row(
    'deleted while it waited',
    answered({ kind: 'not_found' }),
    task({ status: 'THROTTLED' }),
    deleted,
    gone,
  ),
  row(
    'cancelled, with what it cost',
    answered({ kind: 'cancelled', status: 'CANCELLED', cost: credits(3) }),
    open,
    deleted,
    task({ status: 'CANCELLED', cost: { credits: 3 } }),
  ),
  row('taken, and not stopped yet', answered(running('RUNNING', 0.5)), open, deleted, open),
  row('taken, and not to be seen now', answered(running('RUNNING', 0.5)), open, deleted, { status: 503 }),
  row(
    'finished just before the DELETE, which spared it',
    answered(succeeded()),
    open,
    deleted,
    task({ status: 'SUCCEEDED', output: [URL_1] }),
  ),
  row('finished before', answered(succeeded()), task({ status: 'SUCCEEDED', output: [URL_1] })),
  row(
    'failed before',
    answered({ kind: 'failed', status: 'FAILED', code: 'provider_failed', reason: 'INTERNAL', cost: null }),
    task({ status: 'FAILED', failureCode: 'INTERNAL' }),
  ),
  row(
    'cancelled before',
    answered({ kind: 'cancelled', status: 'CANCELLED', cost: null }),
    task({ status: 'CANCELLED' }),
  ),
  row('gone without us says nothing', { kind: 'unavailable', reason: 'not_found' }, gone),
  row(
    'a status that may be an end',
    { kind: 'unavailable', reason: 'unknown_status' },
    task({ status: 'DONE' }),
  ),
  row('not to be seen', { kind: 'unavailable', reason: 'http_503' }, { status: 503 }),
  row('refused', { kind: 'unavailable', reason: 'http_401' }, open, error(401, 'x'), open),
  row('503, and still running', { kind: 'unavailable', reason: 'http_503' }, open, { status: 503 }, open),
  row('503, but it was done', answered({ kind: 'not_found' }), open, { status: 503 }, gone),
  row('404, for it was done before', answered({ kind: 'not_found' }), open, gone, gone),
];
