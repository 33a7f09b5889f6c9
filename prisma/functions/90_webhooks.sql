-- What is due at tenants' receivers now, each claimed for one attempt. The next attempt is set before the request is made, so that a
-- process that dies meanwhile loses none. Of each receiver at most perTarget are under way, one while its circuit is half open; so a
-- dead one holds up no other; and of each tenant at most perTenant, so that many dead receivers of one hold up no other tenant.
-- in:  {limit, perTarget, perTenant?, leaseMs}
-- out: [{deliveryId, attempt (from 1), eventId, type, eventAt, generationId | null, tenantId, endpointId | null, url, endOn4xx,
--       body | null, secrets: [{sealed (base64), keyId}] newest first}]
CREATE OR REPLACE FUNCTION claim_deliveries(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3);
    v_limit integer := (p ->> 'limit')::integer;
    v_per_tenant integer := coalesce((p ->> 'perTenant')::integer, 2147483647);
    v_targets text[];
    v_first_due timestamptz[];
    v_claimed jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('darkroom_deliver'));
    v_now := clock_timestamp();
    -- One step along the index per receiver, however many deliveries wait for it.
    WITH RECURSIVE targets AS (
        (SELECT d.target, d.next_attempt_at FROM webhook_delivery d WHERE d.state = 'pending' ORDER BY d.target, d.next_attempt_at LIMIT 1)
        UNION ALL
        SELECT n.target, n.next_attempt_at FROM targets t CROSS JOIN LATERAL (
            SELECT d.target, d.next_attempt_at FROM webhook_delivery d
            WHERE d.state = 'pending' AND d.target > t.target ORDER BY d.target, d.next_attempt_at LIMIT 1) n
    )
    SELECT array_agg(target), array_agg(next_attempt_at) INTO v_targets, v_first_due FROM targets;
    -- An event that was told while its endpoint was being disabled or deleted.
    UPDATE webhook_delivery d SET state = CASE WHEN e.deleted_at IS NULL THEN 'held' ELSE 'cancelled' END, next_attempt_at = NULL, leased_until = NULL
    FROM webhook_endpoint e
    WHERE e.id = ANY (v_targets) AND (e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL) AND d.target = e.id AND d.state = 'pending';
    WITH under_way AS MATERIALIZED (
        SELECT i.target, i.tenant_id, count(*) AS count FROM webhook_delivery i WHERE i.leased_until > v_now GROUP BY i.target, i.tenant_id
    ), tenants AS MATERIALIZED (
        SELECT tenant_id, sum(count) AS count FROM under_way GROUP BY tenant_id
    ), open_targets AS (
        SELECT t.target, t.first_due, coalesce(n.count, 0) AS of_tenant,
            CASE WHEN e.failures >= 5 THEN 1 ELSE (p ->> 'perTarget')::integer END - coalesce(u.count, 0) AS room,
            row_number() OVER (PARTITION BY coalesce(e.tenant_id, split_part(t.target, ' ', 1)) ORDER BY t.first_due, t.target) AS place
        FROM unnest(v_targets, v_first_due) AS t (target, first_due) LEFT JOIN webhook_endpoint e ON e.id = t.target
            LEFT JOIN under_way u ON u.target = t.target
            LEFT JOIN tenants n ON n.tenant_id = coalesce(e.tenant_id, split_part(t.target, ' ', 1))
        WHERE t.first_due <= v_now AND (e.open_until IS NULL OR e.open_until <= v_now)
            AND coalesce(u.count, 0) < CASE WHEN e.failures >= 5 THEN 1 ELSE (p ->> 'perTarget')::integer END
    ), chosen AS (
        SELECT * FROM open_targets WHERE of_tenant + place <= v_per_tenant ORDER BY first_due LIMIT v_limit
    ), due AS (
        SELECT d.id, d.next_attempt_at, o.of_tenant + row_number() OVER (PARTITION BY d.tenant_id ORDER BY d.next_attempt_at, d.id) AS place
        FROM chosen o CROSS JOIN LATERAL (
            SELECT w.id, w.tenant_id, w.next_attempt_at FROM webhook_delivery w
            WHERE w.target = o.target AND w.state = 'pending' AND w.next_attempt_at <= v_now
            ORDER BY w.next_attempt_at LIMIT o.room) d
    ), picked AS (
        -- A row whose attempt is being recorded right now is left alone.
        SELECT w.id FROM webhook_delivery w WHERE w.id IN (
            SELECT id FROM due WHERE place <= v_per_tenant ORDER BY next_attempt_at LIMIT v_limit)
            AND w.state = 'pending' AND w.next_attempt_at <= v_now FOR UPDATE SKIP LOCKED
    ), claimed AS (
        UPDATE webhook_delivery d SET attempts = d.attempts + 1,
            next_attempt_at = v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond',
            leased_until = v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond'
        FROM picked WHERE d.id = picked.id RETURNING d.*
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('deliveryId', c.id, 'attempt', c.attempts, 'eventId', v.id, 'type', v.type,
        'eventAt', iso_time(v.created_at), 'generationId', v.generation_id, 'tenantId', c.tenant_id, 'endpointId', c.endpoint_id,
        'url', coalesce(e.url, g.callback_url), 'endOn4xx', coalesce(e.end_on_4xx, false), 'body', v.body,
        'secrets', (SELECT coalesce(jsonb_agg(jsonb_build_object('sealed', encode(k.sealed, 'base64'), 'keyId', k.key_id) ORDER BY k.id DESC), '[]')
            FROM webhook_secret k WHERE k.tenant_id = c.tenant_id AND k.endpoint_id IS NOT DISTINCT FROM c.endpoint_id
                AND (k.expires_at IS NULL OR k.expires_at > v_now)))), '[]')
    INTO v_claimed
    FROM claimed c JOIN webhook_event v ON v.id = c.event_id LEFT JOIN webhook_endpoint e ON e.id = c.endpoint_id
        LEFT JOIN generation g ON g.id = v.generation_id;
    RETURN v_claimed;
END $$;

-- The bytes of an event, the same at each attempt: the first writer's stand. Bytes that were made before their generation was erased
-- are not kept. in: {eventId, body, erased?: made from a row that was erased already}; out: text | null (nothing is kept)
CREATE OR REPLACE FUNCTION keep_webhook_body(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    -- An erasure has the row's lock until all of it is done.
    PERFORM 1 FROM generation WHERE id = (SELECT generation_id FROM webhook_event WHERE id = p ->> 'eventId') FOR KEY SHARE;
    UPDATE webhook_event e SET body = p ->> 'body' WHERE e.id = p ->> 'eventId' AND e.body IS NULL
        AND (coalesce((p ->> 'erased')::boolean, false) OR NOT EXISTS (SELECT 1 FROM generation g WHERE g.id = e.generation_id AND g.erased_at IS NOT NULL));
    RETURN (SELECT to_jsonb(body) FROM webhook_event WHERE id = p ->> 'eventId');
END $$;

-- No more to this endpoint: what waits for it is held, and can be delivered later.
CREATE OR REPLACE FUNCTION disable_endpoint(p_endpoint_id text, p_reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoint SET disabled_at = coalesce(disabled_at, clock_timestamp()), disabled_reason = coalesce(disabled_reason, p_reason),
        updated_at = clock_timestamp()
    WHERE id = p_endpoint_id;
    UPDATE webhook_delivery SET state = 'held', next_attempt_at = NULL, leased_until = NULL WHERE target = p_endpoint_id AND state = 'pending';
END $$;

-- How one attempt ended. A success counts whenever it comes; a failure only of the attempt that is the latest. A 4xx by which an
-- endpoint ends a delivery (`ended`) is an answer of one that is alive: it counts for neither its circuit nor its end.
-- in:  {deliveryId, attempt, outcome: delivered | failed | gone | ended, status | null, problem | null, durationMs, retryAfterMs | null,
--       delaysMs: [ms before each attempt of the schedule, with its jitter], disableAfterMs}, answer (at most 20,000 bytes)
-- out: {state, disabled: null | gone | failing, endpointId | null}
CREATE OR REPLACE FUNCTION record_delivery_attempt(p jsonb, p_answer bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    d webhook_delivery;
    e webhook_endpoint;
    v_now timestamptz(3);
    v_attempt integer := (p ->> 'attempt')::integer;
    v_place integer;
    v_latest boolean;
    v_disabled text;
BEGIN
    -- The endpoint's row first, as everywhere: attempts of one endpoint change it one after the other.
    SELECT ep.* INTO e FROM webhook_endpoint ep JOIN webhook_delivery del ON del.endpoint_id = ep.id
    WHERE del.id = (p ->> 'deliveryId')::bigint FOR NO KEY UPDATE OF ep;
    SELECT * INTO d FROM webhook_delivery WHERE id = (p ->> 'deliveryId')::bigint FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('state', 'cancelled', 'disabled', NULL, 'endpointId', NULL);
    END IF;
    -- A receiver may answer with what it was sent: nothing of that is kept once the generation is erased, or while it is.
    PERFORM 1 FROM generation WHERE id = (SELECT generation_id FROM webhook_event WHERE id = d.event_id) FOR KEY SHARE;
    IF EXISTS (SELECT 1 FROM webhook_event v JOIN generation g ON g.id = v.generation_id WHERE v.id = d.event_id AND g.erased_at IS NOT NULL) THEN
        p_answer := '';
    END IF;
    v_now := clock_timestamp();
    v_latest := d.attempts = v_attempt;
    INSERT INTO webhook_attempt (delivery_id, attempt, at, duration_ms, status, problem, answer)
    VALUES (d.id, v_attempt, v_now, (p ->> 'durationMs')::integer, (p ->> 'status')::integer, p ->> 'problem', substring(p_answer FROM 1 FOR 20000))
    ON CONFLICT DO NOTHING;
    IF p ->> 'outcome' = 'delivered' THEN
        UPDATE webhook_delivery SET state = 'delivered', delivered_at = coalesce(delivered_at, v_now), next_attempt_at = NULL, leased_until = NULL,
            last_status = (p ->> 'status')::integer, last_problem = NULL
        WHERE id = d.id RETURNING * INTO d;
        UPDATE webhook_endpoint SET failing_since = NULL, failures = 0, open_until = NULL WHERE id = e.id AND (failures > 0 OR failing_since IS NOT NULL);
        RETURN jsonb_build_object('state', d.state, 'disabled', NULL, 'endpointId', e.id);
    END IF;
    IF v_latest AND d.state = 'pending' THEN
        v_place := d.attempts - d.schedule_from;
        IF p ->> 'outcome' = 'ended' OR p ->> 'outcome' = 'gone' AND e.id IS NULL OR v_place >= jsonb_array_length(p -> 'delaysMs') THEN
            UPDATE webhook_delivery SET state = 'failed', next_attempt_at = NULL, leased_until = NULL, last_status = (p ->> 'status')::integer,
                last_problem = p ->> 'problem' WHERE id = d.id RETURNING * INTO d;
        ELSE
            UPDATE webhook_delivery SET leased_until = NULL, last_status = (p ->> 'status')::integer, last_problem = p ->> 'problem',
                next_attempt_at = v_now + greatest((p -> 'delaysMs' ->> v_place)::double precision, coalesce((p ->> 'retryAfterMs')::double precision, 0))
                    * interval '1 millisecond'
            WHERE id = d.id RETURNING * INTO d;
        END IF;
    END IF;
    IF v_latest AND p ->> 'outcome' <> 'ended' AND e.id IS NOT NULL AND e.disabled_at IS NULL THEN
        UPDATE webhook_endpoint SET failures = failures + 1, failing_since = coalesce(failing_since, v_now),
            open_until = CASE WHEN failures + 1 >= 5 THEN v_now + least(300, 5 * power(2, least(failures - 4, 10))) * interval '1 second' END
        WHERE id = e.id RETURNING * INTO e;
        v_disabled := CASE WHEN p ->> 'outcome' = 'gone' THEN 'gone'
            WHEN e.failing_since <= v_now - (p ->> 'disableAfterMs')::double precision * interval '1 millisecond' THEN 'failing' END;
        IF v_disabled IS NOT NULL THEN
            PERFORM disable_endpoint(e.id, v_disabled);
            SELECT * INTO d FROM webhook_delivery WHERE id = d.id;
        END IF;
    END IF;
    RETURN jsonb_build_object('state', d.state, 'disabled', v_disabled, 'endpointId', e.id);
END $$;

-- An endpoint of a tenant, once per idempotency key. At most maxEndpoints live ones.
-- in:  {endpointId, tenantId, url, types: [text], description, endOn4xx, idempotencyKey, requestSha256 (hex), keyId, maxEndpoints}, sealed secret
-- out: {outcome: created | replayed, endpointId} | {outcome: key_reuse | too_many}
CREATE OR REPLACE FUNCTION create_webhook_endpoint(p jsonb, p_sealed bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_now timestamptz(3) := clock_timestamp();
BEGIN
    PERFORM 1 FROM tenant WHERE id = p ->> 'tenantId' FOR NO KEY UPDATE;
    SELECT * INTO e FROM webhook_endpoint WHERE tenant_id = p ->> 'tenantId' AND idempotency_key = p ->> 'idempotencyKey';
    IF FOUND THEN
        RETURN jsonb_build_object('outcome', CASE WHEN e.request_sha256 = decode(p ->> 'requestSha256', 'hex') THEN 'replayed' ELSE 'key_reuse' END,
            'endpointId', e.id);
    END IF;
    IF (SELECT count(*) FROM webhook_endpoint WHERE tenant_id = p ->> 'tenantId' AND deleted_at IS NULL) >= (p ->> 'maxEndpoints')::integer THEN
        RETURN jsonb_build_object('outcome', 'too_many');
    END IF;
    INSERT INTO webhook_endpoint (id, tenant_id, url, types, description, end_on_4xx, idempotency_key, request_sha256, created_at, updated_at)
    VALUES (p ->> 'endpointId', p ->> 'tenantId', p ->> 'url', ARRAY(SELECT jsonb_array_elements_text(p -> 'types')), p ->> 'description',
        (p ->> 'endOn4xx')::boolean, p ->> 'idempotencyKey', decode(p ->> 'requestSha256', 'hex'), v_now, v_now);
    INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at)
    VALUES (p ->> 'tenantId', p ->> 'endpointId', p_sealed, p ->> 'keyId', v_now);
    RETURN jsonb_build_object('outcome', 'created', 'endpointId', p ->> 'endpointId');
END $$;

-- Changes what is given. Enabling begins afresh; what was held stays so until it is asked for.
-- in:  {endpointId, tenantId, url?, types?, description?, endOn4xx?, enabled?}
-- out: {outcome: updated | not_found}
CREATE OR REPLACE FUNCTION update_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
BEGIN
    SELECT * INTO e FROM webhook_endpoint WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    UPDATE webhook_endpoint SET url = coalesce(p ->> 'url', url), description = coalesce(p ->> 'description', description),
        types = CASE WHEN p ? 'types' THEN ARRAY(SELECT jsonb_array_elements_text(p -> 'types')) ELSE types END,
        end_on_4xx = coalesce((p ->> 'endOn4xx')::boolean, end_on_4xx), updated_at = clock_timestamp()
    WHERE id = e.id;
    IF (p ->> 'enabled')::boolean = false AND e.disabled_at IS NULL THEN
        PERFORM disable_endpoint(e.id, 'tenant');
    ELSIF (p ->> 'enabled')::boolean OR p ->> 'url' IS DISTINCT FROM e.url AND p ->> 'url' IS NOT NULL THEN
        UPDATE webhook_endpoint SET failing_since = NULL, failures = 0, open_until = NULL,
            disabled_at = CASE WHEN (p ->> 'enabled')::boolean THEN NULL ELSE disabled_at END,
            disabled_reason = CASE WHEN (p ->> 'enabled')::boolean THEN NULL ELSE disabled_reason END
        WHERE id = e.id;
    END IF;
    RETURN jsonb_build_object('outcome', 'updated');
END $$;

-- Gone for its tenant; its deliveries stay readable, those that wait are cancelled.
-- in: {endpointId, tenantId}; out: {outcome: deleted | not_found}
CREATE OR REPLACE FUNCTION delete_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoint SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL, leased_until = NULL
    WHERE endpoint_id = p ->> 'endpointId' AND state IN ('pending', 'held');
    DELETE FROM webhook_secret WHERE endpoint_id = p ->> 'endpointId';
    RETURN jsonb_build_object('outcome', 'deleted');
END $$;

-- A new secret of an endpoint, or of the tenant for callback_url (endpointId null); the ones before sign beside it for their time.
-- in:  {tenantId, endpointId | null, keyId, overlapMs, onlyFirst?: nothing happens where there is a secret already}, sealed secret
-- out: {outcome: rotated | not_found | exists}
CREATE OR REPLACE FUNCTION rotate_webhook_secret(p jsonb, p_sealed bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_endpoint text := p ->> 'endpointId';
BEGIN
    PERFORM 1 FROM tenant WHERE id = p ->> 'tenantId' FOR NO KEY UPDATE;
    IF FOUND AND v_endpoint IS NOT NULL THEN
        -- Not beside a deletion, which removes the secrets.
        PERFORM 1 FROM webhook_endpoint WHERE id = v_endpoint AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR SHARE;
    END IF;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF coalesce((p ->> 'onlyFirst')::boolean, false) AND EXISTS (SELECT 1 FROM webhook_secret
        WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NULL) THEN
        RETURN jsonb_build_object('outcome', 'exists');
    END IF;
    -- Who lost the answer rotates again, and its receiver still verifies with an older one: each lives out its time, the oldest of five ends.
    DELETE FROM webhook_secret WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NOT NULL
        AND (expires_at <= v_now OR id NOT IN (SELECT id FROM webhook_secret WHERE tenant_id = p ->> 'tenantId'
            AND endpoint_id IS NOT DISTINCT FROM v_endpoint ORDER BY id DESC LIMIT 4));
    UPDATE webhook_secret SET expires_at = v_now + (p ->> 'overlapMs')::double precision * interval '1 millisecond'
    WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NULL;
    INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at) VALUES (p ->> 'tenantId', v_endpoint, p_sealed, p ->> 'keyId', v_now);
    RETURN jsonb_build_object('outcome', 'rotated');
END $$;

-- Sends again: one delivery, or all of an endpoint since a time (those not delivered, or all), at most `limit` in one call, oldest first.
-- in:  {tenantId, deliveryId} | {tenantId, endpointId, since (ISO 8601), all: boolean, limit}
-- out: {outcome: redelivering, count, more, next: the `since` that goes on | null} | {outcome: not_found | endpoint_disabled | endpoint_deleted}
CREATE OR REPLACE FUNCTION redeliver_webhooks(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_endpoint text := p ->> 'endpointId';
    v_delivery bigint := (p ->> 'deliveryId')::bigint;
    v_ids bigint[];
    v_limit integer := coalesce((p ->> 'limit')::integer, 1);
BEGIN
    IF v_delivery IS NOT NULL THEN
        SELECT endpoint_id INTO v_endpoint FROM webhook_delivery WHERE id = v_delivery AND tenant_id = p ->> 'tenantId';
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'not_found');
        END IF;
    END IF;
    IF v_endpoint IS NOT NULL THEN
        SELECT * INTO e FROM webhook_endpoint WHERE id = v_endpoint AND tenant_id = p ->> 'tenantId' FOR NO KEY UPDATE;
        IF NOT FOUND OR e.deleted_at IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', CASE WHEN e.id IS NULL OR v_delivery IS NULL THEN 'not_found' ELSE 'endpoint_deleted' END);
        END IF;
        IF e.disabled_at IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', 'endpoint_disabled');
        END IF;
    END IF;
    IF v_delivery IS NOT NULL THEN
        v_ids := ARRAY[v_delivery];
    ELSE
        SELECT array_agg(id ORDER BY created_at, id) INTO v_ids FROM (SELECT id, created_at FROM webhook_delivery WHERE endpoint_id = v_endpoint
            AND created_at >= (p ->> 'since')::timestamptz
            AND (state IN ('failed', 'held') OR (p ->> 'all')::boolean AND state = 'delivered')
            ORDER BY created_at, id LIMIT v_limit + 1) AS found;
    END IF;
    UPDATE webhook_delivery SET state = 'pending', schedule_from = attempts, next_attempt_at = clock_timestamp(), leased_until = NULL
    WHERE id = ANY (v_ids[1:v_limit]);
    PERFORM pg_notify('darkroom_webhook', '');
    RETURN jsonb_build_object('outcome', 'redelivering', 'count', coalesce(cardinality(v_ids[1:v_limit]), 0), 'more', coalesce(cardinality(v_ids), 0) > v_limit,
        'next', (SELECT iso_time(created_at) FROM webhook_delivery WHERE id = v_ids[v_limit + 1]));
END $$;

-- An event of its own for one endpoint, to try it.
-- in: {tenantId, endpointId, eventId, body}; out: {outcome: created, deliveryId} | {outcome: not_found | endpoint_disabled}
CREATE OR REPLACE FUNCTION test_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_now timestamptz(3) := clock_timestamp();
    v_delivery bigint;
BEGIN
    SELECT * INTO e FROM webhook_endpoint WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF e.disabled_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'endpoint_disabled');
    END IF;
    INSERT INTO webhook_event (id, tenant_id, type, body, created_at) VALUES (p ->> 'eventId', e.tenant_id, 'webhook.test', p ->> 'body', v_now);
    INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, next_attempt_at, created_at)
    VALUES (e.tenant_id, p ->> 'eventId', e.id, e.id, v_now, v_now) RETURNING id INTO v_delivery;
    PERFORM pg_notify('darkroom_webhook', '');
    RETURN jsonb_build_object('outcome', 'created', 'deliveryId', v_delivery);
END $$;
