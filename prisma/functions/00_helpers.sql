-- What several functions share. Every caller holds the generation's row lock.

-- Writes an event whose number the caller has just given, in the statement that changed the row and under its lock, so readers never
-- miss one. Readers that follow are told of it (a hint: they look at the rows), and so are the tenant's webhooks.
CREATE OR REPLACE FUNCTION tell_event(p_generation_id text, p_seq integer, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO generation_event (generation_id, seq, type, data, created_at)
    VALUES (p_generation_id, p_seq, p_type, p_data, clock_timestamp());
    PERFORM pg_notify('darkroom_generation', p_generation_id);
    IF p_type = 'terminal' THEN
        PERFORM emit_webhook(p_generation_id, p_data ->> 'state', NULL);
    ELSIF p_type IN ('stage', 'cancellation') THEN
        PERFORM emit_webhook(p_generation_id, 'updated', p_seq);
    END IF;
END $$;

-- The next event of a generation whose row changes in no other way.
CREATE OR REPLACE FUNCTION append_event(p_generation_id text, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_seq integer;
BEGIN
    UPDATE generation SET event_seq = event_seq + 1 WHERE id = p_generation_id RETURNING event_seq INTO v_seq;
    PERFORM tell_event(p_generation_id, v_seq, p_type, p_data);
END $$;

-- All that is needed to start or wake a run: ids and the frozen timings, nothing of the tenant's content.
CREATE OR REPLACE FUNCTION run_facts(g generation) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('generationId', g.id, 'tenantId', g.tenant_id, 'accountId', g.account_id, 'model', g.model, 'provider', g.provider,
        'method', g.plan ->> 'method', 'timings', g.plan -> 'timings');
$$;

-- Milliseconds from now until the given time; negative when it is past.
CREATE OR REPLACE FUNCTION ms_until(p_at timestamptz) RETURNS double precision LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM p_at - clock_timestamp()) * 1000);
$$;

CREATE OR REPLACE FUNCTION ms_from_now(p_ms double precision) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT clock_timestamp() + p_ms * interval '1 millisecond';
$$;

CREATE OR REPLACE FUNCTION iso_time(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
$$;

-- Where a run goes on, told by the rows alone.
CREATE OR REPLACE FUNCTION derived_stage(p_generation_id text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN g.completed_at IS NOT NULL THEN 'done'
        WHEN g.success_at IS NOT NULL THEN 'storing'
        WHEN s.state = 'accepted' THEN 'waiting'
        WHEN s.state = 'unknown' THEN 'submission_unknown'
        WHEN s.state = 'sending' THEN 'submitting'
        ELSE 'queued' END
    FROM generation g LEFT JOIN submission s
        ON s.generation_id = g.id AND s.state IN ('prepared', 'sending', 'unknown', 'accepted')
    WHERE g.id = p_generation_id;
$$;

-- Moves the stage and says so in an event, if it does not stand there already; and says by when the run must next have written, if that
-- is given. One write: a second one of the row in a transaction checks its foreign keys again.
CREATE OR REPLACE FUNCTION move_stage(p_generation_id text, p_stage text, p_due timestamptz DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_state text;
    v_seq integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p_generation_id;
    v_state := CASE WHEN g.state = 'queued' AND p_stage IN ('submission_unknown', 'waiting', 'storing') THEN 'running' ELSE g.state END;
    IF g.stage = p_stage AND g.state = v_state THEN
        UPDATE generation SET due_at = p_due WHERE id = p_generation_id AND p_due IS NOT NULL;
        RETURN;
    END IF;
    UPDATE generation SET stage = p_stage, state = v_state, operator_reason = NULL, updated_at = clock_timestamp(), event_seq = event_seq + 1,
        due_at = coalesce(p_due, due_at),
        started_at = CASE WHEN v_state = 'running' THEN coalesce(started_at, clock_timestamp()) ELSE started_at END
    WHERE id = p_generation_id RETURNING event_seq INTO v_seq;
    PERFORM tell_event(p_generation_id, v_seq, 'stage', jsonb_build_object('state', v_state, 'stage', p_stage));
END $$;

-- When the present UTC day began; days of limits and budgets turn at midnight UTC. STABLE, so that an index can begin there: as
-- VOLATILE it is asked for each row, and all rows of a provider or tenant are read.
CREATE OR REPLACE FUNCTION day_start() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
$$;

-- What a provider bills for a submission. A final amount is never replaced by an estimate, nor by a later final one.
-- cost: {amount, unit, final} | null
CREATE OR REPLACE FUNCTION book_cost(p_submission_id text, p_cost jsonb, p_source text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_cost ->> 'amount' IS NOT NULL THEN
        UPDATE submission SET cost_amount = (p_cost ->> 'amount')::numeric, cost_unit = p_cost ->> 'unit',
            cost_final = coalesce((p_cost ->> 'final')::boolean, false), cost_source = p_source, cost_at = clock_timestamp()
        WHERE id = p_submission_id AND cost_final IS DISTINCT FROM true;
    END IF;
END $$;
