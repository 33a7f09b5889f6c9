-- When the job of an ended generation is looked at for the n-th time (from 0), or null when that was the last.
CREATE OR REPLACE FUNCTION late_due(g generation, p_count integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT g.completed_at + (coalesce(g.plan -> 'timings' -> 'lateObservationsMs', '[3600000, 21600000, 86400000]') ->> p_count)::double precision
        * interval '1 millisecond';
$$;

-- When it is looked at for the n-th time (from 0) after a look at p_look, or null. Ten minutes later at the soonest (less where the planned
-- times are closer): a job that became known late, or a day without workers, does not use up all looks at once.
CREATE OR REPLACE FUNCTION late_due_after(g generation, p_count integer, p_look timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN due IS NOT NULL THEN greatest(due, p_look + least(interval '10 minutes',
        due - CASE WHEN p_count > 0 THEN late_due(g, p_count - 1) ELSE g.completed_at END)) END
    FROM late_due(g, p_count) AS due;
$$;

-- Jobs to look at after the end, leased so that workers share them; one whose look is lost is due again after the lease.
-- in: {limit, leaseMs, providers: [those that the caller knows]}; out: [{submissionId, provider, credential, idempotencyKey,
-- handle | null (its job was never known), named: [job ids that callbacks or an operator gave it],
-- request | null (its job is known), timeoutMs}]
CREATE OR REPLACE FUNCTION claim_late_observations(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_jobs jsonb;
BEGIN
    WITH due AS (
        SELECT id FROM submission WHERE late_due_at <= v_now AND p -> 'providers' ? provider ORDER BY late_due_at LIMIT (p ->> 'limit')::integer FOR UPDATE SKIP LOCKED
    ), leased AS (
        UPDATE submission s SET late_due_at = ms_from_now((p ->> 'leaseMs')::double precision) FROM due, generation g
        WHERE s.id = due.id AND g.id = s.generation_id
        RETURNING jsonb_build_object('submissionId', s.id, 'provider', s.provider, 'credential', s.credential,
            'idempotencyKey', s.idempotency_key, 'handle', s.handle,
            'request', CASE WHEN s.provider_job_id IS NULL THEN s.request END,
            'named', (SELECT coalesce(jsonb_agg(c.provider_job_id ORDER BY c.id DESC), '[]') FROM callback c
                WHERE c.submission_id = s.id AND s.provider_job_id IS NULL AND c.provider_job_id IS NOT NULL),
            'timeoutMs', coalesce((g.plan -> 'timings' ->> 'observeHttpTimeoutMs')::integer, 15000)) AS job
    )
    SELECT coalesce(jsonb_agg(job), '[]') INTO v_jobs FROM leased;
    RETURN v_jobs;
END $$;

-- A search for the job of an ended generation that found nothing: again at the next time, if there is one. One in which the provider
-- could not be asked counts for none, but not for ever: again soon where a job was named, as after a look that failed where none was.
-- in: {submissionId, unavailable: boolean}; out: whether it is searched again
CREATE OR REPLACE FUNCTION postpone_late_search(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_due timestamptz;
    v_again boolean := coalesce((p ->> 'unavailable')::boolean, false);
BEGIN
    UPDATE submission s SET late_count = CASE WHEN v_again THEN s.late_count ELSE s.late_count + 1 END,
        late_due_at = CASE WHEN NOT v_again THEN late_due_after(g, s.late_count + 1, clock_timestamp())
            WHEN coalesce(g.completed_at, g.deadline_at) > clock_timestamp() - interval '2 days' THEN clock_timestamp()
                + CASE WHEN EXISTS (SELECT 1 FROM callback c WHERE c.submission_id = s.id AND c.provider_job_id IS NOT NULL)
                    THEN interval '1 minute' ELSE interval '10 minutes' END END
    FROM generation g WHERE s.id = p ->> 'submissionId' AND g.id = s.generation_id AND s.provider_job_id IS NULL
    RETURNING s.late_due_at INTO v_due;
    RETURN v_due IS NOT NULL;
END $$;
