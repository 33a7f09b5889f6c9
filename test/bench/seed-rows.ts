import type pg from 'pg';
import { planFor } from '../db/fixtures.ts';

/** What rows to make. One database can be grown: the next call goes on where the last one ended. */
export interface SeedOptions {
  /** Finished generations that are there already, made by earlier calls. */
  readonly from: number;
  /** Finished generations that are there afterwards. */
  readonly to: number;
  /** The moment before which all of it happened, the same in each call. */
  readonly base: Date;
}

/** Who has the rows; the first tenant has half of them, its first account most of those. */
export interface SeededTenants {
  readonly tenants: readonly string[];
  /** An account of the first tenant with a thousandth of its rows. */
  readonly smallAccount: string;
  /** A model that only the three newest of its kind ever used. */
  readonly retiredModel: string;
}

const TENANTS = 8;
const ACCOUNTS = 20;
/** Generations that wait for their provider, whatever the number of finished ones. */
export const WAITING = 3_000;
/** Of the newest finished ones, whose webhooks still wait. */
const PENDING = 300;
/** A new one each so often: a million are a month, so that what is recent is as much in each size. */
const EVERY_MS = 2_500;
const PRICE = 100;

const PREPARE = `
  CREATE OR REPLACE FUNCTION pg_temp.base32_ms(p bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', ((p >> (5 * n)) & 31)::int + 1, 1), '' ORDER BY n DESC) FROM generate_series(0, 9) AS n;
  $$;
  CREATE OR REPLACE FUNCTION pg_temp.id_of(p text, p_at timestamptz, i bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT p || '_' || pg_temp.base32_ms(floor(extract(epoch FROM p_at) * 1000)::bigint) || 'e' || lpad(to_hex(i), 15, '0');
  $$;
  CREATE TEMP TABLE IF NOT EXISTS seed_plan (plan jsonb, base timestamptz(3));
  TRUNCATE seed_plan`;

/** Tenants, accounts with their grant, endpoints and secrets. */
const OWNERS = [
  `INSERT INTO tenant (id, name, created_at) SELECT 'ten_' || lpad(t::text, 26, '0'), 'seed', base - interval '40 days'
   FROM seed_plan, generate_series(0, ${TENANTS - 1}) AS t`,
  `INSERT INTO ledger_account (id, tenant_id, name, kind, posted, granted, created_at)
   SELECT 'acc_' || lpad(t::text, 13, '0') || lpad(a::text, 13, '0'), 'ten_' || lpad(t::text, 26, '0'), CASE a WHEN 0 THEN 'default' ELSE 'user-' || a END,
     'tenant', 1000000000, 1000000000, base - interval '40 days'
   FROM seed_plan, generate_series(0, ${TENANTS - 1}) AS t, generate_series(0, ${ACCOUNTS - 1}) AS a`,
  `INSERT INTO ledger_transaction (id, kind, business_key, reason, actor, created_at) OVERRIDING SYSTEM VALUE
   SELECT row_number() OVER (ORDER BY a.id), 'grant', 'grant:' || a.id, 'bought', 'shop', a.created_at FROM ledger_account a WHERE a.kind = 'tenant'`,
  `INSERT INTO ledger_entry (transaction_id, account_id, amount, created_at)
   SELECT t.id, x.account_id, x.amount, t.created_at FROM ledger_transaction t
   CROSS JOIN LATERAL (VALUES (substr(t.business_key, 7), 1000000000), ('sys_world', -1000000000)) AS x (account_id, amount) WHERE t.kind = 'grant'`,
  `INSERT INTO webhook_endpoint (id, tenant_id, url, types, idempotency_key, request_sha256, created_at, updated_at)
   SELECT 'whe_' || lpad(t::text, 26, '0'), 'ten_' || lpad(t::text, 26, '0'), 'https://shop.example/hooks/' || t,
     ARRAY['generation.succeeded', 'generation.failed', 'generation.cancelled', 'generation.expired'], 'seed', sha256('seed'), base - interval '40 days',
     base - interval '40 days' FROM seed_plan, generate_series(0, ${TENANTS - 3}) AS t`,
  `INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at)
   SELECT id, NULL, '\\x00'::bytea, 'k1', created_at FROM tenant UNION ALL SELECT tenant_id, id, '\\x00'::bytea, 'k1', created_at FROM webhook_endpoint`,
];

/** One row a generation, from which all others follow; negative numbers wait. */
const DRAFT = `
  CREATE TEMP TABLE seed_row AS
  SELECT n.i, pg_temp.id_of('gen', n.at, abs(n.i) + CASE WHEN n.i < 0 THEN 1000000000 ELSE 0 END) AS id, n.at, n.at + interval '30 seconds' AS done_at,
    'ten_' || lpad(n.t::text, 26, '0') AS tenant_id, n.t,
    'acc_' || lpad(n.t::text, 13, '0') || lpad((CASE WHEN n.t > 0 THEN abs(n.i) / 16 % ${ACCOUNTS} WHEN n.i % 2000 = 2 THEN 1 WHEN n.i % 4 = 0 THEN 2 + abs(n.i) / 4 % ${ACCOUNTS - 2} ELSE 0 END)::text, 13, '0') AS account_id,
    CASE WHEN n.i < 0 THEN 'running' WHEN n.i IN (102, 502, 902) THEN 'expired' WHEN n.i % 100 < 3 THEN 'cancelled' WHEN n.i % 100 < 8 THEN 'failed' ELSE 'succeeded' END AS state,
    CASE WHEN n.i IN (104, 504, 904) THEN 'retired-video' WHEN n.i % 3 = 0 THEN 'infro-image' ELSE 'infro-video' END AS model,
    CASE n.i % 3 WHEN 0 THEN 'replicate' ELSE 'infro' END AS provider,
    n.i > 0 AND n.i % 20 IN (4, 13) AS own_url
  FROM (SELECT i, CASE WHEN i % 2 = 0 THEN 0 ELSE 1 + abs(i) / 2 % ${TENANTS - 1} END AS t,
      (p.base - CASE WHEN i < 0 THEN interval '60 seconds' + i * interval '1 millisecond' ELSE interval '65 seconds' + i * interval '${EVERY_MS} milliseconds' END)::timestamptz(3) AS at
    FROM seed_plan p, generate_series($1::bigint, $2::bigint) AS i WHERE i <> 0) AS n`;

const ROWS = [
  `INSERT INTO generation (id, tenant_id, account_id, idempotency_route, idempotency_key, request_sha256, response_body, model, provider, input, metadata,
     plan, credits, state, stage, delivery, progress, error_code, cancel_requested_at, cancel_requested_by, cancel_outcome, event_seq, created_at,
     updated_at, started_at, deadline_at, success_at, store_until, completed_at, due_at, callback_url)
   SELECT r.id, r.tenant_id, r.account_id, 'POST /v1/generations', 'order-' || r.i, sha256(r.id::bytea),
     '{"id":"' || r.id || '","object":"generation","state":"queued","input":{"prompt":"a cat in the rain"},"outputs":[],"metadata":{"order":"' || r.i || '"}}',
     r.model, r.provider, '{"prompt": "a cat in the rain", "duration_seconds": 5}', jsonb_build_object('order', r.i::text), p.plan, ${PRICE}, r.state,
     CASE WHEN r.i < 0 THEN 'waiting' ELSE 'done' END, CASE r.state WHEN 'succeeded' THEN 'stored' WHEN 'running' THEN 'pending' ELSE 'failed' END,
     CASE r.state WHEN 'succeeded' THEN 1 END, CASE r.state WHEN 'failed' THEN 'provider_failed' WHEN 'expired' THEN 'deadline_exceeded' END,
     CASE r.state WHEN 'cancelled' THEN r.at + interval '20 seconds' END, CASE r.state WHEN 'cancelled' THEN 'tenant' END,
     CASE r.state WHEN 'cancelled' THEN 'confirmed' END, CASE WHEN r.i < 0 THEN 2 ELSE 4 END, r.at, CASE WHEN r.i < 0 THEN r.at ELSE r.done_at END,
     r.at + interval '1 second', r.at + interval '1 day', CASE r.state WHEN 'succeeded' THEN r.at + interval '25 seconds' END,
     CASE r.state WHEN 'succeeded' THEN r.at + interval '1 day' END, CASE WHEN r.i > 0 THEN r.done_at END,
     CASE WHEN r.i < 0 THEN p.base + interval '1 hour' END, CASE WHEN r.own_url THEN 'https://own.example/hook' END
   FROM seed_row r, seed_plan p ORDER BY r.at`,
  `INSERT INTO hold (generation_id, account_id, amount, state, captured, created_at, resolved_at)
   SELECT id, account_id, ${PRICE}, CASE state WHEN 'running' THEN 'held' WHEN 'succeeded' THEN 'captured' ELSE 'released' END,
     CASE state WHEN 'succeeded' THEN ${PRICE} ELSE 0 END, at, CASE WHEN i > 0 THEN done_at END FROM seed_row ORDER BY at`,
  `INSERT INTO ledger_transaction (id, kind, business_key, generation_id, reason, actor, created_at) OVERRIDING SYSTEM VALUE
   SELECT 10000000 - i, 'capture', 'capture:' || id, id, 'outputs stored', 'darkroom', done_at FROM seed_row WHERE state = 'succeeded' ORDER BY at`,
  `INSERT INTO ledger_entry (transaction_id, account_id, amount, created_at)
   SELECT 10000000 - i, x.account_id, x.amount, done_at FROM seed_row r
   CROSS JOIN LATERAL (VALUES (r.account_id, -${PRICE}), ('sys_revenue', ${PRICE})) AS x (account_id, amount) WHERE r.state = 'succeeded' ORDER BY r.at`,
  `INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, state, idempotency_key, request, callback_base, callback_key_id,
     fence, first_sent_at, accepted_at, provider_job_id, handle, provider_status, observed_at, observe_count, terminal_hint_at, finished_by, ended_at,
     ended_as, cost_amount, cost_unit, cost_final, cost_source, cost_at, callback_count, late_due_at, late_count, created_at, updated_at)
   SELECT 'sub_' || substr(id, 5) || '_1', id, 1, 0, provider, 'main', 'accepted', 'key-' || substr(id, 5),
     '{"method": "POST", "path": "/v1/jobs", "contentType": "application/json", "body": "{\\"prompt\\":\\"a cat in the rain\\",\\"duration_seconds\\":5}"}',
     'https://darkroom.example/callbacks', 'k1', 1, at + interval '500 milliseconds', at + interval '1 second', 'job-' || substr(id, 5),
     jsonb_build_object('jobId', 'job-' || substr(id, 5)), CASE WHEN i < 0 THEN 'processing' ELSE 'done' END, CASE WHEN i > 0 THEN done_at END,
     CASE WHEN i > 0 THEN 1 ELSE 0 END, CASE WHEN i > 0 THEN done_at END, CASE WHEN ended THEN 'callback' END, CASE WHEN ended THEN done_at END,
     CASE WHEN ended THEN state END, CASE WHEN state = 'succeeded' THEN 0.25 END, CASE WHEN state = 'succeeded' THEN 'USD' END,
     CASE WHEN state = 'succeeded' THEN true END, CASE WHEN state = 'succeeded' THEN 'observation' END, CASE WHEN state = 'succeeded' THEN done_at END,
     CASE WHEN i > 0 THEN 1 ELSE 0 END, CASE WHEN state = 'expired' THEN done_at + interval '1 day' END, CASE WHEN state = 'expired' THEN 2 ELSE 0 END, at, at
   FROM (SELECT *, state IN ('succeeded', 'failed', 'cancelled') AS ended FROM seed_row) AS r ORDER BY at`,
  `INSERT INTO callback (id, provider, credential, submission_id, provider_job_id, event_key, type, terminal, body, received_at, seen_at) OVERRIDING SYSTEM VALUE
   SELECT 10000000 - i, provider, 'main', 'sub_' || substr(id, 5) || '_1', 'job-' || substr(id, 5), 'event-' || i, 'job.updated', true,
     convert_to('{"id":"job-' || substr(id, 5) || '","status":"done","output":["https://files.example/1.mp4"]}', 'UTF8'), done_at - interval '1 second', done_at
   FROM seed_row WHERE i > 0 ORDER BY at`,
  `INSERT INTO output (generation_id, index, state, attempt, path, bytes, sha256, media_type, width, height, duration_seconds, priced_seconds, stored_at,
     expires_at, created_at)
   SELECT id, 0, 'stored', 1, id || '/0-1.mp4', 100000, sha256(id::bytea), 'video/mp4', 640, 360, 5, 5, done_at, done_at + interval '60 days', done_at
   FROM seed_row WHERE state = 'succeeded' ORDER BY at`,
  `INSERT INTO generation_event (generation_id, seq, type, data, created_at)
   SELECT r.id, x.seq, x.type, jsonb_build_object('state', x.state, 'stage', x.stage), r.at + x.seq * interval '5 seconds' FROM seed_row r
   CROSS JOIN LATERAL (VALUES (1, 'created', 'queued', 'queued'), (2, 'stage', 'running', 'waiting'), (3, 'stage', 'running', 'storing'),
     (4, 'terminal', r.state, 'done')) AS x (seq, type, state, stage) WHERE r.i > 0 OR x.seq <= 2 ORDER BY r.at`,
  `INSERT INTO webhook_event (id, tenant_id, generation_id, type, body, created_at)
   SELECT 'evt_' || substr(id, 5) || '_' || state, tenant_id, id, 'generation.' || state,
     '{"type":"generation.' || state || '","data":{"id":"' || id || '","outputs":[{"url":"https://darkroom.example/files/1"}]}}', done_at
   FROM seed_row WHERE i > 0 AND (t <= ${TENANTS - 3} OR own_url) ORDER BY at`,
  `INSERT INTO webhook_delivery (id, tenant_id, event_id, endpoint_id, target, state, attempts, next_attempt_at, last_status, created_at, delivered_at) OVERRIDING SYSTEM VALUE
   SELECT 20000000 - 2 * r.i + x.place, r.tenant_id, 'evt_' || substr(r.id, 5) || '_' || r.state, x.endpoint_id, x.target,
     CASE WHEN r.i <= ${PENDING} THEN 'pending' ELSE 'delivered' END, CASE WHEN r.i <= ${PENDING} THEN 0 ELSE 1 END,
     CASE WHEN r.i <= ${PENDING} THEN r.done_at END, CASE WHEN r.i > ${PENDING} THEN 200 END, r.done_at, CASE WHEN r.i > ${PENDING} THEN r.done_at END
   FROM seed_row r CROSS JOIN LATERAL (
     SELECT 0 AS place, 'whe_' || lpad(r.t::text, 26, '0') AS endpoint_id, 'whe_' || lpad(r.t::text, 26, '0') AS target WHERE r.t <= ${TENANTS - 3}
     UNION ALL SELECT 1, NULL, r.tenant_id || ' https://own.example' WHERE r.own_url) AS x
   WHERE r.i > 0 ORDER BY r.at`,
  `INSERT INTO webhook_attempt (delivery_id, attempt, at, duration_ms, status, answer)
   SELECT 20000000 - 2 * i + CASE WHEN t <= ${TENANTS - 3} THEN 0 ELSE 1 END, 1, done_at, 40, 200, 'ok'
   FROM seed_row WHERE i > ${PENDING} AND (t <= ${TENANTS - 3} OR own_url) ORDER BY at`,
];

const BALANCES = `
  UPDATE ledger_account a SET posted = a.posted - s.captured, held = a.held + s.held
  FROM (SELECT account_id, ${PRICE} * count(*) FILTER (WHERE state = 'succeeded') AS captured, ${PRICE} * count(*) FILTER (WHERE i < 0) AS held
    FROM seed_row GROUP BY account_id) AS s WHERE a.id = s.account_id`;

/** All indexes but those of constraints: they are made anew after many rows, which takes a fraction of keeping them. */
const INDEXES = `SELECT c.relname AS name, pg_get_indexdef(c.oid) AS definition FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_class t ON t.oid = i.indrelid WHERE t.relnamespace = 'public'::regnamespace AND t.relname NOT LIKE '\\_prisma%'
  AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = i.indexrelid)`;
const SEQUENCES = ['ledger_transaction', 'callback', 'webhook_delivery'].map(
  (table) => `SELECT setval(pg_get_serial_sequence('${table}', 'id'), 30000000)`,
);
/** Rows of one transaction: more would spill, fewer cost round trips. */
const CHUNK = 100_000;

/**
 * Fills a migrated database with finished generations and all that belongs to them, as a month of service leaves it: by sets,
 * with triggers and foreign keys off, then analysed. The first call makes tenants and those that wait, too. It needs a
 * superuser. The invariants hold afterwards.
 * @throws the driver's error; what was made by whole chunks stays
 */
export async function seedRows(client: pg.Client, { from, to, base }: SeedOptions): Promise<SeededTenants> {
  await client.query(
    `SET session_replication_role = replica; SET synchronous_commit = off; SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'`,
  );
  try {
    await client.query(PREPARE);
    await client.query('INSERT INTO seed_plan VALUES ($1, $2)', [JSON.stringify(planFor()), base]);
    if (from === 0) for (const statement of OWNERS) await client.query(statement);
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(INDEXES);
    for (const { name } of indexes) await client.query(`DROP INDEX "${name}"`);
    for (let done = from; done < to; done += CHUNK) {
      await client.query('BEGIN');
      await client.query(`DROP TABLE IF EXISTS seed_row`);
      await client.query(
        DRAFT.replace('$1', String(done === 0 ? -WAITING : done + 1)).replace(
          '$2',
          String(Math.min(done + CHUNK, to)),
        ),
      );
      for (const statement of [...ROWS, BALANCES]) await client.query(statement);
      await client.query('COMMIT');
    }
    for (const { definition } of indexes) await client.query(definition);
    if (from === 0) for (const statement of SEQUENCES) await client.query(statement);
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    await client.query(
      'DROP TABLE IF EXISTS seed_row; RESET session_replication_role; RESET synchronous_commit; RESET work_mem; RESET maintenance_work_mem',
    );
  }
  await client.query('VACUUM ANALYZE');
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM tenant WHERE name = 'seed' ORDER BY id`,
  );
  return { tenants: rows.map(({ id }) => id), smallAccount: 'user-1', retiredModel: 'retired-video' };
}
