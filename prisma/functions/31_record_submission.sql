-- What the answer to a submit proved. Everything but an acceptance counts only with the fence of the attempt that is still
-- sending; an acceptance attaches in any state. Unknown is sticky: once unknown, only an acceptance changes it.
-- in:  {submissionId, fence | null, kind: accepted, handle, providerStatus, jobId, cost?, dueInMs}
--      {submissionId, fence, kind: refused | capacity | not_sent | unknown, problem, refusalCode?, retryInMs}
--      and circuitFailures, circuitOpenMs for the circuit of the provider
-- out: {outcome: attached | attached_late | orphan | recorded | stale | job_taken, terminal: boolean, cancelRequested: boolean,
--       state: the submission's state as it stands, terminalHint: boolean, circuitOpened: boolean}
CREATE OR REPLACE FUNCTION record_submission(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_outcome text;
    v_kind text := p ->> 'kind';
    v_opened boolean := false;
BEGIN
    IF v_kind = 'accepted' THEN
        -- Shared with record_callback: a callback that names this job is seen by one of the two, whoever commits first.
        PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(p ->> 'jobId'));
    END IF;
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = p ->> 'submissionId' FOR UPDATE OF gen;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'stale', 'circuitOpened', false, 'terminal', true, 'cancelRequested', false, 'state', 'abandoned', 'terminalHint', false);
    END IF;
    SELECT * INTO s FROM submission WHERE id = p ->> 'submissionId' FOR UPDATE;
    v_now := clock_timestamp();
    IF v_kind = 'accepted' THEN
        IF s.provider_job_id = p ->> 'jobId' THEN
            v_outcome := 'attached';
        ELSIF s.provider_job_id IS NOT NULL THEN
            INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
            VALUES (s.provider, s.credential, p ->> 'jobId', s.id) ON CONFLICT DO NOTHING;
            v_outcome := 'orphan';
        ELSE
            BEGIN
                UPDATE submission SET provider_job_id = p ->> 'jobId', handle = p -> 'handle', provider_status = p ->> 'providerStatus',
                    accepted_at = v_now, lease_until = NULL, problem = NULL, refusal_code = NULL, updated_at = v_now,
                    state = CASE WHEN g.completed_at IS NOT NULL OR s.state IN ('refused', 'abandoned') THEN 'abandoned' ELSE 'accepted' END
                WHERE id = s.id RETURNING * INTO s;
            EXCEPTION WHEN unique_violation THEN
                RETURN jsonb_build_object('outcome', 'job_taken', 'circuitOpened', false, 'terminal', g.completed_at IS NOT NULL,
                    'cancelRequested', g.cancel_requested_at IS NOT NULL, 'state', s.state, 'terminalHint', false);
            END;
            PERFORM book_cost(s.id, p -> 'cost', 'submit');
            IF s.cost_amount IS NULL AND p ->> 'cost' IS NULL AND s.unknown_at IS NOT NULL THEN
                -- Taken back when an operator declared that it has no job.
                PERFORM book_cost(s.id, g.plan -> 'routes' -> s.route_index -> 'estimatedCost', 'catalogue');
            END IF;
            -- Callbacks that named this job before we knew it are ours now; what is there already is dropped.
            DELETE FROM callback c USING callback o WHERE c.submission_id IS NULL AND c.provider = s.provider AND c.provider_job_id = s.provider_job_id
                AND o.event_key = c.event_key AND (o.submission_id = s.id
                    OR o.submission_id IS NULL AND o.provider = c.provider AND o.provider_job_id = c.provider_job_id AND o.id < c.id);
            UPDATE callback SET submission_id = s.id, body = CASE WHEN g.erased_at IS NULL THEN body ELSE '' END
            WHERE submission_id IS NULL AND provider = s.provider AND provider_job_id = s.provider_job_id;
            IF EXISTS (SELECT 1 FROM callback WHERE submission_id = s.id AND terminal AND seen_at IS NULL) THEN
                UPDATE submission SET terminal_hint_at = v_now WHERE id = s.id RETURNING * INTO s;
            END IF;
            IF g.completed_at IS NULL AND s.state = 'accepted' THEN
                PERFORM move_stage(g.id, 'waiting', least(ms_from_now((p ->> 'dueInMs')::double precision), greatest(g.deadline_at, v_now)));
                v_outcome := 'attached';
            ELSE
                v_outcome := 'attached_late';
                -- Searches that found nothing were no looks at it.
                UPDATE submission SET late_due_at = greatest(late_due(g, 0), v_now), late_count = 0 WHERE id = s.id;
            END IF;
        END IF;
    ELSIF s.state <> 'sending' OR s.fence <> (p ->> 'fence')::integer THEN
        v_outcome := 'stale';
    ELSE
        UPDATE submission SET lease_until = NULL, problem = p ->> 'problem', updated_at = v_now,
            state = CASE WHEN v_kind = 'unknown' OR s.unknown_at IS NOT NULL THEN 'unknown' WHEN v_kind = 'refused' THEN 'refused' ELSE 'prepared' END,
            unknown_at = CASE WHEN v_kind = 'unknown' THEN coalesce(s.unknown_at, v_now) ELSE s.unknown_at END,
            refusal_code = CASE WHEN v_kind = 'refused' AND s.unknown_at IS NULL THEN p ->> 'refusalCode' END,
            -- Not sent proves that no byte left; with nothing sent before it, the key's window has not begun.
            first_sent_at = CASE WHEN v_kind = 'not_sent' AND s.fence = 1 THEN NULL ELSE s.first_sent_at END
        WHERE id = s.id RETURNING * INTO s;
        IF s.state <> 'unknown' AND s.cost_source = 'catalogue' THEN
            UPDATE submission SET cost_amount = NULL, cost_unit = NULL, cost_final = NULL, cost_source = NULL, cost_at = NULL WHERE id = s.id;
        END IF;
        IF g.completed_at IS NULL THEN
            PERFORM move_stage(g.id, CASE s.state WHEN 'unknown' THEN 'submission_unknown' ELSE 'queued' END,
                least(ms_from_now((p ->> 'retryInMs')::double precision), greatest(g.deadline_at, v_now)));
        END IF;
        v_outcome := 'recorded';
    END IF;
    IF v_outcome IN ('attached', 'recorded') AND v_kind <> 'capacity' AND p ->> 'circuitFailures' IS NOT NULL THEN
        v_opened := note_submit(s.provider, v_kind = 'accepted' OR v_kind = 'refused' AND p ->> 'refusalCode' IN ('invalid_input', 'content_rejected'),
            (p ->> 'circuitFailures')::integer, (p ->> 'circuitOpenMs')::double precision);
    END IF;
    RETURN jsonb_build_object('outcome', v_outcome, 'circuitOpened', v_opened, 'terminal', g.completed_at IS NOT NULL,
        'cancelRequested', g.cancel_requested_at IS NOT NULL, 'state', s.state, 'terminalHint', s.terminal_hint_at IS NOT NULL);
END $$;
