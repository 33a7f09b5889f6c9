-- What an operator does with one generation. Each is one transaction: row lock, checks, the change or the intent that its run must
-- see, and the record of who and why. A dry run is the same call, undone.
-- in:  {generationId, actor, reason} and what the action names
-- out: {outcome: done, effect, state, stage, wake: boolean, run, submission?, jobId?, count?, until?}
--      | {outcome: refused, why, state, stage, inMs?, jobId?, generationId?} | {outcome: not_found}

CREATE OR REPLACE FUNCTION operator_done(p_generation_id text, p jsonb, p_kind text, p_effect text, p_wake boolean, p_detail jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    IF p_wake THEN
        -- Now, whatever steps the sweep has pushed it back by. One that has ended has no wake in its row.
        UPDATE generation SET wake_requested_at = least(wake_requested_at, clock_timestamp()), sweep_count = 0
        WHERE id = p_generation_id AND completed_at IS NULL;
    END IF;
    SELECT * INTO g FROM generation WHERE id = p_generation_id;
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES (p_kind, g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', jsonb_build_object('effect', p_effect) || p_detail);
    RETURN jsonb_build_object('outcome', 'done', 'effect', p_effect, 'state', g.state, 'stage', g.stage, 'wake', p_wake, 'run', run_facts(g)) || p_detail;
END $$;

CREATE OR REPLACE FUNCTION operator_refused(g generation, p_why text, p_facts jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('outcome', 'refused', 'why', p_why, 'state', g.state, 'stage', g.stage) || p_facts;
$$;

-- Makes the run look at its rows now.
CREATE OR REPLACE FUNCTION operator_wake(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    RETURN operator_done(g.id, p, 'wake', 'woken', true, '{}');
END $$;

-- The wish to cancel, with the operator's name.
CREATE OR REPLACE FUNCTION operator_cancel(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_outcome text;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    v_outcome := request_cancel(jsonb_build_object('generationId', g.id, 'tenantId', NULL, 'actor', 'operator')) ->> 'outcome';
    IF v_outcome = 'already_terminal' THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    RETURN operator_done(g.id, p, 'cancel', v_outcome, true, '{}');
END $$;

-- Looks at its job now: the run of one that has not ended by a hint in its inbox, so that no poll time and no lost wake is in the way; a
-- job that is not known to have ended after its generation, or that belongs to a dead submission, by the loop of late observations.
CREATE OR REPLACE FUNCTION operator_observe(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_late integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    v_now := clock_timestamp();
    IF g.completed_at IS NULL THEN
        SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('sending', 'unknown', 'accepted');
        IF s.state = 'sending' AND s.lease_until > v_now THEN
            RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
        END IF;
    END IF;
    -- A look of an operator uses up none of those that are planned.
    UPDATE submission SET late_due_at = v_now, late_count = CASE WHEN late_due_at > v_now THEN greatest(late_count - 1, -1) ELSE late_count END
    WHERE generation_id = g.id AND ended_at IS NULL AND (g.completed_at IS NOT NULL OR state IN ('refused', 'abandoned'))
        AND (provider_job_id IS NOT NULL OR state = 'unknown' OR state = 'abandoned' AND unknown_at IS NOT NULL);
    GET DIAGNOSTICS v_late = ROW_COUNT;
    IF s.id IS NOT NULL THEN
        INSERT INTO callback (provider, credential, submission_id, event_key, type, terminal, body)
        VALUES (s.provider, s.credential, s.id, 'operator:observe', 'operator.observe', true, '')
        ON CONFLICT (submission_id, event_key) WHERE submission_id IS NOT NULL DO UPDATE SET seen_at = NULL, received_at = v_now;
        RETURN operator_done(g.id, p, 'observe', CASE s.state WHEN 'accepted' THEN 'observing' ELSE 'searching' END, true,
            jsonb_build_object('submission', s.id, 'jobId', s.provider_job_id, 'count', 1 + v_late));
    END IF;
    IF v_late = 0 THEN
        RETURN operator_refused(g, CASE WHEN EXISTS (SELECT 1 FROM submission WHERE generation_id = g.id AND ended_at IS NOT NULL)
            THEN 'job_ended' ELSE 'no_job' END, '{}');
    END IF;
    RETURN operator_done(g.id, p, 'observe', 'observing_late', false, jsonb_build_object('count', v_late));
END $$;

-- Outputs given up are stored after all, from fresh links, with a new time limit; whoever holds the lease of one keeps it.
-- in: and hours
CREATE OR REPLACE FUNCTION operator_retry_storing(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_count integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    IF g.success_at IS NULL THEN
        RETURN operator_refused(g, 'no_success', '{}');
    END IF;
    UPDATE output SET state = 'storing', gone_count = 0, problem = CASE state WHEN 'storing' THEN problem END,
        lease_until = CASE state WHEN 'storing' THEN lease_until END
    WHERE generation_id = g.id AND state IN ('storing', 'lost', 'invalid');
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count = 0 THEN
        RETURN operator_refused(g, 'nothing_to_store', '{}');
    END IF;
    UPDATE generation SET store_until = greatest(store_until, clock_timestamp() + (p ->> 'hours')::integer * interval '1 hour'), updated_at = clock_timestamp()
    WHERE id = g.id RETURNING * INTO g;
    RETURN operator_done(g.id, p, 'retry_storing', 'storing', true, jsonb_build_object('count', v_count, 'until', iso_time(g.store_until)));
END $$;

-- The submission that an operator means: the named one, else the last that has been sent.
CREATE OR REPLACE FUNCTION operator_submission(p jsonb) RETURNS submission LANGUAGE sql STABLE AS $$
    SELECT s FROM submission s WHERE s.generation_id = p ->> 'generationId' AND (p ->> 'submission' IS NULL OR s.id = p ->> 'submission')
    ORDER BY s.first_sent_at IS NULL, s.ordinal DESC LIMIT 1;
$$;

-- Names the job of a submission whose answer was lost, also after the end and of one that was declared not accepted. Named only: its run,
-- or the loop of late observations, asks the provider for that job and attaches what is there.
-- in: and submission | null, jobId
CREATE OR REPLACE FUNCTION operator_attach_job(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_job text := p ->> 'jobId';
    v_owner text;
    v_late boolean;
BEGIN
    -- As in record_submission and record_callback: whoever names this job comes after the other.
    PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(v_job));
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    s := operator_submission(p);
    v_now := clock_timestamp();
    IF s.id IS NULL THEN
        RETURN operator_refused(g, 'no_submission', '{}');
    END IF;
    IF v_job !~ '^[\x21-\x7e]{1,255}$' OR v_job IN ('.', '..') THEN
        RETURN operator_refused(g, 'job_malformed', '{}');
    END IF;
    IF s.provider_job_id = v_job THEN
        RETURN jsonb_build_object('outcome', 'done', 'effect', 'attached', 'state', g.state, 'stage', g.stage, 'wake', false, 'run', run_facts(g),
            'submission', s.id, 'jobId', v_job);
    END IF;
    IF s.provider_job_id IS NOT NULL THEN
        RETURN operator_refused(g, 'has_job', jsonb_build_object('jobId', s.provider_job_id));
    END IF;
    IF s.state = 'sending' AND s.lease_until > v_now THEN
        RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
    END IF;
    IF s.state NOT IN ('sending', 'unknown') AND (s.state <> 'abandoned' OR s.unknown_at IS NULL) THEN
        RETURN operator_refused(g, 'not_unknown', '{}');
    END IF;
    SELECT generation_id INTO v_owner FROM submission WHERE provider = s.provider AND credential = s.credential AND provider_job_id = v_job;
    IF NOT FOUND THEN
        SELECT o.generation_id INTO v_owner FROM orphan_job j JOIN submission o ON o.id = j.submission_id
        WHERE j.provider = s.provider AND j.credential = s.credential AND j.provider_job_id = v_job;
    END IF;
    IF v_owner IS NOT NULL THEN
        RETURN operator_refused(g, 'job_taken', jsonb_build_object('jobId', v_job, 'generationId', v_owner));
    END IF;
    -- An id that was named before, wrongly, must not be asked for instead of this one.
    DELETE FROM callback WHERE submission_id = s.id AND type = 'operator.attached' AND provider_job_id <> v_job;
    INSERT INTO callback (provider, credential, submission_id, provider_job_id, event_key, type, terminal, body)
    VALUES (s.provider, s.credential, s.id, v_job, 'operator:' || v_job, 'operator.attached', true, '')
    ON CONFLICT (submission_id, event_key) WHERE submission_id IS NOT NULL DO UPDATE SET seen_at = NULL, received_at = v_now;
    v_late := g.completed_at IS NOT NULL OR s.state = 'abandoned';
    IF v_late THEN
        UPDATE submission SET late_due_at = v_now WHERE id = s.id;
    END IF;
    RETURN operator_done(g.id, p, 'attach_job', CASE WHEN v_late THEN 'attaching_late' ELSE 'attaching' END, true,
        jsonb_build_object('submission', s.id, 'jobId', v_job));
END $$;

-- A person has seen at the provider that an unknown submission has no job: it is dead. The generation ends and is released; or, with
-- resubmit, its run sends a new submission at the same place of the route list. The only place where a second paid job can come from, so
-- nothing that may still bring the first one's answer is passed over. A job that turns up all the same is attached to the dead one.
-- in: and submission | null, resubmit: boolean
CREATE OR REPLACE FUNCTION operator_not_accepted(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_resubmit boolean := (p ->> 'resubmit')::boolean;
    v_named text;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    s := operator_submission(p);
    v_now := clock_timestamp();
    IF s.id IS NULL THEN
        RETURN operator_refused(g, 'no_submission', '{}');
    END IF;
    IF s.provider_job_id IS NOT NULL THEN
        RETURN operator_refused(g, 'has_job', jsonb_build_object('jobId', s.provider_job_id));
    END IF;
    IF s.state = 'sending' AND s.lease_until > v_now THEN
        RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
    END IF;
    IF v_resubmit AND s.state = 'abandoned' AND s.unknown_at IS NOT NULL AND s.ordinal = (SELECT max(ordinal) FROM submission WHERE generation_id = g.id) THEN
        -- Declared before; its run has not sent the new one yet.
        RETURN jsonb_build_object('outcome', 'done', 'effect', 'resubmitting', 'state', g.state, 'stage', g.stage, 'wake', true, 'run', run_facts(g), 'submission', s.id);
    END IF;
    IF s.state NOT IN ('sending', 'unknown') THEN
        RETURN operator_refused(g, 'not_unknown', '{}');
    END IF;
    -- Named and not asked for yet, being asked for, or asked for in vain: whether the provider has that job is not known.
    SELECT provider_job_id INTO v_named FROM callback WHERE submission_id = s.id AND provider_job_id IS NOT NULL
        AND (seen_at IS NULL OR s.problem = 'named_job_unavailable'
            OR seen_at > v_now - interval '1 minute' AND s.problem IS DISTINCT FROM 'named_job_not_found') ORDER BY id DESC LIMIT 1;
    IF v_named IS NOT NULL THEN
        RETURN operator_refused(g, 'job_named', jsonb_build_object('jobId', v_named));
    END IF;
    IF v_resubmit AND g.cancel_requested_at IS NOT NULL THEN
        RETURN operator_refused(g, 'cancel_requested', '{}');
    END IF;
    IF v_resubmit AND ms_until(g.deadline_at) < coalesce((g.plan ->> 'expectedDurationSeconds')::double precision, 0) * 1000 THEN
        RETURN operator_refused(g, 'no_time', '{}');
    END IF;
    IF s.state = 'sending' THEN
        UPDATE submission SET state = 'unknown', unknown_at = coalesce(unknown_at, v_now), lease_until = NULL WHERE id = s.id;
    END IF;
    IF v_resubmit THEN
        PERFORM move_stage(g.id, 'queued');
        UPDATE submission SET late_due_at = v_now + (coalesce(g.plan -> 'timings' -> 'lateObservationsMs' ->> 0, '3600000'))::double precision * interval '1 millisecond' WHERE id = s.id;
    ELSIF g.cancel_requested_at IS NOT NULL THEN
        -- What the tenant wished is what has become of it.
        UPDATE generation SET cancel_outcome = 'confirmed' WHERE id = g.id;
        PERFORM finish_generation(g.id, 'cancelled', NULL, 0, 'failed', p ->> 'reason', p ->> 'actor');
    ELSE
        PERFORM finish_generation(g.id, 'failed', 'provider_unavailable', 0, 'failed', p ->> 'reason', p ->> 'actor');
    END IF;
    -- After the end, which plans the searches for a job that turns up all the same. What was never bought costs nothing.
    UPDATE submission SET state = 'abandoned', problem = 'declared_not_accepted', updated_at = v_now WHERE id = s.id;
    UPDATE submission SET cost_amount = NULL, cost_unit = NULL, cost_final = NULL, cost_source = NULL, cost_at = NULL
    WHERE id = s.id AND cost_source = 'catalogue';
    RETURN operator_done(g.id, p, 'not_accepted', CASE WHEN v_resubmit THEN 'resubmitting' ELSE 'ended' END, true, jsonb_build_object('submission', s.id));
END $$;

-- Sends again all that was told of a generation, by each delivery's own function. Endpoints one after the other in the order of their
-- ids, so that two such calls wait for each other; the generation's row is not locked, since nothing of it changes.
CREATE OR REPLACE FUNCTION operator_redeliver(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    d record;
    v_all integer := 0;
    v_count integer := 0;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId';
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    -- One whose attempt is under way is left alone.
    FOR d IN SELECT del.id FROM webhook_delivery del JOIN webhook_event e ON e.id = del.event_id
        WHERE e.generation_id = g.id AND (del.leased_until IS NULL OR del.leased_until < clock_timestamp())
        ORDER BY del.endpoint_id NULLS FIRST, del.created_at, del.id LIMIT 1000
    LOOP
        v_all := v_all + 1;
        IF redeliver_webhooks(jsonb_build_object('tenantId', g.tenant_id, 'deliveryId', d.id)) ->> 'outcome' = 'redelivering' THEN
            v_count := v_count + 1;
        END IF;
    END LOOP;
    IF v_count = 0 THEN
        RETURN operator_refused(g, CASE WHEN v_all = 0 THEN 'nothing_to_redeliver' ELSE 'endpoints_disabled' END, '{}');
    END IF;
    RETURN operator_done(g.id, p, 'redeliver', 'redelivering', false, jsonb_build_object('count', v_count, 'skipped', v_all - v_count));
END $$;

-- What came of asking the provider for a job that was named, for whoever looks at the submission. in: {submissionId, problem}
CREATE OR REPLACE FUNCTION note_named_job(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE submission SET problem = p ->> 'problem' WHERE id = p ->> 'submissionId' AND provider_job_id IS NULL
        AND state IN ('unknown', 'abandoned') AND problem IS DISTINCT FROM p ->> 'problem';
    RETURN FOUND;
END $$;
