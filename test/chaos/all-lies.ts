import { END_LIES } from './end-lies.ts';
import { UNEXCUSED_LIES, UNEXPLAINED } from './excuse-lies.ts';
import { GUARD_LIES } from './guard-lies.ts';
import * as lies from './lies.ts';
import { lie, type Lie } from './lies.ts';
import type { Received } from './types.ts';

const DOCTOR = 'the doctor finds nothing';

const withData = (one: Received, data: object): Received => ({
  ...one,
  data: { ...(one.data as object), ...data },
});

/** At least one for each check; those that stay for good come last. */
export const LIES: readonly Lie[] = [
  lie('the tenant holds a 202 of no row', ['a 202 has its row'], 'gen_none', ({ world }) =>
    Promise.resolve({
      world: {
        asked: [
          ...world.asked,
          { ...world.asked[0]!, id: 'gen_none', idempotencyKey: 'none', prompt: 'none' },
        ],
      },
    }),
  ),
  lie(
    'a repeat had other bytes',
    ['a repeat has the same bytes'],
    'infro',
    lies.asked('infro', ({ answers }) => ({ answers: [...answers, '{}'] })),
  ),
  lie(
    'it was answered with 402',
    ['a refusal leaves nothing'],
    'infro',
    lies.asked('infro', () => ({ id: null, status: 402 })),
  ),
  lie(
    'nobody used its key',
    ['a row was asked for'],
    'infro',
    lies.asked('infro', () => ({ id: null, status: null, answers: [], idempotencyKey: 'other' })),
  ),
  lie('an odd answer', ['no answer is odd'], null, () =>
    Promise.resolve({ world: { oddAnswers: [{ atMs: 0, request: 'GET /', status: 500, body: '' }] } }),
  ),
  lie(
    'it never ended',
    [
      'every generation has ended',
      'what was delivered is what was charged',
      'the API tells what stands',
      'one end is told, as the last event',
      'no webhook tells another end',
      DOCTOR,
    ],
    'infro',
    lies.ofRow(
      'generation',
      'infro',
      `completed_at = NULL, due_at = now(), state = 'running', stage = 'settling'`,
    ),
  ),
  lie(
    'its row names another job',
    ['a success has its job', 'every job is known', 'stored bytes are those of the provider'],
    'kling',
    lies.ofRow('submission', 'kling', `provider_job_id = 'other', handle = handle || '{"jobId":"other"}'`),
  ),
  lie(
    'a job of a refused try',
    ['no job for what was not taken', 'every job is known'],
    'failed',
    lies.ofRow(
      'submission',
      'failed',
      `state = 'refused', refusal_code = 'provider_rejected', provider_job_id = NULL, handle = NULL, accepted_at = NULL`,
    ),
  ),
  lie('a lost job, and no fault that loses answers', UNEXPLAINED, 'lost', () =>
    Promise.resolve({ world: { providerFaults: {} } }),
  ),
  lie('its job failed at the provider', ['a success has its job'], 'infro', lies.jobFailed),
  lie(
    'its hold is of another price',
    ['the price is the one that was told', 'a webhook tells what stands', DOCTOR],
    'infro',
    lies.ofRow('hold', 'infro', 'amount = amount + 1'),
  ),
  lie(
    'less was charged than delivered',
    ['what was delivered is what was charged', 'accounts add up', 'a webhook tells what stands', DOCTOR],
    'infro',
    lies.ofRow('hold', 'infro', 'captured = captured - 1'),
  ),
  lie(
    'credits came from nowhere',
    ['accounts add up', DOCTOR],
    null,
    lies.inDatabase(
      'ledger_account',
      () => `name = 'default'`,
      () => `UPDATE ledger_account SET posted = posted + 1 WHERE name = 'default'`,
      'infro',
    ),
  ),
  lie(
    'its hold is open',
    ['no hold is open', 'the API tells what stands', 'a webhook tells what stands', DOCTOR],
    'failed',
    lies.ofRow('hold', 'failed', `state = 'held', resolved_at = NULL`),
  ),
  lie(
    'the API shows another delivery',
    ['the API tells what stands'],
    'polled',
    lies.api('polled', '', (text) => text.replace('"delivery":"stored"', '"delivery":"partial"')),
  ),
  lie(
    'something happened after its end',
    ['one end is told, as the last event', 'a stream tells every event, to the end', DOCTOR],
    'polled',
    lies.inDatabase(
      'generation_event',
      (id) => `generation_id = '${id}'`,
      (id) =>
        `INSERT INTO generation_event SELECT generation_id, seq + 1, 'stage', data, created_at FROM generation_event
         WHERE generation_id = '${id}' AND type = 'terminal'`,
      'polled',
    ),
  ),
  lie(
    'its run is open',
    ['an ended generation has no open run'],
    'fal',
    lies.run('fal', () => 'nothing', false),
  ),
  lie(
    'its run was terminated',
    ['no run fails'],
    'fal',
    lies.run('fal', () => 'nothing', true),
  ),
  lie(
    'its history holds a secret',
    ['no secret is in a history', 'an ended generation has no open run'],
    'fal',
    lies.run('fal', ({ secrets }) => secrets.find((secret) => secret.startsWith('whsec_')) ?? '', false),
  ),
  lie(
    'its history holds the prompt',
    ['no secret is in a history', 'an ended generation has no open run'],
    'fal',
    lies.run('fal', () => 'a small world, fal', false),
  ),
  lie(
    'a stream leaves one event out',
    ['a stream tells every event, to the end'],
    'infro',
    lies.api('infro', '/events', (text) => text.replace(/^id: 2\n.*\n.*\n\n/m, '')),
  ),
  lie('its file is longer', ['stored bytes are those of the provider', DOCTOR], 'infro', lies.longerFile),
  lie(
    'a file that no row names',
    ['every file has its row'],
    'infro',
    lies.newFile((ids) => `${ids.infro}/7-1`),
  ),
  lie(
    'a temporary file',
    ['no temporary file is left'],
    null,
    lies.newFile(() => 'tmp/left'),
  ),
  lie(
    'it was not told',
    ['every end is told'],
    'infro',
    lies.received('infro', (one) => (one.receiver === 'endpoint' ? null : one)),
  ),
  lie(
    'it was told to nobody who answered',
    ['every end is told'],
    'failed',
    lies.received('failed', (one) => ({ ...one, answer: 500 })),
  ),
  lie(
    'told under another id',
    ['one id for one event'],
    'infro',
    lies.received('infro', (one) => ({ ...one, id: 'evt_other' })),
  ),
  lie(
    'not signed',
    ['every webhook is signed'],
    'infro',
    lies.received('infro', (one) => ({ ...one, verified: false })),
  ),
  lie('another end was told too', ['no webhook tells another end'], 'infro', async ({ world, ids }) => ({
    world: {
      received: world.received.flatMap((one) =>
        one.generationId === ids.infro ? [one, { ...one, type: 'generation.failed' }] : [one],
      ),
    },
  })),
  lie(
    'told with other credits',
    ['a webhook tells what stands'],
    'infro',
    lies.received('infro', (one) =>
      withData(one, { credits: { held: 0, captured: 1, released: 0, refunded: 0 } }),
    ),
  ),
  lie('told with a secret', ['no secret is in a webhook'], 'infro', (small) =>
    lies.received('infro', (one) => withData(one, { metadata: small.world.secrets[0] ?? '' }))(small),
  ),
  lie(
    'a secret in a log',
    ['no secret is in a log'],
    'infro',
    lies.logLine(({ world, ids }) => `${ids.infro} ${world.secrets[0]}`),
  ),
  lie(
    'a defect in a log',
    ['no process fails by itself'],
    null,
    lies.logLine(() => 'TypeError: x is not a function'),
  ),
  ...END_LIES,
  ...GUARD_LIES,
  ...UNEXCUSED_LIES,
  lie('a second job', ['one job for one generation', 'every job is known'], 'infro', lies.secondJob),
];
