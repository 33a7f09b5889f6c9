import { submissionId } from '../../src/domain/submission-id.ts';
import { event, generation, hold, account } from './violations.ts';
import type { Seed } from './violations.ts';

const RELEASED = 'failed, cancelled or expired if and only if released';
const LAST_EVENT = 'a terminal generation has exactly one terminal event, its last';
const NO_GAP = 'event numbers have no gap';
const PRICED = 'a capture is the price of one output by the outputs stored, within the hold';

export const NO_OUTPUT_LEFT = 'a success that is told as expired has no output left, and no other has none';
const NOT_LEFT = 'an ended generation has no submission that is prepared or sending';
const ONE_JOB = 'at most one accepted job per submission';

/** Planted in states, submissions, outputs and events. */
export const RUN_SEEDS: readonly Seed[] = [
  {
    name: 'a terminal generation has no open hold',
    how: 'a hold that was forgotten',
    sql: (p) => [hold(p.ids.failed, `state = 'held', resolved_at = NULL`), account(p, 'held = held + 100')],
    also: [RELEASED],
  },
  {
    name: 'a generation that has not ended keeps its hold',
    how: 'a hold released too early',
    sql: (p) => [
      hold(p.ids.running, `state = 'released', resolved_at = now()`),
      account(p, 'held = held - 100'),
    ],
    also: [RELEASED],
  },
  {
    name: 'succeeded if and only if captured',
    how: 'a failure that became a success',
    sql: (p) => [
      generation(
        p.ids.failed,
        `state = 'succeeded', error_code = NULL, success_at = now(), store_until = now(), delivery = 'stored'`,
      ),
    ],
    also: [RELEASED, 'succeeded means that an output is stored', NO_OUTPUT_LEFT],
  },
  {
    name: RELEASED,
    how: 'a success that became a failure',
    sql: (p) => [generation(p.ids.succeeded, `state = 'failed', error_code = 'output_lost'`)],
    also: ['succeeded if and only if captured'],
  },
  {
    name: 'stage waiting or storing means that a handle is present',
    how: 'waiting for no job',
    sql: (p) => [generation(p.ids.queued, `state = 'running', stage = 'waiting'`)],
  },
  {
    name: 'stage waiting or storing means that a handle is present',
    how: 'waiting for an abandoned job',
    sql: (p) => [`UPDATE submission SET state = 'abandoned' WHERE generation_id = '${p.ids.running}'`],
  },
  {
    name: 'a live handle means that the stage is past submitting',
    how: 'an accepted job and stage submitting',
    sql: (p) => [generation(p.ids.running, `stage = 'submitting'`)],
  },
  {
    name: 'at most one live submission per generation',
    how: 'a second one',
    sql: (p) => [
      'DROP INDEX submission_one_live',
      `INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, idempotency_key, request, created_at, updated_at)
       VALUES ('${submissionId(p.ids.running, 2)}', '${p.ids.running}', 2, 0, 'infro', 'main', 'seed', '{}', now(), now())`,
    ],
  },
  {
    name: NOT_LEFT,
    how: 'one that is sending after the end',
    sql: (p) => [
      `UPDATE submission SET state = 'sending', lease_until = now() WHERE generation_id = '${p.ids.failed}'`,
    ],
  },
  {
    name: NOT_LEFT,
    how: 'one that is prepared after the end',
    sql: (p) => [`UPDATE submission SET state = 'prepared' WHERE generation_id = '${p.ids.failed}'`],
  },
  {
    name: 'one provider job belongs to one submission',
    how: 'a job of two',
    sql: (p) => [
      'DROP INDEX submission_job',
      `UPDATE submission SET provider_job_id = 'job-${p.ids.running}', handle = '{"jobId": "job-${p.ids.running}"}'
       WHERE generation_id = '${p.ids.other}'`,
    ],
  },
  {
    name: ONE_JOB,
    how: 'a handle of another job',
    sql: (p) => [
      `UPDATE submission SET handle = '{"jobId": "another"}' WHERE generation_id = '${p.ids.running}'`,
    ],
  },
  {
    name: ONE_JOB,
    how: 'its job is an orphan as well',
    sql: (p) => [
      `INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
       SELECT provider, credential, provider_job_id, id FROM submission WHERE generation_id = '${p.ids.running}'`,
    ],
  },
  {
    name: 'no hold outlives its deadline or store time, except with an operator',
    how: 'a deadline of ten minutes ago',
    sql: (p) => [generation(p.ids.running, `deadline_at = now() - interval '10 minutes'`)],
  },
  {
    name: 'succeeded means that an output is stored',
    how: 'no output',
    sql: (p) => [`DELETE FROM output WHERE generation_id = '${p.ids.succeeded}'`],
    also: [PRICED, NO_OUTPUT_LEFT],
  },
  {
    name: 'no output is still being stored after the end',
    how: 'an output of a failure',
    sql: (p) => [
      `INSERT INTO output (generation_id, index, created_at) VALUES ('${p.ids.failed}', 0, now())`,
    ],
  },
  {
    name: LAST_EVENT,
    how: 'no terminal event',
    sql: (p) => [
      `DELETE FROM generation_event WHERE generation_id = '${p.ids.failed}' AND type = 'terminal'`,
      generation(p.ids.failed, 'event_seq = event_seq - 1'),
    ],
  },
  {
    name: LAST_EVENT,
    how: 'an event after it',
    sql: (p) => [event(p.ids.failed, 'progress', 1), generation(p.ids.failed, 'event_seq = event_seq + 1')],
  },
  {
    name: 'a generation that has not ended has no terminal event',
    how: 'a terminal event too early',
    sql: (p) => [event(p.ids.running, 'terminal', 1), generation(p.ids.running, 'event_seq = event_seq + 1')],
  },
  {
    name: NO_GAP,
    how: 'a number without an event',
    sql: (p) => [generation(p.ids.running, 'event_seq = event_seq + 1')],
  },
  {
    name: NO_GAP,
    how: 'an event that was skipped',
    sql: (p) => [event(p.ids.running, 'progress', 2), generation(p.ids.running, 'event_seq = event_seq + 2')],
  },
];
