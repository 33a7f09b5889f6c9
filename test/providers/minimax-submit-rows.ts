import type { SubmitAnswer } from '../../src/domain/provider.ts';
import type { Row } from './fixture.ts';
import { base, error, JOB, ok } from './minimax-scripted.ts';
import type { ScriptedAnswer } from './scripted-server.ts';

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
const capacity = (
  name: string,
  answer: ScriptedAnswer,
  reason: string,
  retryAfterMs: number | null = null,
): Row<SubmitAnswer> => ({ name, answer, expect: { kind: 'capacity', reason, retryAfterMs } });

export const submitRows: readonly Row<SubmitAnswer>[] = [
  {
    name: '200 with an id',
    answer: ok({ task_id: JOB }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given' },
  },
  {
    name: '200 with an id and base_resp 0, as version 1 has it',
    answer: base(0, 'success', { task_id: JOB }),
    expect: { kind: 'accepted', handle: { jobId: JOB }, status: 'not_given' },
  },
  unknown('200 without id', ok({}), 'http_200:unreadable'),
  unknown('200 with an empty id', ok({ task_id: '' }), 'http_200:unreadable'),
  unknown('200 with an id that is a number', ok({ task_id: 424 }), 'http_200:unreadable'),
  unknown('200 with a space in the id', ok({ task_id: 'a b' }), 'http_200:unreadable'),
  unknown('200 without body', { status: 200 }, 'http_200:unreadable'),
  unknown('200 HTML', { status: 200, body: '<html>' }, 'http_200:unreadable'),
  unknown(
    'the envelope of an error under HTTP 200',
    { ...error(400, 'bad_request_error', 'invalid params (2013)'), status: 200 },
    'http_200:unreadable',
  ),
  // Errors as in version 1, inside HTTP 200.
  refused('base_resp 1008', base(1008), 'provider_unavailable', 'http_200:1008'),
  refused('base_resp 1004', base(1004), 'provider_rejected', 'http_200:1004'),
  refused('base_resp 2049', base(2049), 'provider_rejected', 'http_200:2049'),
  refused(
    'base_resp 1026 and an empty id',
    base(1026, 'x', { task_id: '' }),
    'content_rejected',
    'http_200:1026',
  ),
  refused('base_resp 2013', base(2013), 'invalid_input', 'http_200:2013'),
  capacity('base_resp 1002', base(1002), 'http_200:1002'),
  unknown('base_resp 1000', base(1000), 'http_200:1000'),
  unknown('base_resp 7, on no list', base(7), 'http_200:7'),
  unknown('base_resp with a code that is text', base('1008'), 'http_200:unreadable'),
  unknown('base_resp 0 without id', base(0), 'http_200:unreadable'),
  unknown('base_resp 1008 beside an id', base(1008, 'x', { task_id: JOB }), 'http_200:unreadable'),
  unknown('base_resp 1002 beside a number', base(1002, 'x', { task_id: 424 }), 'http_200:unreadable'),
  unknown('base_resp 2013 beside an unsafe id', base(2013, 'x', { task_id: 'a b' }), 'http_200:unreadable'),
  // As the create page shows them.
  refused(
    'no prompt',
    error(
      400,
      'bad_request_error',
      'invalid params, content must include a non-empty text item (prompt is required) (2013)',
    ),
    'invalid_input',
    'http_400:2013',
  ),
  refused(
    'a wrong key',
    error(
      401,
      'authorized_error',
      "login fail: Please carry the API secret key in the 'Authorization' field (1004)",
    ),
    'provider_rejected',
    'http_401:1004',
  ),
  refused(
    'no balance',
    error(402, 'insufficient_balance_error', 'insufficient balance (1008)'),
    'provider_unavailable',
    'http_402:1008',
  ),
  refused(
    'sensitive content',
    error(422, 'unprocessable_entity_error', 'video description contains sensitive content (1026)'),
    'content_rejected',
    'http_422:1026',
  ),
  capacity(
    'rate limit',
    error(429, 'rate_limit_error', 'rate limit, please retry later (1002)', { 'retry-after': '7' }),
    'http_429:1002',
    7_000,
  ),
  unknown('server error', error(500, 'server_error', 'internal error (1000)'), 'http_500:1000'),
  // Codes of the list, whatever the status.
  ...[1000, 1001, 1024, 1033].map((code) =>
    unknown(`code ${code} under 400`, error(400, 'x', `system error (${code})`), `http_400:${code}`),
  ),
  refused('code 1027', error(400, 'x', 'sensitive (1027)'), 'content_rejected', 'http_400:1027'),
  refused('code 1008 under 429', error(429, 'x', 'no money (1008)'), 'provider_unavailable', 'http_429:1008'),
  refused(
    'code 2056',
    error(429, 'x', 'usage limit exceeded (2056)'),
    'provider_unavailable',
    'http_429:2056',
  ),
  refused('code 2049', error(401, 'x', 'invalid API Key (2049)'), 'provider_rejected', 'http_401:2049'),
  refused('code 1042', error(422, 'x', 'invisible characters (1042)'), 'invalid_input', 'http_422:1042'),
  ...[1041, 2045].map((code) =>
    capacity(`code ${code}`, error(503, 'x', `conn limit (${code})`), `http_503:${code}`),
  ),
  refused('400 without a code', error(400, 'bad_request_error', 'no'), 'invalid_input', 'http_400'),
  refused('422 with a code on no list', error(422, 'x', 'odd (9)'), 'invalid_input', 'http_422:9'),
  refused('a code that is not at the end', error(400, 'x', 'odd (1026) thing'), 'invalid_input', 'http_400'),
  unknown('529 overloaded', error(529, 'overloaded_error', 'overloaded (2064)'), 'http_529:2064'),
  unknown('400 of a gateway', { status: 400, body: '<html>' }, 'http_400'),
  unknown('422 of a gateway', { status: 422, body: '{}' }, 'http_422'),
  unknown('409', error(409, 'conflict_error', 'conflict (9)'), 'http_409:9'),
  unknown('502 of a gateway', { status: 502, body: '<html>' }, 'http_502'),
  ...[401, 403, 404, 405, 413, 415].map((status) =>
    refused(`${status} of a gateway`, { status }, 'provider_rejected', `http_${status}`),
  ),
  refused('402 of a gateway', { status: 402 }, 'provider_unavailable', 'http_402'),
  capacity('429 of a gateway', { status: 429, headers: { 'retry-after': '2' } }, 'http_429', 2_000),
];
