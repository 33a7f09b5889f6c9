-- What the provider says of the job now. The first observed success ends the deadline and creates the rows of its outputs.
-- in:  {submissionId, by: callback | poll | submit, kind: running | succeeded | failed | cancelled | not_found | unavailable,
--       status | null, progress | null, outputCount?, storeForMs?, linkInMs?: number | null, storeLeaseMs?, dueInMs,
--       cost?: {amount, unit, final} | null, cancelSent?: boolean, cancelOutcome?: text | null, ended?: boolean}
-- out: {terminal: boolean, succeeded: boolean, attempts: [{index, attempt}] (leases taken by this call), cancelRequested}
CREATE OR REPLACE FUNCTION record_observation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_kind text := p ->> 'kind';
    v_progress double precision := (p ->> 'progress')::double precision;
    v_store_ms double precision;
    v_attempts jsonb := '[]';
    v_ended boolean := v_kind IN ('succeeded', 'failed', 'cancelled') OR coalesce((p ->> 'ended')::boolean, false);
BEGIN
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = p ->> 'submissionId' FOR UPDATE OF gen;
    v_now := clock_timestamp();
    UPDATE submission SET
        provider_status = coalesce(p ->> 'status', provider_status),
        problem = CASE WHEN v_kind = 'unavailable' THEN p ->> 'problem' END,
        observed_at = CASE WHEN v_kind = 'unavailable' THEN observed_at ELSE v_now END,
        observe_count = observe_count + 1,
        ended_at = CASE WHEN v_ended THEN coalesce(ended_at, v_now) ELSE ended_at END,
        ended_as = CASE WHEN v_ended THEN coalesce(ended_as, v_kind) ELSE ended_as END,
        finished_by = CASE WHEN v_ended THEN coalesce(finished_by, p ->> 'by') ELSE finished_by END,
        cancel_sent_at = CASE WHEN coalesce((p ->> 'cancelSent')::boolean, false) THEN coalesce(cancel_sent_at, v_now) ELSE cancel_sent_at END,
        updated_at = v_now
    WHERE id = p ->> 'submissionId' RETURNING * INTO s;
    PERFORM book_cost(s.id, p -> 'cost', 'observation');
    -- Of a dead submission, or after the end; one without a job may still become the generation's own.
    IF v_kind = 'succeeded' AND s.provider_job_id IS NOT NULL AND (s.state <> 'accepted' OR g.completed_at IS NOT NULL AND g.success_at IS NULL) THEN
        INSERT INTO late_success (submission_id, generation_id) VALUES (s.id, g.id) ON CONFLICT DO NOTHING;
    END IF;
    IF g.completed_at IS NOT NULL THEN
        -- Looked at again until it has ended; a look that failed counts for none, but not for ever.
        UPDATE submission SET late_count = late_count + CASE WHEN v_kind = 'unavailable' THEN 0 ELSE 1 END,
            late_due_at = CASE WHEN s.ended_at IS NOT NULL THEN NULL WHEN v_kind <> 'unavailable' THEN late_due_after(g, s.late_count + 1, v_now)
                WHEN g.completed_at > v_now - interval '2 days' THEN v_now + interval '10 minutes' END
        WHERE id = s.id;
        RETURN jsonb_build_object('terminal', true, 'succeeded', g.success_at IS NOT NULL, 'attempts', v_attempts, 'cancelRequested', false);
    END IF;
    IF s.state IS DISTINCT FROM 'accepted' THEN
        -- The job of a dead submission: its cost is booked, its fate is not the generation's. Once it has ended, no late look follows.
        UPDATE submission SET late_due_at = NULL WHERE id = s.id AND ended_at IS NOT NULL AND late_due_at IS NOT NULL;
        RETURN jsonb_build_object('terminal', false, 'succeeded', g.success_at IS NOT NULL, 'attempts', v_attempts,
            'cancelRequested', g.cancel_requested_at IS NOT NULL);
    END IF;
    IF v_kind = 'running' AND v_progress > coalesce(g.progress, 0) THEN
        UPDATE generation SET progress = v_progress WHERE id = g.id;
        PERFORM append_event(g.id, 'progress', jsonb_build_object('progress', v_progress));
    END IF;
    IF p ->> 'cancelOutcome' IS NOT NULL AND g.cancel_requested_at IS NOT NULL THEN
        UPDATE generation SET cancel_outcome = p ->> 'cancelOutcome' WHERE id = g.id;
        PERFORM append_event(g.id, 'cancellation', jsonb_build_object('outcome', p ->> 'cancelOutcome'));
    END IF;
    IF v_kind = 'succeeded' AND g.success_at IS NULL THEN
        v_store_ms := least((p ->> 'storeForMs')::double precision, coalesce((p ->> 'linkInMs')::double precision, 'infinity'));
        UPDATE generation SET success_at = v_now, store_until = v_now + greatest(v_store_ms, 0) * interval '1 millisecond',
            -- A provider that offers no cancel was not asked too late.
            cancel_outcome = CASE WHEN cancel_outcome = 'unsupported' THEN cancel_outcome WHEN cancel_requested_at IS NOT NULL THEN 'too_late' END, progress = 1, updated_at = v_now
        WHERE id = g.id;
        INSERT INTO output (generation_id, index, created_at)
        SELECT g.id, i, v_now FROM generate_series(0, (p ->> 'outputCount')::integer - 1) AS i ON CONFLICT DO NOTHING;
        PERFORM move_stage(g.id, 'storing', ms_from_now((p ->> 'dueInMs')::double precision));
        v_attempts := lease_outputs(g.id, (p ->> 'storeLeaseMs')::double precision);
    ELSE
        UPDATE generation SET due_at = ms_from_now((p ->> 'dueInMs')::double precision), updated_at = v_now WHERE id = g.id;
    END IF;
    RETURN jsonb_build_object('terminal', false, 'succeeded', g.success_at IS NOT NULL OR v_kind = 'succeeded', 'attempts', v_attempts,
        'cancelRequested', g.cancel_requested_at IS NOT NULL);
END $$;
