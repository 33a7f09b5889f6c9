import type { CancelAnswer, SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';

export const TASK = 'b9b172a8-e39c-47b2-8f1a-cb8925f3532e';

export const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers,
  body: JSON.stringify(body),
});
export const credits = (amount: string, final: boolean) => ({ amount, unit: 'credits', final });

/** `{error, message}`, as the vendor's skills show it. */
const error = (status: number, code: string, more: object = {}) =>
  json(status, { error: code, message: 'secret text of the provider', details: {}, ...more });
/** `{detail}`, as FastAPI words it. */
export const detail = (status: number, found: unknown) => json(status, { detail: found });
const wrongMember = [
  { type: 'missing', loc: ['body', 'prompt'], msg: 'Field required', input: { webhook_secret: 's' } },
];

type SubmitRow = Row<SubmitAnswer>;
const refused = (name: string, answer: SubmitRow['answer'], code: string, reason: string): SubmitRow => ({
  name,
  answer,
  expect: { kind: 'refused', code, reason } as SubmitAnswer,
});
const unknown = (name: string, answer: SubmitRow['answer'], reason: string): SubmitRow => ({
  name,
  answer,
  expect: { kind: 'unknown', reason },
});
const capacity = (
  name: string,
  answer: SubmitRow['answer'],
  reason: string,
  retryAfterMs: number | null,
): SubmitRow => ({ name, answer, expect: { kind: 'capacity', reason, retryAfterMs } });

/** A submit's answer that is told where to look, and the URL that is kept; null = none. */
const polling = (
  name: string,
  told: (baseUrl: string) => unknown,
  kept: ((baseUrl: string) => string) | null,
): SubmitRow => ({
  name: `polling URL: ${name}`,
  answer: (_request, baseUrl) => json(200, { id: TASK, polling_url: told(baseUrl) }),
  expect: (baseUrl) => ({
    kind: 'accepted',
    handle: { jobId: TASK, ...(kept === null ? {} : { pollingUrl: kept(baseUrl) }) },
    status: 'not_given',
    cost: null,
  }),
});
const port = (baseUrl: string) => new URL(baseUrl).port;
/** The cluster that the fixture allows beside the base URL's own host. */
const cluster = (baseUrl: string) => `http://localhost:${port(baseUrl)}`;
const ofTask = (base: string) => `${base}/v1/get_result?id=${TASK}`;

export const submitRows: readonly SubmitRow[] = [
  {
    name: '200, AsyncResponse',
    answer: (_request, baseUrl) =>
      json(200, {
        id: TASK,
        polling_url: ofTask(cluster(baseUrl)),
        cost: 4.5,
        input_mp: 0,
        output_mp: 1.05,
      }),
    expect: (baseUrl) => ({
      kind: 'accepted',
      handle: { jobId: TASK, pollingUrl: ofTask(cluster(baseUrl)) },
      status: 'not_given',
      cost: credits('4.5', false),
    }),
  },
  {
    name: '200, AsyncWebhookResponse',
    answer: json(200, { id: TASK, status: 'Pending', webhook_url: 'https://hooks.example/x' }),
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'Pending', cost: null },
  },
  ...[null, -1, 'free', '9'.repeat(30), {}].map((cost) => ({
    name: `a cost of ${JSON.stringify(cost)} is none`,
    answer: json(200, { id: TASK, cost }),
    expect: { kind: 'accepted', handle: { jobId: TASK }, status: 'not_given', cost: null } as const,
  })),
  polling('on the own host', ofTask, ofTask),
  polling(
    'on the own host, below another path',
    (base) => `${base}/us1/v1/get_result?id=${TASK}`,
    (base) => `${base}/us1/v1/get_result?id=${TASK}`,
  ),
  polling('id is appended', (base) => `${base}/v1/get_result`, ofTask),
  polling(
    'other parameters stay',
    (base) => `${base}/v1/get_result?region=us1`,
    (base) => `${base}/v1/get_result?region=us1&id=${TASK}`,
  ),
  polling('its fragment goes', (base) => `${ofTask(base)}#x`, ofTask),
  polling('null', () => null, null),
  polling('a number', () => 7, null),
  polling('no URL', () => 'get_result', null),
  polling('an endless one', (base) => `${ofTask(base)}&x=${'x'.repeat(3_000)}`, null),
  polling('of another task', (base) => `${base}/v1/get_result?id=other`, null),
  polling('of two tasks', (base) => `${ofTask(base)}&id=other`, null),
  polling('of another call', (base) => `${base}/v1/credits?id=${TASK}`, null),
  polling('a foreign host', () => ofTask('http://evil.example'), null),
  polling('a foreign host, the own port', (base) => ofTask(`http://evil.example:${port(base)}`), null),
  polling('a name that ends like an allowed one', (base) => ofTask(`http://xlocalhost:${port(base)}`), null),
  polling('below an allowed name', (base) => ofTask(`http://a.localhost:${port(base)}`), null),
  polling(
    'a cluster below an allowed suffix',
    (base) => ofTask(`http://us1.clusters.example:${port(base)}`),
    (base) => ofTask(`http://us1.clusters.example:${port(base)}`),
  ),
  polling('the allowed suffix itself', (base) => ofTask(`http://clusters.example:${port(base)}`), null),
  polling('like an allowed suffix', (base) => ofTask(`http://aclusters.example:${port(base)}`), null),
  polling('another scheme', (base) => ofTask(`https://127.0.0.1:${port(base)}`), null),
  polling('another port', () => ofTask('http://127.0.0.1:9'), null),
  polling('user and password', (base) => ofTask(`http://k:p@127.0.0.1:${port(base)}`), null),
  polling(
    'a user that looks like the host',
    (base) => ofTask(`http://127.0.0.1:${port(base)}@evil.example`),
    null,
  ),
  polling('a file', () => 'file:///v1/get_result', null),
  unknown('200 without id', json(200, { status: 'Pending' }), 'http_200:unreadable'),
  unknown('200 with an id that is none', json(200, { id: '..' }), 'http_200:unreadable'),
  unknown('200 with an error', detail(200, 'Internal Server Error'), 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown('204', { status: 204 }, 'http_204'),
  refused('400', error(400, 'bad_request'), 'invalid_input', 'http_400:bad_request'),
  refused('400 with a text', detail(400, 'secret text'), 'invalid_input', 'http_400:unspecified'),
  refused('422, each member', detail(422, wrongMember), 'invalid_input', 'http_422:missing'),
  refused('422, no member', detail(422, []), 'invalid_input', 'http_422:unspecified'),
  refused('422, one error', error(422, 'validation_error'), 'invalid_input', 'http_422:validation_error'),
  refused('422, an unsafe code', error(422, 'x y\n'), 'invalid_input', 'http_422:unspecified'),
  refused(
    'content',
    error(422, 'content_policy_violation'),
    'content_rejected',
    'http_422:content_policy_violation',
  ),
  refused(
    'content 400',
    error(400, 'content_policy_violation'),
    'content_rejected',
    'http_400:content_policy_violation',
  ),
  unknown('400 HTML', { status: 400, body: '<html>' }, 'http_400'),
  unknown('422 HTML', { status: 422, body: '<html>' }, 'http_422'),
  refused('no credits', detail(402, 'Insufficient credits'), 'provider_unavailable', 'http_402:unspecified'),
  refused('no credits, HTML', { status: 402, body: '<html>' }, 'provider_unavailable', 'http_402'),
  refused('no key', detail(403, 'Not authenticated'), 'provider_rejected', 'http_403:unspecified'),
  refused('key', detail(401, 'Invalid API key format'), 'provider_rejected', 'http_401:unspecified'),
  refused('model', detail(404, 'Not Found'), 'provider_rejected', 'http_404:unspecified'),
  refused('size', { status: 413 }, 'provider_rejected', 'http_413'),
  capacity(
    'as many at once as there may be, the time in the body',
    error(429, 'rate_limit_exceeded', { retry_after: 5 }),
    'http_429:rate_limit_exceeded',
    5_000,
  ),
  capacity(
    'the header counts first',
    {
      ...error(429, 'rate_limit_exceeded', { retry_after: 5 }),
      headers: { 'retry-after': '7', 'x-ratelimit-limit': '24', 'x-ratelimit-remaining': '0' },
    },
    'http_429:rate_limit_exceeded',
    7_000,
  ),
  capacity('429 with a text', detail(429, 'Rate limit exceeded'), 'http_429:unspecified', null),
  capacity('429 for years', error(429, 'x', { retry_after: 1e9 }), 'http_429:x', 86_400_000),
  capacity('429 with no time', error(429, 'x', { retry_after: 'soon' }), 'http_429:x', null),
  capacity('429 without a body', { status: 429 }, 'http_429', null),
  unknown('409', error(409, 'conflict'), 'http_409:conflict'),
  unknown('500', detail(500, 'Internal Server Error'), 'http_500:unspecified'),
  unknown('503 for a lack of capacity', detail(503, 'Try again'), 'http_503:unspecified'),
  unknown('302', { status: 302, headers: { location: '/x' } }, 'http_302'),
];

export const cancelRows: readonly Row<CancelAnswer>[] = [
  { name: 'not offered', answer: { status: 200, body: '{}' }, expect: { kind: 'unsupported' } },
];
