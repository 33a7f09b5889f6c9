import type { Observation } from '../../src/domain/provider.ts';
import { credits, detail, json, TASK } from './bfl-rows.ts';
import type { Row } from './fixture.ts';

export const SAMPLE = 'https://delivery-eu1.bfl.ai/results/ab/sample.png';
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const TEN_MINUTES_ON = new Date(NOW_MS + 600_000);

const task = (members: object, status = 200) => json(status, { id: TASK, result: null, ...members });
const ready = (result: unknown, more: object = {}) => task({ status: 'Ready', result, ...more });
type ObserveRow = Row<Observation>;
const running = (status: string, unknownStatus = false, progress: number | null = null) =>
  ({ kind: 'running', status, progress, unknownStatus }) as const;
const succeeded = (
  linkExpiresAt: Date,
  cost: ReturnType<typeof credits> | null = null,
  urls: readonly string[] = [SAMPLE],
) =>
  ({
    kind: 'succeeded',
    status: 'Ready',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt,
    cost,
  }) as const;
const failed = (
  status: string,
  code: 'provider_failed' | 'content_rejected',
  reason: string,
  cost = credits('0', true),
) => ({ kind: 'failed', status, code, reason, cost }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const noOutput = (cost: ReturnType<typeof credits> | null = null) =>
  ({ kind: 'failed', status: 'Ready', code: 'no_output', reason: 'succeeded_without_output', cost }) as const;
const signed = (until: string) => `${SAMPLE}?se=${encodeURIComponent(until)}&sp=r&sig=x`;
const LIVE = signed('2026-11-29T14:00:00Z');

export const observeRows: readonly ObserveRow[] = [
  ...['Pending', 'Reasoning', 'Generating'].map((status) => ({
    name: status,
    answer: task({ status }),
    expect: running(status),
  })),
  { name: 'state instead of status', answer: task({ state: 'Pending' }), expect: running('Pending') },
  {
    name: 'status before state',
    answer: task({ status: 'Pending', state: 'Ready' }),
    expect: running('Pending'),
  },
  {
    name: 'progress',
    answer: task({ status: 'Pending', progress: 0.25 }),
    expect: running('Pending', false, 0.25),
  },
  ...[-0.1, 1.1, 'half', null].map((progress) => ({
    name: `a progress of ${progress} is none`,
    answer: task({ status: 'Pending', progress }),
    expect: running('Pending'),
  })),
  ...['pending', 'READY', 'Request_Moderated', 'Queued'].map((status) => ({
    name: `${status} is unknown`,
    answer: task({ status, result: { sample: SAMPLE } }),
    expect: running(status, true),
  })),
  {
    name: 'an unknown status that is no word',
    answer: task({ status: 'Almost Ready' }),
    expect: running('unspecified', true),
  },
  { name: 'Ready', answer: ready({ sample: SAMPLE, seed: 7 }), expect: succeeded(TEN_MINUTES_ON) },
  {
    name: 'Ready, its cost settled',
    answer: ready({ sample: SAMPLE, duration: 5 }, { cost: 85 }),
    expect: succeeded(TEN_MINUTES_ON, credits('85', true)),
  },
  {
    name: 'Ready without an id',
    answer: json(200, { status: 'Ready', result: { sample: SAMPLE } }),
    expect: succeeded(TEN_MINUTES_ON),
  },
  {
    name: 'the end of a link by its signature',
    answer: ready({ sample: LIVE }),
    expect: succeeded(new Date('2026-11-29T14:00:00Z'), null, [LIVE]),
  },
  ...['2026-11-29T14:00', '2026-11-29T14:00:00', '2026-11-29T14:00:00.000Z', '2026-11-29T16:00:00+02:00'].map(
    (until) => ({
      name: `the end of a link by its signature, written ${until}`,
      answer: ready({ sample: signed(until) }),
      expect: succeeded(new Date('2026-11-29T14:00:00Z'), null, [signed(until)]),
    }),
  ),
  ...['2026-11-29T12:00:00Z', '2026-11-29T11:50:00Z', '2001-01-01T00:00:00Z'].map((until) => ({
    name: `a link that is over by our clock is fetched all the same: ${until}`,
    answer: ready({ sample: signed(until) }, { cost: 85 }),
    expect: succeeded(TEN_MINUTES_ON, credits('85', true), [signed(until)]),
  })),
  {
    name: 'an end of a link that is no time',
    answer: ready({ sample: `${SAMPLE}?se=soon` }),
    expect: succeeded(TEN_MINUTES_ON, null, [`${SAMPLE}?se=soon`]),
  },
  {
    name: 'an end of a link that is no time: a number',
    answer: ready({ sample: `${SAMPLE}?se=1` }),
    expect: succeeded(TEN_MINUTES_ON, null, [`${SAMPLE}?se=1`]),
  },
  ...[null, {}, [], 'x', { sample: null }, { sample: 'ftp://h/x' }, { sample: [SAMPLE] }].map((result) => ({
    name: `result ${JSON.stringify(result)} is none`,
    answer: ready(result),
    expect: noOutput(),
  })),
  {
    name: 'nothing for its price',
    answer: ready(null, { cost: 3 }),
    expect: noOutput(credits('3', true)),
  },
  {
    name: 'Request Moderated',
    answer: task({ status: 'Request Moderated', details: { 'Moderation Reasons': ['Safety Filter'] } }),
    expect: failed('Request Moderated', 'content_rejected', 'request_moderated'),
  },
  {
    name: 'Content Moderated',
    answer: task({ state: 'Content Moderated', details: 'secret text' }),
    expect: failed('Content Moderated', 'content_rejected', 'content_moderated'),
  },
  {
    name: 'Content Moderated that is charged',
    answer: task({ status: 'Content Moderated', cost: 3 }),
    expect: failed('Content Moderated', 'content_rejected', 'content_moderated', credits('3', true)),
  },
  { name: 'Error', answer: task({ status: 'Error' }), expect: failed('Error', 'provider_failed', 'error') },
  {
    name: 'Failed',
    answer: task({ status: 'Failed' }),
    expect: failed('Failed', 'provider_failed', 'failed'),
  },
  {
    name: 'Error with a code',
    answer: task({ status: 'Error', error: 'gpu_lost' }),
    expect: failed('Error', 'provider_failed', 'gpu_lost'),
  },
  {
    name: 'Error with a text',
    answer: task({ status: 'Error', error: 'secret text' }),
    expect: failed('Error', 'provider_failed', 'unspecified'),
  },
  {
    name: 'Error by moderation',
    answer: task({ status: 'Error', error: 'content_policy_violation' }),
    expect: failed('Error', 'content_rejected', 'content_policy_violation'),
  },
  {
    name: 'Error under 503, about our task',
    answer: task({ status: 'Error' }, 503),
    expect: failed('Error', 'provider_failed', 'error'),
  },
  { name: 'Task not found', answer: task({ status: 'Task not found' }), expect: { kind: 'not_found' } },
  {
    name: 'Task not found without an id',
    answer: json(200, { id: null, status: 'Task not found', result: null }),
    expect: { kind: 'not_found' },
  },
  {
    name: 'Task not found under 404',
    answer: task({ status: 'Task not found' }, 404),
    expect: { kind: 'not_found' },
  },
  {
    name: 'an Error under 503 of no task',
    answer: json(503, { status: 'Error' }),
    expect: unavailable('http_503'),
  },
  {
    name: 'an unknown status under 503',
    answer: task({ status: 'Down' }, 503),
    expect: unavailable('http_503'),
  },
  { name: 'a page that is not found', answer: detail(404, 'Not Found'), expect: unavailable('http_404') },
  {
    name: 'another task',
    answer: json(200, { id: 'other', status: 'Ready', result: { sample: SAMPLE } }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no status', answer: task({}), expect: unavailable('unreadable_answer') },
  { name: 'an empty status', answer: task({ status: '' }), expect: unavailable('unreadable_answer') },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  {
    name: 'an error inside 200',
    answer: detail(200, 'Internal Server Error'),
    expect: unavailable('unreadable_answer'),
  },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: detail(status, 'Not authenticated'),
    expect: unavailable(`http_${status}`, true),
  })),
  {
    name: '429',
    answer: { status: 429, headers: { 'retry-after': '3' } },
    expect: unavailable('http_429', false, 3_000),
  },
  { name: '503', answer: { status: 503 }, expect: unavailable('http_503') },
];
