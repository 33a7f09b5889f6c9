import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Provider, SubmitAnswer } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { startSimulator } from '../../src/simulators/core.ts';
import { videosSimulator } from '../../src/simulators/openaivideos.ts';
import { Control } from '../simulators/control.ts';
import type { Row } from './fixture.ts';
import { DIRECT, made, type Settings } from './openaivideos-fixture.ts';
import { error, submitRows, taskError } from './openaivideos-rows.ts';
import { httpTo, ScriptedServer, type ScriptedAnswer } from './scripted-server.ts';

const options = { credential: { name: 'default', apiKey: 'k' }, timeoutMs: 10_000 };
const submit = (provider: Provider, prompt = 'tide') => {
  const job = { method: 'text-to-video' as const, providerModel: 'sora-2', params: {} };
  const request = provider.buildSubmit({ ...job, input: { prompt }, callbackUrl: null, idempotencyKey: 'k' });
  return provider.submit(request, 'k', options);
};

const OWN = 'new_api_error';
const refused = (code: string, reason: string) => ({ kind: 'refused', code, reason }) as SubmitAnswer;
const capacity = (retryAfterMs: number | null) =>
  ({ kind: 'capacity', reason: 'http_429', retryAfterMs }) as const;
const row = (name: string, answer: ScriptedAnswer, expected: SubmitAnswer): Row<SubmitAnswer> => ({
  name,
  answer,
  expect: expected,
});

/** What New API says before it has asked anybody (middleware/auth.go, distributor.go, relay/common/relay_utils.go). */
const BEFORE_ANY: readonly Row<SubmitAnswer>[] = [
  row('its key check', error(401, '', OWN), refused('provider_rejected', 'http_401')),
  row('a user that is banned', error(403, '', OWN), refused('provider_rejected', 'http_403')),
  row(
    'an address that the key is not for',
    error(403, 'access_denied', OWN),
    refused('provider_rejected', 'http_403:access_denied'),
  ),
  row('a body that it cannot route', error(400, '', OWN), refused('invalid_input', 'http_400')),
  row(
    'no channel for the model',
    error(503, 'model_not_found', OWN),
    refused('provider_unavailable', 'http_503:model_not_found'),
  ),
  row(
    'its own list of words',
    error(500, 'sensitive_words_detected', OWN),
    refused('content_rejected', 'http_500:sensitive_words_detected'),
  ),
  row(
    'the user’s quota',
    taskError(403, 'insufficient_user_quota'),
    refused('provider_unavailable', 'http_403:insufficient_user_quota'),
  ),
  row(
    'a body that no channel reads',
    taskError(400, 'invalid_json'),
    refused('invalid_input', 'http_400:invalid_json'),
  ),
  row('its rate limit', { ...error(429, '', OWN), headers: { 'retry-after': '7' } }, capacity(7_000)),
  row('its rate limit without a time', error(429, null, OWN), capacity(null)),
];

/** What the last of several upstreams may have said, after one that took the job: as New API wraps it, and bare. */
const MAYBE_AFTER_ONE: readonly (readonly [name: string, answer: ScriptedAnswer])[] = [
  ...[400, 401, 402, 403, 404, 422, 429, 500, 502].map(
    (status) => [`${status} of an upstream`, taskError(status, 'fail_to_fetch_task')] as const,
  ),
  ...[400, 401, 402, 403, 404, 405, 413, 415, 422, 429].map(
    (status) => [`${status} as a page`, { status, body: '<html>' }] as const,
  ),
  ...[400, 401, 403, 429].map(
    (status) => [`${status} without a code`, error(status, null, 'requests')] as const,
  ),
  ['no second channel', taskError(500, 'get_channel_failed')],
  ['an upstream’s key', error(401, 'invalid_api_key')],
  ['an upstream’s key, in an envelope of its own', error(401, 'invalid_api_key', OWN)],
  ['an upstream’s rate limit', error(429, 'rate_limit_exceeded', 'requests')],
  ['an upstream’s rate limit, in an envelope of its own', error(429, 'rate_limit_exceeded', OWN)],
  ['an upstream’s account has no money', error(429, 'insufficient_quota', 'insufficient_quota')],
  ['an upstream’s limit of spending', error(400, 'billing_hard_limit_reached')],
  ['no such model at an upstream', error(404, 'model_not_found')],
  ['no such model at an upstream, 400', error(400, 'model_not_found')],
  ['an upstream’s rules of content', error(400, 'moderation_blocked', 'video_generation_user_error')],
  ['an upstream’s value', error(400, 'invalid_value')],
  [
    'an upstream’s validation',
    { status: 422, body: '{"detail":[{"loc":["body","prompt"],"msg":"x","type":"missing"}]}' },
  ],
  [
    'no channel of an upstream that is a gateway itself',
    error(503, 'model_not_found', 'invalid_request_error'),
  ],
  ['no channel of such an upstream, without a type', error(503, 'model_not_found', '')],
  ['a body that one channel does not read', taskError(400, 'invalid_request')],
  ['a size that this channel does not take', taskError(400, 'invalid_size')],
  ['a key error', error(400, 'idempotency_key_reuse', OWN)],
];

describe('openaivideos: an aggregator that may ask several upstreams, as is assumed', () => {
  let server: ScriptedServer;
  let http: OutboundHttp;
  beforeAll(async () => {
    server = await ScriptedServer.start();
    http = httpTo(server.url);
  });
  afterAll(async () => {
    await http.close();
    await server.close();
  });
  const answerTo = (answer: ScriptedAnswer, settings: Settings = {}) => {
    server.answer = answer;
    return submit(made(http, server.url, settings));
  };

  test.each(BEFORE_ANY)('said before any is asked: $name', async ({ answer, expect: expected }) => {
    expect(await answerTo(answer as ScriptedAnswer)).toEqual(expected);
    expect(await answerTo(answer as ScriptedAnswer, { RETRIES_UPSTREAMS: 'true' })).toEqual(expected);
  });

  test.each(MAYBE_AFTER_ONE)('proves nothing: %s', async (_name, answer) => {
    expect(await answerTo(answer)).toMatchObject({ kind: 'unknown' });
  });

  test('a job and what was never a refusal are read as ever', async () => {
    const others = submitRows.filter(({ expect: expected }) => {
      const { kind } = expected as SubmitAnswer;
      return kind === 'accepted' || kind === 'unknown';
    });
    expect(others.length).toBeGreaterThan(20);
    for (const { name, answer, expect: expected } of others) {
      expect(await answerTo(answer as ScriptedAnswer), name).toEqual(expected);
    }
  });

  test('the first upstream took the job, its answer was lost, the second has no room: unknown, never again', async () => {
    const simulator = await startSimulator(videosSimulator('retrying'), { apiKeys: ['k'], renderMs: 20 });
    const outbound = httpTo(simulator.url);
    const control = new Control(simulator.url);
    try {
      await control.fault('taken', { kind: 'status_5xx_after_accept' });
      await control.fault('turned away', { kind: 'status_5xx' });
      const seen = (prompt: string, settings: Settings = {}) =>
        submit(made(outbound, simulator.url, settings), prompt);
      const unknown = { kind: 'unknown', reason: 'http_429:fail_to_fetch_task' };
      expect(await seen('taken')).toEqual(unknown);
      // From outside it is the same answer.
      expect(await seen('turned away')).toEqual(unknown);
      expect((await control.journal('taken')).jobs.map(({ submits }) => submits)).toEqual([1]);
      expect(await seen('turned away', DIRECT)).toMatchObject({ kind: 'capacity' });
    } finally {
      await outbound.close();
      await simulator.close();
    }
  });
});
