import { submissionId } from '../../src/domain/submission-id.ts';
import { generation } from './violations.ts';
import type { Planted, Seed } from './violations.ts';
import { NO_OUTPUT_LEFT } from './violations-of-runs.ts';

const GAP = 'event numbers have no gap';
const TOLD = 'an ended generation with a callback_url has told it, or will';
const ERASED = 'an erased generation keeps nothing of what was asked for';
const INPUT = `inp_${'0'.repeat(26)}`;

const event = (p: Planted, type: string) =>
  `INSERT INTO webhook_event (id, tenant_id, generation_id, type, created_at)
   VALUES ('evt_seed', '${p.tenant.id}', '${p.ids.failed}', '${type}', now())`;
const delivery = (p: Planted, endpoint: string | null, columns: string) =>
  `INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, created_at, ${columns.split(' = ')[0]})
   VALUES ('${p.tenant.id}', 'evt_seed', ${endpoint === null ? 'NULL' : `'${endpoint}'`}, 'seed', now(), ${columns.split(' = ')[1]})`;
const callbackUrl = (p: Planted, more = '') =>
  generation(p.ids.failed, `callback_url = 'https://seed.example/'${more}`);
/** Erased as it must be, but for what the seed puts back. */
const erased = (p: Planted) => [
  generation(
    p.ids.failed,
    `erased_at = now(), input = '{}', response_body = jsonb_set(response_body::jsonb, '{input}', '{}')::text`,
  ),
  `UPDATE submission SET request = request || '{"body": ""}' WHERE generation_id = '${p.ids.failed}'`,
];
const input = (p: Planted, of: string, set: string) => [
  `INSERT INTO stored_input (id, tenant_id, source, path, bytes, sha256, media_type, created_at, expires_at)
   VALUES ('${INPUT}', '${p.tenant.id}', 'upload', '${INPUT}/0-1', 1, decode(repeat('ab', 32), 'hex'), 'image/png', now(), now())`,
  `UPDATE stored_input SET ${set} WHERE id = '${INPUT}'`,
  `INSERT INTO generation_input (generation_id, field, input_id) VALUES ('${of}', 'image_url', '${INPUT}')`,
];

/** Planted in deliveries, webhooks, inputs and erasures. */
export const DELIVERY_SEEDS: readonly Seed[] = [
  {
    name: GAP,
    how: 'an event gone from a history that was not pruned',
    sql: (p) => [`DELETE FROM generation_event WHERE generation_id = '${p.ids.running}' AND seq = 1`],
  },
  {
    name: GAP,
    how: 'an event left in a history that was pruned',
    sql: (p) => [generation(p.ids.failed, 'events_pruned_at = now()')],
  },
  {
    name: NO_OUTPUT_LEFT,
    how: 'told as expired, and its output is there',
    sql: (p) => [generation(p.ids.succeeded, `delivery = 'expired'`)],
  },
  {
    name: NO_OUTPUT_LEFT,
    how: 'its output is deleted, and it is told as stored',
    sql: (p) => [
      `UPDATE output SET state = 'deleted', deleted_at = now() WHERE generation_id = '${p.ids.succeeded}'`,
    ],
  },
  { name: TOLD, how: 'no event', sql: (p) => [callbackUrl(p)] },
  {
    name: TOLD,
    how: 'an event that goes nowhere',
    sql: (p) => [callbackUrl(p), event(p, 'generation.failed')],
  },
  {
    name: TOLD,
    how: 'an event that goes to an endpoint only',
    sql: (p) => [
      callbackUrl(p),
      event(p, 'generation.failed'),
      delivery(p, `whe_${'0'.repeat(26)}`, 'next_attempt_at = now()'),
    ],
  },
  {
    name: TOLD,
    how: 'another end',
    sql: (p) => [
      callbackUrl(p),
      event(p, 'generation.succeeded'),
      delivery(p, null, 'next_attempt_at = now()'),
    ],
  },
  {
    name: 'a delivery that was never made waits, failed, is held or was cancelled',
    how: 'delivered without an attempt',
    sql: (p) => [
      event(p, 'generation.failed'),
      delivery(p, null, 'next_attempt_at = now()'),
      `UPDATE webhook_delivery SET state = 'delivered', next_attempt_at = NULL, delivered_at = now() WHERE event_id = 'evt_seed'`,
    ],
  },
  {
    name: ERASED,
    how: 'its input',
    sql: (p) => [...erased(p), generation(p.ids.failed, `input = '{"prompt": "a cat"}'`)],
  },
  {
    name: ERASED,
    how: 'the answer to its creation',
    sql: (p) => [...erased(p), generation(p.ids.failed, `response_body = '{"input": {"prompt": "a cat"}}'`)],
  },
  { name: ERASED, how: 'the bytes of its submission', sql: (p) => erased(p).slice(0, 1) },
  {
    name: ERASED,
    how: 'what a provider called back',
    sql: (p) => [
      ...erased(p),
      `INSERT INTO callback (provider, credential, submission_id, event_key, type, terminal, body)
       VALUES ('infro', 'main', '${submissionId(p.ids.failed, 1)}', 'seed', 'seed', true, 'a cat')`,
    ],
  },
  {
    name: ERASED,
    how: 'a file that it was made from',
    sql: (p) => [...erased(p), ...input(p, p.ids.failed, `state = 'stored'`)],
  },
  {
    name: 'an input that a running generation uses is there',
    how: 'on its way out',
    sql: (p) => input(p, p.ids.running, `state = 'deleting'`),
  },
  {
    name: 'an input that a running generation uses is there',
    how: 'gone',
    sql: (p) => input(p, p.ids.queued, `state = 'deleted', deleted_at = now()`),
  },
];

/** What looks like a violation and is none. */
export const DELIVERED: readonly { readonly how: string; readonly sql: (p: Planted) => readonly string[] }[] =
  [
    {
      how: 'a callback_url that was told',
      sql: (p) => [
        callbackUrl(p),
        event(p, 'generation.failed'),
        delivery(p, null, 'next_attempt_at = now()'),
      ],
    },
    {
      how: 'a callback_url whose webhook was pruned by age',
      sql: (p) => [callbackUrl(p, `, completed_at = now() - interval '21 days'`)],
    },
    { how: 'an erased generation', sql: (p) => erased(p) },
    {
      how: 'a pruned history',
      sql: (p) => [
        generation(p.ids.failed, 'events_pruned_at = now()'),
        `DELETE FROM generation_event WHERE generation_id = '${p.ids.failed}' AND type <> 'terminal'`,
      ],
    },
    {
      how: 'a deleted input of a generation that has ended',
      sql: (p) => input(p, p.ids.failed, `state = 'deleted', deleted_at = now()`),
    },
  ];
