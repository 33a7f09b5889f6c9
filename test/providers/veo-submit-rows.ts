import type { SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import type { ScriptedAnswer } from './scripted-server.ts';
import { badKey, envelope, JOB, json, MODEL, quota } from './veo-rows.ts';

const refused = (name: string, answer: ScriptedAnswer, code: string, reason: string) =>
  ({ name, answer, expect: { kind: 'refused', code, reason } }) as Row<SubmitAnswer>;
const unknown = (name: string, answer: ScriptedAnswer, reason: string): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const capacity = (name: string, answer: ScriptedAnswer, retryAfterMs: number | null): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: { kind: 'capacity', reason: 'http_429:RESOURCE_EXHAUSTED', retryAfterMs },
});
const accepted = (name: string, jobId: string, more: object = {}): Row<SubmitAnswer> => ({
  name,
  answer: json(200, { name: jobId, ...more }),
  expect: { kind: 'accepted', handle: { jobId }, status: 'not_done' },
});

/** Names that are no operation of a model, and so no job: most would lead our key, or our look, elsewhere. */
const BAD_NAMES = [
  '',
  'k9',
  'operations/k9',
  `models/${MODEL}`,
  `models/${MODEL}/operations/`,
  `/${JOB}`,
  `${JOB}/`,
  `${JOB}/../../files`,
  `models/../operations/k9`,
  `models/./operations/..`,
  `models/a/b/operations/k9`,
  `models/${MODEL}/operations/k9?key=x`,
  `models/${MODEL}/operations/k9#x`,
  `models/${MODEL}/operations/k9:cancel`,
  `models/${MODEL}/operations/k%2f9`,
  `models/${MODEL}/operations/k9\n`,
  `tunedModels/x/operations/k9`,
  `https://evil.example/${JOB}`,
  `models/${MODEL}/operations/${'k'.repeat(129)}`,
];

export const submitRows: readonly Row<SubmitAnswer>[] = [
  accepted('an operation', JOB),
  accepted('with metadata, and not done', JOB, { metadata: { '@type': 'x' }, done: false }),
  accepted('one that is done already is looked at all the same', JOB, { done: true, error: { code: 13 } }),
  accepted('an id with dashes and dots', `models/${MODEL}/operations/A-b_c.9`),
  ...BAD_NAMES.map((name) =>
    unknown(`SSRF name ${JSON.stringify(name).slice(0, 60)}`, json(200, { name }), 'http_200:unreadable'),
  ),
  unknown('no name', json(200, {}), 'http_200:unreadable'),
  unknown('a name that is no text', json(200, { name: 7 }), 'http_200:unreadable'),
  unknown('an error inside 200', envelope(200, 'INTERNAL'), 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  unknown('400 HTML says nothing', { status: 400, body: '<html>' }, 'http_400'),
  unknown('400 without a status', envelope(400), 'http_400:error'),
  unknown('409 ABORTED', envelope(409, 'ABORTED'), 'http_409:ABORTED'),
  unknown('499 CANCELLED', envelope(499, 'CANCELLED'), 'http_499:CANCELLED'),
  unknown('500 INTERNAL', envelope(500, 'INTERNAL'), 'http_500:INTERNAL'),
  unknown(
    '503 UNAVAILABLE: overloaded, perhaps after it was taken',
    envelope(503, 'UNAVAILABLE'),
    'http_503:UNAVAILABLE',
  ),
  unknown('504 DEADLINE_EXCEEDED', envelope(504, 'DEADLINE_EXCEEDED'), 'http_504:DEADLINE_EXCEEDED'),
  unknown(
    '500 whose text speaks of guidelines',
    envelope(500, 'INTERNAL', { message: 'usage guidelines' }),
    'http_500:content_rejected',
  ),
  unknown('an unsafe status is not kept', envelope(500, 'x y\n'), 'http_500:unspecified'),
  refused(
    'INVALID_ARGUMENT',
    envelope(400, 'INVALID_ARGUMENT'),
    'invalid_input',
    'http_400:INVALID_ARGUMENT',
  ),
  refused('OUT_OF_RANGE', envelope(400, 'OUT_OF_RANGE'), 'invalid_input', 'http_400:OUT_OF_RANGE'),
  refused(
    'a parameter that the model does not take',
    envelope(400, 'INVALID_ARGUMENT', { message: '`negativePrompt` isn’t supported by this model.' }),
    'invalid_input',
    'http_400:INVALID_ARGUMENT',
  ),
  ...[
    'The prompt could not be submitted. It contains words that violate Google’s Responsible AI practices.',
    'This prompt violates our usage guidelines.',
    'Blocked by safety filters',
    'Your prompt violates our generative AI policies',
    'Text has sensitive words',
  ].map((message) =>
    refused(
      `content: ${message.slice(0, 30)}`,
      envelope(400, 'INVALID_ARGUMENT', { message }),
      'content_rejected',
      'http_400:content_rejected',
    ),
  ),
  refused(
    'billing is off',
    envelope(400, 'FAILED_PRECONDITION'),
    'provider_unavailable',
    'http_400:FAILED_PRECONDITION',
  ),
  refused(
    'the prepaid balance is empty',
    envelope(402, 'RESOURCE_EXHAUSTED'),
    'provider_unavailable',
    'http_402:RESOURCE_EXHAUSTED',
  ),
  refused('an unknown key comes as 400', badKey(400), 'provider_rejected', 'http_400:API_KEY_INVALID'),
  refused(
    'a key that is not for this service',
    badKey(403, 'API_KEY_SERVICE_BLOCKED'),
    'provider_rejected',
    'http_403:API_KEY_SERVICE_BLOCKED',
  ),
  refused('401', envelope(401, 'UNAUTHENTICATED'), 'provider_rejected', 'http_401:UNAUTHENTICATED'),
  refused('403', envelope(403, 'PERMISSION_DENIED'), 'provider_rejected', 'http_403:PERMISSION_DENIED'),
  refused(
    'a model that was shut down',
    envelope(404, 'NOT_FOUND', { message: `models/${MODEL} is no longer available.` }),
    'provider_rejected',
    'http_404:NOT_FOUND',
  ),
  ...[404, 405, 413, 415].map((status) =>
    refused(`${status} as a page`, { status, body: '<html>' }, 'provider_rejected', `http_${status}`),
  ),
  capacity('429 with RetryInfo', quota('46s'), 46_000),
  capacity('429 with a part of a second', quota('1.5s'), 1_500),
  capacity('429 until tomorrow', quota('35684s'), 35_684_000),
  ...['', '46', '-1s', 's', '1h', null, 7, '9'.repeat(20) + 's'].map((delay) =>
    capacity(`429 with a delay that is none: ${JSON.stringify(delay)}`, quota(delay), null),
  ),
  capacity(
    '429 whose quota text speaks of policy',
    envelope(429, 'RESOURCE_EXHAUSTED', { message: 'violates policy' }),
    null,
  ),
  {
    name: '429: the header counts first',
    answer: { ...quota('46s'), headers: { 'retry-after': '7' } },
    expect: { kind: 'capacity', reason: 'http_429:RESOURCE_EXHAUSTED', retryAfterMs: 7_000 },
  },
  {
    name: '429 as a page',
    answer: { status: 429, body: '<html>' },
    expect: { kind: 'capacity', reason: 'http_429', retryAfterMs: null },
  },
];
