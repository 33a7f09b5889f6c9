-- What the passes of the sweep read and write. Each is bounded in rows, skips rows that somebody else has locked, and reads only
-- what is open or recent.

-- The turn to do a pass: given to one process within its interval. A pass whose process died is only late.
-- in: {name, everyMs (0 = now in any case)}; out: {at: how far the last one came | null, place: text | null}, or null: not yet
CREATE OR REPLACE FUNCTION claim_pass(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    m sweep_mark;
BEGIN
    INSERT INTO sweep_mark (name, updated_at) VALUES (p ->> 'name', to_timestamp(0)) ON CONFLICT DO NOTHING;
    UPDATE sweep_mark SET updated_at = clock_timestamp()
    WHERE name = p ->> 'name' AND ((p ->> 'everyMs')::double precision <= 0
        OR updated_at <= ms_from_now(-(p ->> 'everyMs')::double precision)) RETURNING * INTO m;
    RETURN CASE WHEN m.name IS NULL THEN NULL ELSE jsonb_build_object('at', iso_time(m.at), 'place', m.place) END;
END $$;

-- How far a pass has come. A time only moves forward: two that overlap do not undo each other.
-- in: {name, at: ISO time | null, place: text | null}; out: boolean
CREATE OR REPLACE FUNCTION mark_pass(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sweep_mark SET at = greatest(at, (p ->> 'at')::timestamptz), place = p ->> 'place' WHERE name = p ->> 'name';
    RETURN FOUND;
END $$;

-- Callbacks that ask for a look and that no run has read, though no wake is outstanding: the wake is set now. A page of open rows.
-- Those of earlier submissions are left: nobody reads them, and nothing hangs on them.
-- in: {after: id | null, limit, olderThanMs}; out: {place: id of the page's last row, null = that was the last page, woken: [run facts]}
CREATE OR REPLACE FUNCTION wake_unseen_callbacks(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := ms_from_now(-(p ->> 'olderThanMs')::double precision);
    v_ids text[];
    v_woken jsonb;
BEGIN
    SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation WHERE completed_at IS NULL AND id > coalesce(p ->> 'after', '')
        ORDER BY id LIMIT (p ->> 'limit')::integer) AS page;
    WITH unseen AS (
        SELECT page.id FROM unnest(v_ids) AS page(id)
        CROSS JOIN LATERAL (SELECT * FROM submission WHERE generation_id = page.id ORDER BY ordinal DESC LIMIT 1) AS s
        WHERE EXISTS (SELECT 1 FROM callback c WHERE c.submission_id = s.id AND c.seen_at IS NULL
            AND (c.terminal OR (s.provider_job_id IS NULL AND c.provider_job_id IS NOT NULL)) AND greatest(c.received_at, s.accepted_at) < v_before)
    ), free AS (
        SELECT g.id FROM generation g JOIN unseen USING (id) WHERE g.completed_at IS NULL AND g.wake_requested_at IS NULL FOR UPDATE OF g SKIP LOCKED
    ), woken AS (
        UPDATE generation g SET wake_requested_at = clock_timestamp() FROM free WHERE g.id = free.id RETURNING run_facts(g) AS run
    )
    SELECT coalesce(jsonb_agg(run), '[]') INTO v_woken FROM woken;
    RETURN jsonb_build_object('woken', v_woken,
        'place', CASE WHEN cardinality(v_ids) >= (p ->> 'limit')::integer THEN v_ids[cardinality(v_ids)] END);
END $$;

-- Open rows that the sweep will not look at soon, by id: whether their run is still there has to be asked of Temporal.
-- in: {after: id | null, limit, farMs, unknown: only those whose submission is unknown}; out: {place: as above, runs: [run facts]}
CREATE OR REPLACE FUNCTION page_of_runs(p jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_far timestamptz := clock_timestamp() + (p ->> 'farMs')::double precision * interval '1 millisecond';
    v_limit integer := (p ->> 'limit')::integer;
    v_after text := coalesce(p ->> 'after', '');
    v_ids text[];
    v_runs jsonb;
BEGIN
    IF (p ->> 'unknown')::boolean THEN
        SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation
            WHERE stage = 'submission_unknown' AND id > v_after AND due_at > v_far ORDER BY id LIMIT v_limit) AS page;
    ELSE
        SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation
            WHERE completed_at IS NULL AND id > v_after AND due_at > v_far ORDER BY id LIMIT v_limit) AS page;
    END IF;
    -- Only of the page: facts are read out of each row's plan.
    SELECT jsonb_agg(run_facts(g) ORDER BY g.id) INTO v_runs FROM generation g WHERE g.id = ANY (v_ids);
    RETURN jsonb_build_object('runs', coalesce(v_runs, '[]'),
        'place', CASE WHEN jsonb_array_length(v_runs) >= v_limit THEN v_runs -> -1 ->> 'generationId' END);
END $$;

-- A job in a provider's list that carries what is ours, compared with our rows. `ours` = its callback URL has our signature, so a
-- submission that is not here has been here; an external id alone may be anybody's.
-- in:  {provider, credential, jobId, submissionId | null, idempotencyKey | null, ours: boolean}
-- out: {outcome: attach, submissionId}: the job of a submission that has none, to be recorded by the caller
--      | {outcome: known | sending | orphan | stray | foreign}; orphan and stray are told once
CREATE OR REPLACE FUNCTION match_listed_job(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    s submission;
    v_rows integer;
BEGIN
    SELECT * INTO s FROM submission WHERE provider = p ->> 'provider' AND CASE WHEN p ->> 'submissionId' IS NULL
        THEN idempotency_key = p ->> 'idempotencyKey' ELSE id = p ->> 'submissionId' END;
    IF NOT FOUND THEN
        IF NOT (p ->> 'ours')::boolean THEN
            RETURN jsonb_build_object('outcome', 'foreign');
        END IF;
        INSERT INTO stray_job (provider, credential, provider_job_id, submission_id, found_by)
        VALUES (p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'submissionId', 'list') ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        RETURN jsonb_build_object('outcome', CASE v_rows WHEN 1 THEN 'stray' ELSE 'known' END);
    END IF;
    IF s.provider_job_id = p ->> 'jobId' THEN
        RETURN jsonb_build_object('outcome', 'known');
    END IF;
    -- The attempt that sends records the answer itself; the row lock makes sure that this is not the moment.
    PERFORM 1 FROM generation WHERE id = s.generation_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'sending');
    END IF;
    SELECT * INTO s FROM submission WHERE id = s.id;
    IF s.state = 'sending' AND s.lease_until > clock_timestamp() THEN
        RETURN jsonb_build_object('outcome', 'sending');
    END IF;
    IF s.provider_job_id IS NULL THEN
        DELETE FROM stray_job WHERE provider = p ->> 'provider' AND provider_job_id = p ->> 'jobId';
        RETURN jsonb_build_object('outcome', 'attach', 'submissionId', s.id);
    END IF;
    IF EXISTS (SELECT 1 FROM submission o WHERE o.provider = s.provider AND o.provider_job_id = p ->> 'jobId') THEN
        RETURN jsonb_build_object('outcome', 'known');
    END IF;
    INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
    VALUES (s.provider, s.credential, p ->> 'jobId', s.id) ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN jsonb_build_object('outcome', CASE v_rows WHEN 1 THEN 'orphan' ELSE 'known' END);
END $$;

-- How the open generations stand, for gauges. One read of the open rows; nothing of what has ended.
-- in: {graceMs: as of claim_due_generations}
-- out: {stages: [{stage, count, oldestSeconds}], backlog, overdue, stubborn, overdueHolds, strayJobs, violations: text | null,
--       checkedSeconds: age of the last check of invariants | null}
CREATE OR REPLACE FUNCTION sweep_states(p jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    WITH open AS MATERIALIZED (
        SELECT stage, created_at, due_at, sweep_count, wake_requested_at, greatest(deadline_at, store_until) AS latest_at FROM generation WHERE completed_at IS NULL
    ), before AS (SELECT now() - (p ->> 'graceMs')::double precision * interval '1 millisecond' AS at)
    SELECT jsonb_build_object(
        'stages', (SELECT coalesce(jsonb_agg(x), '[]') FROM (SELECT jsonb_build_object('stage', stage, 'count', count(*),
            'oldestSeconds', greatest(0, extract(epoch FROM now() - min(created_at)))) AS x FROM open GROUP BY stage) AS by_stage),
        'backlog', (SELECT count(*) FROM open, before WHERE due_at < before.at OR wake_requested_at < before.at),
        'overdue', (SELECT count(*) FROM open WHERE due_at < now() - interval '1 minute'),
        'stubborn', (SELECT count(*) FROM open WHERE sweep_count >= 3),
        'overdueHolds', (SELECT count(*) FROM open WHERE stage <> 'needs_operator' AND latest_at + interval '5 minutes' < now()),
        'strayJobs', (SELECT count(*) FROM stray_job),
        'violations', (SELECT place FROM sweep_mark WHERE name = 'invariants'),
        'checkedSeconds', (SELECT extract(epoch FROM now() - at) FROM sweep_mark WHERE name = 'invariants'));
$$;
