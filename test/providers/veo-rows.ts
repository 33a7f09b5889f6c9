import type { Observation } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

export const MODEL = 'veo-3.1-generate-preview';
export const JOB = `models/${MODEL}/operations/k9abc`;
export const NOW_MS = Date.UTC(2026, 10, 29, 12);
const URI_1 = 'https://generativelanguage.googleapis.com/v1beta/files/abc123:download?alt=media';
const URI_2 = 'https://generativelanguage.googleapis.com/v1beta/files/def456:download?alt=media';
const LINKS_UNTIL = new Date(NOW_MS + 2 * 86_400_000);
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

export const json = (status: number, body: unknown): ScriptedAnswer => ({
  status,
  body: JSON.stringify(body),
});
/** Google's error envelope. */
export const envelope = (code: number, status?: string, more: object = {}) =>
  json(code, { error: { code, message: 'secret text of the provider', status, ...more } });
export const badKey = (code: number, reason = 'API_KEY_INVALID') =>
  envelope(code, 'INVALID_ARGUMENT', {
    details: [{ '@type': ERROR_INFO, reason, domain: 'googleapis.com' }],
  });
export const quota = (retryDelay: unknown, code = 429) =>
  envelope(code, 'RESOURCE_EXHAUSTED', {
    details: [null, { '@type': 'type.googleapis.com/google.rpc.Help' }, { '@type': RETRY_INFO, retryDelay }],
  });

const running = (status = 'not_done', unknownStatus = false) =>
  ({ kind: 'running', status, progress: null, unknownStatus }) as const;
const succeeded = (urls: readonly string[]) =>
  ({
    kind: 'succeeded',
    status: 'done',
    outputs: urls.map((url) => ({ url })),
    linkExpiresAt: LINKS_UNTIL,
    cost: null,
  }) as const;
const failed = (code: Extract<Observation, { kind: 'failed' }>['code'], reason: string) =>
  ({ kind: 'failed', status: 'done', code, reason, cost: null }) as const;
const unavailable = (reason: string, denied = false, retryAfterMs: number | null = null) =>
  ({ kind: 'unavailable', reason, denied, retryAfterMs }) as const;
const NO_OUTPUT = failed('no_output', 'succeeded_without_output');
const FILTERED = {
  ...failed('content_rejected', 'rai_media_filtered'),
  cost: { amount: '0', unit: 'USD', final: true },
} as const;
const UNREADABLE = unavailable('unreadable_answer');

const operation = (members: object): ScriptedAnswer => json(200, { name: JOB, ...members });
const seen = (name: string, members: object, expect: Observation): Row<Observation> => ({
  name,
  answer: operation(members),
  expect,
});
const video = (uri: unknown) => ({ video: { uri } });
/** An operation that is done, with this in `generateVideoResponse`. */
const made = (response: unknown) => ({ done: true, response: { generateVideoResponse: response } });
const wrong = (error: unknown) => ({ done: true, error });

export const observeRows: readonly Row<Observation>[] = [
  seen('done is left out', {}, running()),
  seen('done is false', { done: false, metadata: {} }, running()),
  seen('done is null', { done: null }, running()),
  seen('D5 done is a text', { done: 'true' }, running('true', true)),
  seen('D5 done is a number', { done: 1 }, running('unspecified', true)),
  seen('D5 done is an unsafe text', { done: 'a b\n' }, running('unspecified', true)),
  seen(
    'not done, though samples are there',
    { response: made({ generatedSamples: [video(URI_1)] }).response },
    running(),
  ),
  seen('one sample', made({ generatedSamples: [video(URI_1)] }), succeeded([URI_1])),
  seen('two samples', made({ generatedSamples: [video(URI_1), video(URI_2)] }), succeeded([URI_1, URI_2])),
  seen('each once', made({ generatedSamples: [video(URI_1), video(URI_1)] }), succeeded([URI_1])),
  seen(
    'D1 one of two filtered: the other is delivered',
    made({ generatedSamples: [video(URI_1)], raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['x'] }),
    succeeded([URI_1]),
  ),
  seen(
    'samples of other shapes are passed over',
    made({ generatedSamples: [null, {}, { video: null }, 'x', video(null), video(7), video(URI_1)] }),
    succeeded([URI_1]),
  ),
  seen(
    'a video inside the answer',
    made({ generatedSamples: [{ video: { encodedVideo: 'AAAA', encoding: 'video/mp4' } }] }),
    succeeded(['data:video/mp4;base64,AAAA']),
  ),
  seen(
    'its type is not trusted',
    made({ generatedSamples: [{ video: { encodedVideo: 'AAAA', encoding: 'text/html,<' } }] }),
    succeeded(['data:video/mp4;base64,AAAA']),
  ),
  seen(
    'no error in spite of null',
    { ...made({ generatedSamples: [video(URI_1)] }), error: null },
    succeeded([URI_1]),
  ),
  seen('D1 all filtered', made({ raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['secret'] }), FILTERED),
  seen('D1 filtered, the count as text', made({ raiMediaFilteredCount: '2' }), FILTERED),
  seen('D1 filtered, reasons alone', made({ raiMediaFilteredReasons: ['secret'] }), FILTERED),
  seen(
    'D1 filtered, samples that are empty',
    made({ generatedSamples: [], raiMediaFilteredCount: 1 }),
    FILTERED,
  ),
  seen(
    'none filtered, none made',
    made({ raiMediaFilteredCount: 0, raiMediaFilteredReasons: [] }),
    NO_OUTPUT,
  ),
  seen('a count that is none', made({ raiMediaFilteredCount: 'many' }), NO_OUTPUT),
  seen('an empty list', made({ generatedSamples: [] }), NO_OUTPUT),
  seen('an empty response', made({}), NO_OUTPUT),
  seen('a response that is null', made(null), NO_OUTPUT),
  seen('no response at all', { done: true }, NO_OUTPUT),
  seen('a response that is null itself', { done: true, response: null }, NO_OUTPUT),
  seen('a response without members', { done: true, response: {} }, NO_OUTPUT),
  seen('a response with its type alone', { done: true, response: { '@type': 'x' } }, NO_OUTPUT),
  seen(
    'both with their types alone',
    { done: true, response: { '@type': 'x', generateVideoResponse: { '@type': 'y' } } },
    NO_OUTPUT,
  ),
  seen(
    'D5 Vertex AI’s shape: a video may be there',
    {
      done: true,
      response: { '@type': 'x', raiMediaFilteredCount: 0, videos: [{ gcsUri: 'gs://b/a.mp4' }] },
    },
    UNREADABLE,
  ),
  seen(
    'D5 Vertex AI’s shape beside an empty response',
    { done: true, response: { generateVideoResponse: null, videos: [{ gcsUri: 'gs://b/a.mp4' }] } },
    UNREADABLE,
  ),
  seen('a response and its lists that are null', made({ '@type': 'x', generatedSamples: null }), NO_OUTPUT),
  seen(
    'D5 the shape of the SDK’s own objects',
    { done: true, response: { generatedVideos: [video(URI_1)] } },
    UNREADABLE,
  ),
  ...[
    ['a text', 'x'],
    ['a list', [video(URI_1)]],
    ['videos under another name', { generatedVideos: [video(URI_1)] }],
    ['videos beside samples that are null', { generatedSamples: null, generatedVideos: [video(URI_1)] }],
    ['samples that are no list', { generatedSamples: { 0: video(URI_1) } }],
    ['samples without a link', { generatedSamples: [{ video: { gcsUri: 'gs://b/a.mp4' } }, null] }],
    ['samples that are links', { generatedSamples: [URI_1] }],
  ].map(([name, response]) => seen(`D5 another shape: ${name as string}`, made(response), UNREADABLE)),
  seen('D5 a response that is a text', { done: true, response: 'x' }, UNREADABLE),
  seen('D5 a response that is a list', { done: true, response: [URI_1] }, UNREADABLE),
  seen('not done, whatever the response', { done: false, response: 'x' }, running()),
  seen(
    'an error beside a response of another shape',
    { done: true, response: 'x', error: { code: 13 } },
    failed('provider_failed', 'rpc_13'),
  ),
  ...['file:///etc/passwd', 'gs://bucket/a.mp4', '//evil.example/a', 'https://u:p@h.example/a', ''].map(
    (uri) => seen(`a link that is none: ${uri}`, made({ generatedSamples: [video(uri)] }), NO_OUTPUT),
  ),
  seen('INTERNAL', wrong({ code: 13, message: 'secret' }), failed('provider_failed', 'rpc_13')),
  seen('UNAVAILABLE', wrong({ code: 14, status: 'UNAVAILABLE' }), failed('provider_failed', 'rpc_14')),
  seen('RESOURCE_EXHAUSTED', wrong({ code: 8 }), failed('provider_failed', 'rpc_8')),
  seen('INVALID_ARGUMENT', wrong({ code: 3, message: 'bad image' }), failed('invalid_input', 'rpc_3')),
  seen(
    'content',
    wrong({ code: 3, message: 'violates our usage guidelines' }),
    failed('content_rejected', 'rpc_3'),
  ),
  seen(
    'content under any code',
    wrong({ code: 9, message: 'Responsible AI' }),
    failed('content_rejected', 'rpc_9'),
  ),
  seen('CANCELLED', wrong({ code: 1 }), { kind: 'cancelled', status: 'done' }),
  seen('an error without a code', wrong({}), failed('provider_failed', 'rpc_unknown')),
  seen('an error of another shape', wrong('x'), failed('provider_failed', 'rpc_unknown')),
  seen(
    'D2 an error beside samples',
    { ...made({ generatedSamples: [video(URI_1)] }), ...wrong({ code: 13 }) },
    failed('provider_failed', 'rpc_13'),
  ),
  { name: 'NOT_FOUND', answer: envelope(404, 'NOT_FOUND'), expect: { kind: 'not_found' } },
  { name: '404 as a page', answer: { status: 404, body: '<html>' }, expect: unavailable('http_404') },
  {
    name: 'another operation',
    answer: json(200, { name: `${JOB}x`, done: true }),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'no name', answer: json(200, { done: true }), expect: unavailable('unreadable_answer') },
  {
    name: 'an error inside 200',
    answer: envelope(200, 'INTERNAL'),
    expect: unavailable('unreadable_answer'),
  },
  { name: 'HTML', answer: { status: 200, body: '<html>' }, expect: unavailable('unreadable_answer') },
  {
    name: 'a state in an error',
    answer: json(500, { name: JOB, done: true }),
    expect: unavailable('http_500'),
  },
  { name: 'the key is unknown: 400', answer: badKey(400), expect: unavailable('http_400', true) },
  { name: '400', answer: envelope(400, 'INVALID_ARGUMENT'), expect: unavailable('http_400') },
  ...[401, 402, 403].map((status) => ({
    name: `${status}`,
    answer: envelope(status),
    expect: unavailable(`http_${status}`, true),
  })),
  { name: '429 with RetryInfo', answer: quota('3s'), expect: unavailable('http_429', false, 3_000) },
  {
    name: '503 with Retry-After',
    answer: { ...quota('3s', 503), headers: { 'retry-after': '4' } },
    expect: unavailable('http_503', false, 4_000),
  },
];
