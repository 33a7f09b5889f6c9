import type { CancelAnswer, Observation, ProviderCost } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import { base, error, JOB, NOW_MS, ok, task } from './minimax-scripted.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

const URL_1 = 'https://video-product.cdn.minimax.io/inference_output/rollout/2026-07-27/6c/output.mp4';
const SECONDS = { amount: '5', unit: 'seconds', final: true } as const;

const usage = { total_seconds: 5, input_seconds: 0, output_seconds: 5, input_image_count: 0 };
const success = { status: 'succeeded', content: { url: URL_1 }, usage };

const running = (status: string, unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const succeeded = (over: Partial<Extract<Observation, { kind: 'succeeded' }>> = {}) =>
  ({
    kind: 'succeeded',
    status: 'succeeded',
    outputs: [{ url: URL_1 }],
    linkExpiresAt: new Date(NOW_MS + 3_600_000),
    cost: SECONDS,
    ...over,
  }) as const;
const failed = (code: Extract<Observation, { kind: 'failed' }>['code'], reason: string, status = 'failed') =>
  ({ kind: 'failed', status, code, reason, cost: null }) as const;
/** Only a queued task can be cancelled, and that is unbilled: an estimate must not stay open. */
const cancelled = { kind: 'cancelled', status: 'cancelled', cost: { ...SECONDS, amount: '0' } } as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const withUsage = (name: string, told: unknown, cost: ProviderCost | null): Row<Observation> => ({
  name: `usage: ${name}`,
  answer: task({ ...success, usage: told }),
  expect: succeeded({ cost }),
});
const noTask = (text: string) => error(400, 'bad_request_error', `invalid params, ${text} (2013)`);

export const observeRows: readonly Row<Observation>[] = [
  { name: 'queued', answer: task({ status: 'queued' }), expect: running('queued') },
  { name: 'running', answer: task({ status: 'running' }), expect: running('running') },
  ...['Success', 'success', 'Succeeded', 'processing', 'Fail', 'canceled', 'Expired'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ ...success, status }),
    expect: running(status, true),
  })),
  { name: 'a status with spaces', answer: task({ status: 'a b' }), expect: running('unspecified', true) },
  { name: 'succeeded', answer: task(success), expect: succeeded() },
  ...[
    undefined,
    null,
    {},
    { url: '' },
    { url: null },
    { url: 7 },
    { prompt: 'of another kind of task' },
    { url: 'file:///etc/passwd' },
    { url: 'https://u:p@h.example/' },
    [URL_1],
  ].map((content) => ({
    name: `content ${JSON.stringify(content)} is no output`,
    answer: task({ ...success, content }),
    expect: { ...failed('no_output', 'succeeded_without_output', 'succeeded'), cost: SECONDS },
  })),
  withUsage('zero', { total_seconds: 0 }, { ...SECONDS, amount: '0' }),
  withUsage('input and output', { total_seconds: 5, input_seconds: 2, output_seconds: 3 }, SECONDS),
  withUsage('none', undefined, null),
  withUsage('empty', {}, null),
  withUsage('text', { total_seconds: '5' }, null),
  withUsage('below zero', { total_seconds: -5 }, null),
  withUsage('not an object', 5, null),
  // As the query page shows it.
  {
    name: 'failed by moderation of the input',
    answer: task({
      status: 'failed',
      error: { code: '1026', message: 'video description contains sensitive content' },
      usage: {},
    }),
    expect: failed('content_rejected', '1026'),
  },
  {
    name: 'failed by moderation of the output, a code that is a number',
    answer: task({ status: 'failed', error: { code: 1027, message: 'x' } }),
    expect: failed('content_rejected', '1027'),
  },
  {
    name: 'failed for its parameters',
    answer: task({ status: 'failed', error: { code: '2013', message: 'x' } }),
    expect: failed('invalid_input', '2013'),
  },
  {
    name: 'failed for another reason',
    answer: task({ status: 'failed', error: { code: '1000', message: 'unknown error' } }),
    expect: failed('provider_failed', '1000'),
  },
  ...[undefined, null, {}, { code: null }, { code: {} }, 'x', { code: 'a b' }].map((told) => ({
    name: `failed with error ${JSON.stringify(told)}`,
    answer: task({ status: 'failed', error: told }),
    expect: failed('provider_failed', 'unspecified'),
  })),
  {
    name: 'failed, and metered all the same',
    answer: task({ status: 'failed', usage }),
    expect: { ...failed('provider_failed', 'unspecified'), cost: SECONDS },
  },
  {
    name: 'expired has failed',
    answer: task({ status: 'expired' }),
    expect: failed('provider_failed', 'expired', 'expired'),
  },
  { name: 'cancelled', answer: task({ status: 'cancelled' }), expect: cancelled },
  {
    name: 'cancelled, with a usage that tells nothing',
    answer: task({ status: 'cancelled', usage: {} }),
    expect: cancelled,
  },
  {
    name: 'cancelled, and metered all the same',
    answer: task({ status: 'cancelled', usage }),
    expect: { ...cancelled, cost: SECONDS },
  },
  ...['invalid task_id', 'task not found', 'task_id does not exist'].map((text): Row<Observation> => ({
    name: text,
    answer: noTask(text),
    expect: { kind: 'not_found' },
  })),
  {
    name: 'no such task, in the way of version 1',
    answer: base(2013, 'invalid task_id'),
    expect: { kind: 'not_found' },
  },
  { name: 'other bad input', answer: noTask('page_num'), expect: unavailable('http_400') },
  {
    name: 'a page that is not found',
    answer: { status: 404, body: '<html>' },
    expect: unavailable('http_404'),
  },
  {
    name: 'no such task, said by a 500',
    answer: error(500, 'server_error', 'invalid task_id (1000)'),
    expect: unavailable('http_500'),
  },
  {
    name: 'another task',
    answer: task({ ...success, id: '424010985738630' }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: task({}), expect: unavailable('unreadable_answer') },
  { name: 'a bare task', answer: ok({ id: JOB, ...success }), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  {
    name: 'a wrong key',
    answer: error(401, 'authorized_error', 'login fail (1004)'),
    expect: unavailable('http_401', true),
  },
  { name: '402', answer: { status: 402 }, expect: unavailable('http_402', true) },
  ...[1004, 1008, 2049].map((code) => ({
    name: `base_resp ${code} is denied`,
    answer: base(code),
    expect: unavailable(`base_resp:${code}`, true),
  })),
  {
    name: 'base_resp 1002 beside a task',
    answer: base(1002, 'x', { task: { id: JOB, status: 'failed' } }),
    expect: unavailable('base_resp:1002'),
  },
  {
    name: '429',
    answer: error(429, 'rate_limit_error', 'rate limit (1002)', { 'retry-after': '3' }),
    expect: unavailable('http_429', false, 3_000),
  },
  {
    name: '503',
    answer: { status: 503, headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];

/** A look, the DELETE, and one more look where that answer needs it. */
const flow = (before: ScriptedAnswer, deleted: ScriptedAnswer, after: ScriptedAnswer) => {
  let looks = 0;
  return ({ method }: { readonly method: string }) => {
    if (method === 'DELETE') return deleted;
    return looks++ === 0 ? before : after;
  };
};
const cancel = (
  name: string,
  answers: readonly [ScriptedAnswer, ScriptedAnswer, ScriptedAnswer],
  expect: CancelAnswer,
): Row<CancelAnswer> => ({ name, answer: flow(...answers), expect });
const queued = task({ status: 'queued' });
const isRunning = task({ status: 'running' });
const never: ScriptedAnswer = { status: 500 };
const did = (action: string, id = JOB) => ok({ task_id: id, action, status: action });
const notAllowed = noTask('task is running');

export const cancelRows: readonly Row<CancelAnswer>[] = [
  cancel('a queued task', [queued, did('cancelled'), never], { kind: 'answered', observation: cancelled }),
  cancel('a running task can not be cancelled', [isRunning, never, never], { kind: 'unsupported' }),
  cancel('one that succeeded', [task(success), never, never], {
    kind: 'answered',
    observation: succeeded(),
  }),
  cancel('one that failed', [task({ status: 'failed' }), never, never], {
    kind: 'answered',
    observation: failed('provider_failed', 'unspecified'),
  }),
  cancel('one that is cancelled', [task({ status: 'cancelled' }), never, never], {
    kind: 'answered',
    observation: cancelled,
  }),
  cancel('one in an unknown state', [task({ status: 'paused' }), never, never], {
    kind: 'unavailable',
    reason: 'unknown_status',
  }),
  cancel('one that is gone', [noTask('invalid task_id'), never, never], {
    kind: 'unavailable',
    reason: 'not_found',
  }),
  cancel('a look that failed', [{ status: 503 }, never, never], { kind: 'unavailable', reason: 'http_503' }),
  cancel('it began to run just before', [queued, notAllowed, isRunning], { kind: 'unsupported' }),
  cancel('it failed just before, and is still shown', [queued, notAllowed, task({ status: 'failed' })], {
    kind: 'answered',
    observation: failed('provider_failed', 'unspecified'),
  }),
  cancel(
    'it ended just before, and its record was removed',
    [queued, did('deleted'), noTask('invalid task_id')],
    {
      kind: 'unavailable',
      reason: 'not_found',
    },
  ),
  cancel('the answer is about another task', [queued, did('cancelled', '1'), queued], {
    kind: 'unavailable',
    reason: 'unreadable_answer',
  }),
  cancel('refused, and still queued', [queued, notAllowed, queued], {
    kind: 'unavailable',
    reason: 'http_400',
  }),
  cancel(
    'the answer is lost, and it is cancelled',
    [queued, { status: 502 }, task({ status: 'cancelled' })],
    {
      kind: 'answered',
      observation: cancelled,
    },
  ),
  cancel('rate limited', [queued, { status: 429 }, queued], { kind: 'unavailable', reason: 'http_429' }),
  cancel('nothing can be seen after', [queued, { status: 500 }, { status: 503 }], {
    kind: 'unavailable',
    reason: 'http_503',
  }),
];
