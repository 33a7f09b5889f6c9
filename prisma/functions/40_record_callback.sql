-- One verified callback into the inbox. The wake it asks for is outstanding at most once; the sweep sends it again when lost.
-- in:  {provider, credential, submissionId | null, jobId | null, eventKey, type, terminal, progress | null}, body
-- out: {outcome: recorded | duplicate | capped | unknown_submission | unmatched, run | null, wake: boolean}
CREATE OR REPLACE FUNCTION record_callback(p jsonb, p_body bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_terminal boolean := (p ->> 'terminal')::boolean;
    v_progress double precision := (p ->> 'progress')::double precision;
    v_submission_id text := p ->> 'submissionId';
    v_rows integer;
    v_outcome text := 'recorded';
    v_wake boolean := false;
BEGIN
    IF v_submission_id IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(p ->> 'jobId'));
        -- The route without token knows no credential: the one that is current is only the likelier of two equal job ids.
        SELECT id INTO v_submission_id FROM submission WHERE provider = p ->> 'provider' AND provider_job_id = p ->> 'jobId'
        ORDER BY credential = p ->> 'credential' DESC LIMIT 1;
    END IF;
    IF v_submission_id IS NULL THEN
        IF (SELECT count(*) FROM (SELECT 1 FROM callback WHERE submission_id IS NULL AND provider = p ->> 'provider'
            AND credential = p ->> 'credential' LIMIT 10000) AS waiting) >= 10000 THEN
            RETURN jsonb_build_object('outcome', 'capped', 'run', NULL, 'wake', false);
        END IF;
        INSERT INTO callback (provider, credential, provider_job_id, event_key, type, terminal, progress, body)
        VALUES (p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'eventKey', p ->> 'type', v_terminal, v_progress, p_body)
        ON CONFLICT DO NOTHING;
        RETURN jsonb_build_object('outcome', 'unmatched', 'run', NULL, 'wake', false);
    END IF;
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = v_submission_id AND sub.provider = p ->> 'provider' FOR UPDATE OF gen;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'unknown_submission', 'run', NULL, 'wake', false);
    END IF;
    v_now := clock_timestamp();
    SELECT * INTO s FROM submission WHERE id = v_submission_id;
    IF EXISTS (SELECT 1 FROM callback WHERE submission_id = s.id AND event_key = p ->> 'eventKey') THEN
        v_outcome := 'duplicate';
    ELSIF s.callback_count >= 100 THEN
        v_outcome := 'capped';
    ELSE
        INSERT INTO callback (provider, credential, submission_id, provider_job_id, event_key, type, terminal, progress, body)
        VALUES (p ->> 'provider', p ->> 'credential', s.id, p ->> 'jobId', p ->> 'eventKey', p ->> 'type', v_terminal, v_progress,
            CASE WHEN g.erased_at IS NULL THEN p_body ELSE '' END)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows = 0 THEN
            v_outcome := 'duplicate';
        END IF;
    END IF;
    IF v_outcome <> 'duplicate' THEN
        UPDATE submission SET callback_count = callback_count + 1 WHERE id = s.id;
    END IF;
    IF g.completed_at IS NULL AND v_outcome <> 'duplicate' THEN
        -- By hundredths, so that no provider can fill the events of one generation.
        IF v_progress - coalesce(g.progress, 0) > 0.0099 AND NOT v_terminal AND s.state = 'accepted' THEN
            UPDATE generation SET progress = v_progress, updated_at = v_now WHERE id = g.id;
            PERFORM append_event(g.id, 'progress', jsonb_build_object('progress', v_progress));
        END IF;
        IF v_terminal AND s.terminal_hint_at IS NULL THEN
            UPDATE submission SET terminal_hint_at = v_now WHERE id = s.id;
        END IF;
        IF v_terminal OR (s.provider_job_id IS NULL AND p ->> 'jobId' IS NOT NULL) THEN
            v_wake := g.wake_requested_at IS NULL;
            UPDATE generation SET wake_requested_at = coalesce(wake_requested_at, v_now) WHERE id = g.id;
        END IF;
    END IF;
    -- A look now, also after the last planned one, when nobody else would come to book it; and at a job that is named for a dead submission,
    -- for which no run waits: the loop of late observations asks for it and attaches it.
    IF v_outcome <> 'duplicate' AND (
        g.completed_at IS NOT NULL AND v_terminal AND s.ended_at IS NULL AND (s.late_due_at IS NOT NULL OR s.provider_job_id IS NOT NULL)
        OR (g.completed_at IS NOT NULL OR s.state IN ('refused', 'abandoned')) AND s.provider_job_id IS NULL AND s.first_sent_at IS NOT NULL
            AND p ->> 'jobId' IS NOT NULL) THEN
        -- It uses up none of those that are planned, as that of an operator; past the cap it does, so that there is an end.
        UPDATE submission SET late_due_at = least(late_due_at, v_now),
            late_count = CASE WHEN late_due_at > v_now AND v_outcome = 'recorded' THEN greatest(late_count - 1, -1) ELSE late_count END
        WHERE id = s.id;
    END IF;
    IF g.completed_at IS NOT NULL AND v_outcome <> 'duplicate' AND s.provider_job_id IS NULL AND s.first_sent_at IS NOT NULL AND p ->> 'jobId' IS NOT NULL THEN
        -- The job of a submission that ended unresolved: a run attaches it, so that it is cancelled and its cost booked.
        v_wake := true;
    END IF;
    RETURN jsonb_build_object('outcome', v_outcome, 'run', run_facts(g), 'wake', v_wake);
END $$;
