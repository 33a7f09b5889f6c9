-- Deletes what was delivered, at the tenant's wish: the files go soon after, the status stays readable. The answer is the same when it
-- was asked before.
-- in: {generationId, tenantId}; out: {outcome: deleting, count} | {outcome: not_found | not_terminal}
CREATE OR REPLACE FUNCTION delete_outputs(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_count integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' AND tenant_id = p ->> 'tenantId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NULL THEN
        RETURN jsonb_build_object('outcome', 'not_terminal');
    END IF;
    UPDATE output SET state = 'deleting', lease_until = NULL WHERE generation_id = g.id AND state = 'stored';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count > 0 THEN
        UPDATE generation SET delivery = 'expired', updated_at = clock_timestamp() WHERE id = g.id;
    END IF;
    RETURN jsonb_build_object('outcome', 'deleting', 'count', v_count);
END $$;

-- Takes what was asked for out of every row that holds it, for good, and removes inputs that nothing else uses. Credits, times and
-- outputs stay. The same when it was erased before.
-- in:  {generationId, tenantId} | {generationId, tenantId: null, actor, reason}: by an operator, on record
-- out: {outcome: erased | not_found | not_terminal}
CREATE OR REPLACE FUNCTION erase_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3);
    v_inputs text[];
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' AND (p ->> 'tenantId' IS NULL OR tenant_id = p ->> 'tenantId') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NULL THEN
        RETURN jsonb_build_object('outcome', 'not_terminal');
    END IF;
    IF g.erased_at IS NULL THEN
        v_now := clock_timestamp();
        UPDATE generation SET erased_at = v_now, updated_at = v_now, input = '{}',
            response_body = jsonb_set(response_body::jsonb, '{input}', '{}')::text
        WHERE id = g.id;
        UPDATE submission SET request = request || '{"body": ""}' WHERE generation_id = g.id;
        UPDATE callback SET body = '' WHERE submission_id IN (SELECT id FROM submission WHERE generation_id = g.id);
        UPDATE callback c SET body = '' FROM orphan_job o JOIN submission s ON s.id = o.submission_id
        WHERE s.generation_id = g.id AND c.submission_id IS NULL AND c.provider = o.provider AND c.provider_job_id = o.provider_job_id;
        -- A receiver may have answered with what it was sent.
        UPDATE webhook_attempt SET answer = '' WHERE delivery_id IN (
            SELECT d.id FROM webhook_event v JOIN webhook_delivery d ON d.event_id = v.id WHERE v.generation_id = g.id);
        UPDATE webhook_event SET body = NULL WHERE generation_id = g.id;
        SELECT array_agg(input_id ORDER BY input_id) INTO v_inputs FROM generation_input WHERE generation_id = g.id;
        PERFORM 1 FROM stored_input WHERE id = ANY (v_inputs) ORDER BY id FOR UPDATE;
        DELETE FROM generation_input WHERE generation_id = g.id;
        UPDATE stored_input i SET state = 'deleting', lease_until = NULL, idempotency_key = NULL WHERE i.id = ANY (v_inputs) AND i.state = 'stored'
            AND NOT EXISTS (SELECT 1 FROM generation_input u WHERE u.input_id = i.id);
        IF p ->> 'tenantId' IS NULL THEN
            INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
            VALUES ('erase', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', '{}');
        END IF;
    END IF;
    RETURN jsonb_build_object('outcome', 'erased');
END $$;

-- Marks what has expired, then hands out files to remove, each to one process until its lease ends; those that could not be removed
-- before come last.
-- in: {limit, leaseMs}; out: [{kind: output, generationId, index, path} | {kind: input, inputId, path}]
CREATE OR REPLACE FUNCTION claim_file_removals(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_limit integer := (p ->> 'limit')::integer;
    v_lease timestamptz(3) := v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond';
    v_generations text[];
    v_claimed jsonb;
BEGIN
    SELECT array_agg(DISTINCT generation_id) INTO v_generations FROM (
        SELECT o.generation_id FROM output o JOIN generation g ON g.id = o.generation_id
        WHERE o.state = 'stored' AND o.expires_at <= v_now AND g.completed_at IS NOT NULL ORDER BY o.expires_at LIMIT v_limit) AS expired;
    -- The generation's lock first, as everywhere; one that is busy comes with the next pass.
    SELECT array_agg(id) INTO v_generations FROM (
        SELECT id FROM generation WHERE id = ANY (v_generations) AND completed_at IS NOT NULL ORDER BY id FOR UPDATE SKIP LOCKED) AS free;
    UPDATE output SET state = 'deleting', lease_until = NULL WHERE generation_id = ANY (v_generations) AND state = 'stored' AND expires_at <= v_now;
    UPDATE generation g SET delivery = 'expired', updated_at = v_now WHERE g.id = ANY (v_generations)
        AND NOT EXISTS (SELECT 1 FROM output o WHERE o.generation_id = g.id AND o.state = 'stored');
    UPDATE stored_input SET state = 'deleting', lease_until = NULL, idempotency_key = NULL WHERE id IN (
        SELECT i.id FROM stored_input i WHERE i.state = 'stored' AND i.expires_at <= v_now
            AND NOT EXISTS (SELECT 1 FROM generation_input u JOIN generation g ON g.id = u.generation_id WHERE u.input_id = i.id AND g.completed_at IS NULL)
        ORDER BY i.expires_at LIMIT v_limit FOR UPDATE SKIP LOCKED);
    WITH outputs AS (
        UPDATE output o SET lease_until = v_lease FROM (
            SELECT generation_id, index FROM output WHERE state = 'deleting' AND (lease_until IS NULL OR lease_until <= v_now)
            ORDER BY lease_until NULLS FIRST LIMIT v_limit FOR UPDATE SKIP LOCKED) AS due
        WHERE o.generation_id = due.generation_id AND o.index = due.index RETURNING o.generation_id, o.index, o.path
    ), inputs AS (
        UPDATE stored_input i SET lease_until = v_lease FROM (
            SELECT id FROM stored_input WHERE state = 'deleting' AND (lease_until IS NULL OR lease_until <= v_now)
            ORDER BY lease_until NULLS FIRST LIMIT v_limit FOR UPDATE SKIP LOCKED) AS due
        WHERE i.id = due.id RETURNING i.id, i.path
    )
    SELECT coalesce(jsonb_agg(claimed), '[]') INTO v_claimed FROM (
        SELECT jsonb_build_object('kind', 'output', 'generationId', generation_id, 'index', index, 'path', path) AS claimed FROM outputs
        UNION ALL SELECT jsonb_build_object('kind', 'input', 'inputId', id, 'path', path) FROM inputs) AS all_claimed;
    RETURN v_claimed;
END $$;

-- The file is gone from the storage.
-- in: {kind: output, generationId, index} | {kind: input, inputId}
CREATE OR REPLACE FUNCTION finish_file_removal(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF p ->> 'kind' = 'output' THEN
        UPDATE output SET state = 'deleted', lease_until = NULL, deleted_at = clock_timestamp()
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND state = 'deleting';
    ELSE
        UPDATE stored_input SET state = 'deleted', lease_until = NULL, deleted_at = clock_timestamp() WHERE id = p ->> 'inputId' AND state = 'deleting';
    END IF;
    RETURN FOUND;
END $$;

-- One bounded pass over rows that only told how something went: callbacks, events before the last, webhooks with their attempts.
-- Nothing that waits is touched.
-- in:  {keepMs, unmatchedKeepMs, limit: of callbacks, of generations with their events, of webhooks}
-- out: {callbacks, events, webhooks: rows removed, more: whether the limit ended the pass}
CREATE OR REPLACE FUNCTION prune_history(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz(3) := ms_from_now(-(p ->> 'keepMs')::double precision);
    v_unmatched timestamptz(3) := ms_from_now(-(p ->> 'unmatchedKeepMs')::double precision);
    v_limit integer := (p ->> 'limit')::integer;
    v_ids text[];
    v_matched integer;
    v_callbacks integer;
    v_generations integer;
    v_events integer;
    v_webhooks integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('darkroom_prune')) THEN
        RETURN jsonb_build_object('callbacks', 0, 'events', 0, 'webhooks', 0, 'more', false);
    END IF;
    DELETE FROM callback WHERE id IN (
        SELECT id FROM callback WHERE submission_id IS NULL AND received_at < v_unmatched ORDER BY received_at LIMIT v_limit FOR UPDATE SKIP LOCKED)
        AND submission_id IS NULL;
    GET DIAGNOSTICS v_callbacks = ROW_COUNT;
    DELETE FROM callback WHERE id IN (
        SELECT c.id FROM callback c JOIN submission s ON s.id = c.submission_id JOIN generation g ON g.id = s.generation_id
        WHERE c.received_at < v_before AND g.completed_at < v_before ORDER BY c.received_at LIMIT v_limit);
    GET DIAGNOSTICS v_matched = ROW_COUNT;
    SELECT array_agg(id) INTO v_ids FROM (
        SELECT id FROM generation WHERE completed_at < v_before AND events_pruned_at IS NULL
        ORDER BY completed_at LIMIT v_limit FOR NO KEY UPDATE SKIP LOCKED) AS old;
    UPDATE generation SET events_pruned_at = clock_timestamp() WHERE id = ANY (v_ids);
    GET DIAGNOSTICS v_generations = ROW_COUNT;
    DELETE FROM generation_event WHERE generation_id = ANY (v_ids) AND type <> 'terminal';
    GET DIAGNOSTICS v_events = ROW_COUNT;
    SELECT array_agg(id) INTO v_ids FROM (
        SELECT e.id FROM webhook_event e WHERE e.created_at < v_before
            AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = e.id AND d.state = 'pending')
        ORDER BY e.created_at LIMIT v_limit) AS old;
    -- One that is asked for again in this moment stays, with its event.
    DELETE FROM webhook_delivery WHERE event_id = ANY (v_ids) AND state <> 'pending';
    DELETE FROM webhook_event e WHERE e.id = ANY (v_ids) AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = e.id);
    GET DIAGNOSTICS v_webhooks = ROW_COUNT;
    RETURN jsonb_build_object('callbacks', v_callbacks + v_matched, 'events', v_events, 'webhooks', v_webhooks,
        'more', greatest(v_callbacks, v_matched, v_generations, v_webhooks) >= v_limit);
END $$;

-- How long a tenant's outputs are kept from now on (null = the default), by an operator, on record.
-- in: {tenantId, retentionHours: number | null, actor, reason}; out: boolean: whether there is such a tenant
CREATE OR REPLACE FUNCTION set_retention(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant SET retention_hours = (p ->> 'retentionHours')::integer WHERE id = p ->> 'tenantId';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('retention', p ->> 'tenantId', p ->> 'actor', p ->> 'reason', jsonb_build_object('hours', p -> 'retentionHours'));
    RETURN true;
END $$;

-- A new key for a tenant's links, by an operator, on record; links made before work until overlapMs, those before them no more.
-- in: {tenantId, overlapMs, actor, reason}; out: boolean: whether there is such a tenant
CREATE OR REPLACE FUNCTION rotate_links(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant SET link_version = link_version + 1, previous_links_until = ms_from_now((p ->> 'overlapMs')::double precision) WHERE id = p ->> 'tenantId';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('rotate_links', p ->> 'tenantId', p ->> 'actor', p ->> 'reason', jsonb_build_object('overlapMs', p -> 'overlapMs'));
    RETURN true;
END $$;
