-- After a restore from a dump: a generation that has not ended and has no accepted job may have been submitted since. It gets an
-- unknown submission, so that it is searched for or asked again under the same key, never sent as a new one. Once per restore point.
-- in:  {generationId, restoredAt, actor, reason, submission: {ordinal, routeIndex, submissionId, provider, credential, idempotencyKey,
--       request, callbackBase, callbackKeyId, estimatedCost} | null}: as its run would have made it; null = the one that is open
-- out: {outcome: unknown, submissionId, was: none | prepared | sending | moved}: it is now
--      | {outcome: stands, submissionId, state: unknown | accepted}: nothing had to be done
--      | {outcome: recovered_before | terminal | not_found | nothing_open}
CREATE OR REPLACE FUNCTION recover_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    n jsonb := nullif(p -> 'submission', 'null');
    v_now timestamptz(3);
    v_restored timestamptz(3) := (p ->> 'restoredAt')::timestamptz;
    v_was text := 'none';
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'terminal');
    END IF;
    v_now := clock_timestamp();
    SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('prepared', 'sending', 'unknown', 'accepted') FOR UPDATE;
    IF s.state = 'accepted' OR s.state = 'unknown' AND (n IS NULL OR n ->> 'submissionId' = s.id) THEN
        RETURN jsonb_build_object('outcome', 'stands', 'submissionId', s.id, 'state', s.state);
    END IF;
    IF EXISTS (SELECT 1 FROM operator_action WHERE generation_id = g.id AND kind = 'recover' AND detail ->> 'restoredAt' = iso_time(v_restored)) THEN
        RETURN jsonb_build_object('outcome', 'recovered_before');
    END IF;
    IF s.id IS NOT NULL AND (n IS NULL OR n ->> 'submissionId' = s.id) THEN
        v_was := s.state;
        -- The send that is forgotten counts as one, so that no later answer takes its time away.
        UPDATE submission SET state = 'unknown', fence = fence + 1, unknown_at = v_now, lease_until = NULL, problem = 'restored',
            first_sent_at = coalesce(first_sent_at, v_restored), updated_at = v_now
        WHERE id = s.id RETURNING * INTO s;
    ELSIF n IS NULL THEN
        RETURN jsonb_build_object('outcome', 'nothing_open');
    ELSE
        IF s.id IS NOT NULL THEN
            v_was := 'moved';
            -- History tells that a later place of the route list was tried, which abandons this one.
            UPDATE submission SET state = 'abandoned', lease_until = NULL, problem = 'restored', updated_at = v_now WHERE id = s.id;
        END IF;
        INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, idempotency_key, request, callback_base,
            callback_key_id, state, fence, first_sent_at, unknown_at, problem, created_at, updated_at)
        VALUES (n ->> 'submissionId', g.id, (n ->> 'ordinal')::integer, (n ->> 'routeIndex')::integer, n ->> 'provider', n ->> 'credential',
            n ->> 'idempotencyKey', n -> 'request', n ->> 'callbackBase', n ->> 'callbackKeyId', 'unknown', 1, v_restored, v_now, 'restored', v_now, v_now)
        RETURNING * INTO s;
    END IF;
    PERFORM book_cost(s.id, n -> 'estimatedCost', 'catalogue');
    IF g.stage <> 'needs_operator' THEN
        PERFORM move_stage(g.id, 'submission_unknown');
    END IF;
    -- Due at once: the first sweep of the workers begins with it.
    UPDATE generation SET provider = s.provider, due_at = v_now, sweep_count = 0 WHERE id = g.id;
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES ('recover', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason',
        jsonb_build_object('restoredAt', iso_time(v_restored), 'submissionId', s.id, 'was', v_was));
    RETURN jsonb_build_object('outcome', 'unknown', 'submissionId', s.id, 'was', v_was);
END $$;

-- A job that no row names any more, so that its cost is on record. in: {provider, credential, jobId, submissionId | null, foundBy}
-- out: true when it was not on record.
CREATE OR REPLACE FUNCTION record_stray_job(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stray_job (provider, credential, provider_job_id, submission_id, found_by)
    SELECT p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'submissionId', p ->> 'foundBy'
    WHERE NOT EXISTS (SELECT 1 FROM submission s WHERE s.provider = p ->> 'provider' AND s.provider_job_id = p ->> 'jobId')
        AND NOT EXISTS (SELECT 1 FROM orphan_job o WHERE o.provider = p ->> 'provider' AND o.provider_job_id = p ->> 'jobId')
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;
