-- How long what belongs to a generation is kept: what its tenant has set, else the given default.
CREATE OR REPLACE FUNCTION retention_of(p_generation_id text, p_default_ms double precision) RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce(t.retention_hours * interval '1 hour', p_default_ms * interval '1 millisecond')
    FROM generation g JOIN tenant t ON t.id = g.tenant_id WHERE g.id = p_generation_id;
$$;

-- Takes every output that still has to be stored and that no other attempt holds; an attempt number names its own file.
CREATE OR REPLACE FUNCTION lease_outputs(p_generation_id text, p_lease_ms double precision) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    WITH taken AS (
        UPDATE output SET attempt = attempt + 1, lease_until = ms_from_now(p_lease_ms)
        WHERE generation_id = p_generation_id AND state = 'storing' AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING index, attempt
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('index', index, 'attempt', attempt) ORDER BY index), '[]') FROM taken;
$$;

-- A later attempt at storing: the same as the first, from the rows that are left.
-- in: {generationId, storeLeaseMs}; out: [{index, attempt}]
CREATE OR REPLACE FUNCTION claim_outputs(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    UPDATE generation SET due_at = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN lease_outputs(p ->> 'generationId', (p ->> 'storeLeaseMs')::double precision);
END $$;

-- Keeps the lease of a long download; false tells that the attempt has lost it.
-- in: {generationId, index, attempt, storeLeaseMs}
CREATE OR REPLACE FUNCTION renew_output(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- The generation's lock first, as everywhere: the other order deadlocks with a claim of the same output.
    PERFORM 1 FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    UPDATE output SET lease_until = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND attempt = (p ->> 'attempt')::integer AND state = 'storing';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE generation SET due_at = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN true;
END $$;

-- The end of one attempt at one output; the first file that is complete wins, whichever attempt wrote it.
-- in:  {generationId, index, attempt, result: stored, path, bytes, sha256 (hex), mediaType, width?, height?, durationSeconds?, retentionMs}
--      {…, result: lost | invalid, problem} | {…, result: retry, problem, gone: boolean}
-- out: {outcome: recorded | lost_race, state, goneCount, path: the file that stands}
CREATE OR REPLACE FUNCTION record_output(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    o output;
    v_now timestamptz(3) := clock_timestamp();
    v_result text := p ->> 'result';
BEGIN
    IF v_result = 'stored' THEN
        UPDATE output SET state = 'stored', lease_until = NULL, problem = NULL, path = p ->> 'path', bytes = (p ->> 'bytes')::bigint,
            sha256 = decode(p ->> 'sha256', 'hex'), media_type = p ->> 'mediaType', width = (p ->> 'width')::integer,
            height = (p ->> 'height')::integer, duration_seconds = (p ->> 'durationSeconds')::double precision, stored_at = v_now,
            priced_seconds = (SELECT (g.plan ->> 'pricedSeconds')::double precision FROM generation g WHERE g.id = p ->> 'generationId'),
            expires_at = v_now + retention_of(p ->> 'generationId', (p ->> 'retentionMs')::double precision)
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND state = 'storing' RETURNING * INTO o;
    ELSE
        UPDATE output SET state = CASE WHEN v_result IN ('lost', 'invalid') THEN v_result ELSE state END, lease_until = NULL, problem = p ->> 'problem',
            gone_count = gone_count + CASE WHEN coalesce((p ->> 'gone')::boolean, false) THEN 1 ELSE 0 END
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND attempt = (p ->> 'attempt')::integer AND state = 'storing'
        RETURNING * INTO o;
    END IF;
    IF o.generation_id IS NULL THEN
        SELECT * INTO o FROM output WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer;
        -- No row at all (a database restored to an earlier moment) reads as lost: the caller removes its file.
        RETURN jsonb_build_object('outcome', 'lost_race', 'state', coalesce(o.state, 'lost'), 'goneCount', coalesce(o.gone_count, 0), 'path', o.path);
    END IF;
    RETURN jsonb_build_object('outcome', 'recorded', 'state', o.state, 'goneCount', o.gone_count, 'path', o.path);
END $$;
