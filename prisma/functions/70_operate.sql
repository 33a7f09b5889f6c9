-- Sets a run aside for a person: visible, hold intact, never settled by the deadline. A wake makes it try again.
-- in: {generationId, reason, dueInMs}; out: {terminal: boolean}
CREATE OR REPLACE FUNCTION park_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND OR g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('terminal', true);
    END IF;
    UPDATE generation SET stage = 'needs_operator', operator_reason = p ->> 'reason', updated_at = clock_timestamp(),
        due_at = ms_from_now((p ->> 'dueInMs')::double precision)
    WHERE id = g.id;
    IF g.stage <> 'needs_operator' THEN
        PERFORM append_event(g.id, 'stage', jsonb_build_object('state', g.state, 'stage', 'needs_operator'));
    END IF;
    RETURN jsonb_build_object('terminal', false);
END $$;

-- What the sweep has to wake: rows overdue, wakes not taken. Each is pushed back with doubling steps, so that one bad row
-- neither stops a pass nor is hammered; several sweepers share the work by SKIP LOCKED.
-- in: {limit, graceMs}; out: [run facts]
CREATE OR REPLACE FUNCTION claim_due_generations(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := ms_from_now(-(p ->> 'graceMs')::double precision);
    v_runs jsonb;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('darkroom_sweep')) THEN
        RETURN '[]';
    END IF;
    WITH due AS (
        SELECT id FROM generation WHERE completed_at IS NULL AND (due_at < v_before OR wake_requested_at < v_before)
        ORDER BY due_at LIMIT (p ->> 'limit')::integer FOR UPDATE SKIP LOCKED
    ), pushed AS (
        UPDATE generation g SET sweep_count = g.sweep_count + 1,
            due_at = clock_timestamp() + least(300, 5 * power(2, least(g.sweep_count, 10))) * interval '1 second',
            wake_requested_at = CASE WHEN g.wake_requested_at IS NULL THEN NULL
                ELSE clock_timestamp() + least(300, 5 * power(2, least(g.sweep_count, 10)) - 5) * interval '1 second' END
        FROM due WHERE g.id = due.id RETURNING run_facts(g) AS run
    )
    SELECT coalesce(jsonb_agg(run), '[]') INTO v_runs FROM pushed;
    RETURN v_runs;
END $$;

-- A run that could not be ensured (Temporal away): its row is due again soon, and the pass does not count.
-- in: {generationId}
CREATE OR REPLACE FUNCTION release_due_generation(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE generation SET due_at = clock_timestamp(), sweep_count = greatest(sweep_count - 1, 0),
        wake_requested_at = CASE WHEN wake_requested_at IS NULL THEN NULL ELSE clock_timestamp() END
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN FOUND;
END $$;
