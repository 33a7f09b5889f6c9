-- When the job of an ended generation is looked at for the n-th time (from 0), or null when that was the last.
CREATE OR REPLACE FUNCTION late_due(g generation, p_count integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT g.completed_at + (coalesce(g.plan -> 'timings' -> 'lateObservationsMs', '[3600000, 21600000, 86400000]') ->> p_count)::double precision
        * interval '1 millisecond';
$$;

-- Jobs to look at after the end, leased so that workers share them; one whose look is lost is due again after the lease.
-- in: {limit, leaseMs, providers: [those that the caller knows]}; out: [{submissionId, provider, credential, idempotencyKey,
-- handle | null (its job was never known), timeoutMs}]
CREATE OR REPLACE FUNCTION claim_late_observations(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_jobs jsonb;
BEGIN
    WITH due AS (
        SELECT id FROM submission WHERE late_due_at <= clock_timestamp() AND p -> 'providers' ? provider ORDER BY late_due_at LIMIT (p ->> 'limit')::integer FOR UPDATE SKIP LOCKED
    ), leased AS (
        UPDATE submission s SET late_due_at = ms_from_now((p ->> 'leaseMs')::double precision) FROM due, generation g
        WHERE s.id = due.id AND g.id = s.generation_id
        RETURNING jsonb_build_object('submissionId', s.id, 'provider', s.provider, 'credential', s.credential,
            'idempotencyKey', s.idempotency_key, 'handle', s.handle,
            'timeoutMs', coalesce((g.plan -> 'timings' ->> 'observeHttpTimeoutMs')::integer, 15000)) AS job
    )
    SELECT coalesce(jsonb_agg(job), '[]') INTO v_jobs FROM leased;
    RETURN v_jobs;
END $$;

-- A search for the job of an ended generation that found nothing: again at the next time, if there is one.
-- in: {submissionId}; out: whether it is searched again
CREATE OR REPLACE FUNCTION postpone_late_search(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_due timestamptz;
BEGIN
    UPDATE submission s SET late_count = s.late_count + 1, late_due_at = late_due(g, s.late_count + 1)
    FROM generation g WHERE s.id = p ->> 'submissionId' AND g.id = s.generation_id AND s.provider_job_id IS NULL
    RETURNING s.late_due_at INTO v_due;
    RETURN v_due IS NOT NULL;
END $$;
