-- The right to send once. Creates the next submission or takes the one that may be sent (again), under the row lock; the fence
-- it returns is the token that every later step of this attempt must show. A later route abandons what was not sent at an earlier.
-- in:  {generationId, ordinal, routeIndex, submissionId, provider, credential, idempotencyKey, request, callbackBase, callbackKeyId,
--       leaseMs, minimumRunwayMs, replay: boolean, replayWindowMs, afterFence?: an unknown one is sent again only while this is its
--       fence, so that of several who asked the provider in vain one sends, estimatedCost: {amount, unit} | null}
-- out: {outcome: send, fence, request, idempotencyKey, callbackBase, callbackKeyId} | {outcome: leased, inMs}
--      | {outcome: provider_closed, reason, inMs, alert}: no new submit there now; the row is as it was
--      | {outcome: paused, reason: tenant_paused | model_paused, inMs}: no new submit for it anywhere; the row is as it was
--      | {outcome: unknown | accepted | terminal | cancel_requested | no_time | stale}
CREATE OR REPLACE FUNCTION claim_submission(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_last integer;
    v_closed jsonb;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    v_now := clock_timestamp();
    IF NOT FOUND OR g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'terminal');
    END IF;
    SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('prepared', 'sending', 'unknown', 'accepted') FOR UPDATE;
    IF s.state = 'accepted' THEN
        RETURN jsonb_build_object('outcome', 'accepted');
    END IF;
    IF s.state = 'sending' THEN
        IF s.lease_until > v_now THEN
            UPDATE generation SET due_at = s.lease_until WHERE id = g.id;
            RETURN jsonb_build_object('outcome', 'leased', 'inMs', ms_until(s.lease_until));
        END IF;
        -- Nobody can tell any more whether it was sent. updated_at stays that of the send: the time until it may be sent again counts from there.
        UPDATE submission SET state = 'unknown', unknown_at = coalesce(unknown_at, v_now), lease_until = NULL, problem = 'lease_over'
        WHERE id = s.id RETURNING * INTO s;
        PERFORM move_stage(g.id, 'submission_unknown');
    END IF;
    IF s.state = 'unknown' AND NOT (coalesce((p ->> 'replay')::boolean, false) AND s.provider = p ->> 'provider' AND s.credential = p ->> 'credential'
        AND v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond'
            < s.first_sent_at + (p ->> 'replayWindowMs')::double precision * interval '1 millisecond'
        AND s.fence = coalesce((p ->> 'afterFence')::integer, s.fence) AND v_now < g.deadline_at AND g.cancel_requested_at IS NULL) THEN
        -- Only a find, a callback, an operator or the deadline can tell now.
        UPDATE generation SET due_at = greatest(deadline_at, v_now) WHERE id = g.id;
        RETURN jsonb_build_object('outcome', 'unknown');
    END IF;
    IF g.cancel_requested_at IS NOT NULL AND s.state IS DISTINCT FROM 'unknown' THEN
        RETURN jsonb_build_object('outcome', 'cancel_requested');
    END IF;
    IF s.state IS DISTINCT FROM 'unknown' AND ms_until(g.deadline_at) < (p ->> 'minimumRunwayMs')::double precision THEN
        RETURN jsonb_build_object('outcome', 'no_time');
    END IF;
    IF s.state IS DISTINCT FROM 'unknown' THEN
        -- A pause that has returned is seen here, and one under way waits for this claim (72_pauses.sql). What may find an unknown
        -- job by the same key is no new submit.
        PERFORM pg_advisory_xact_lock_shared(hashtext('darkroom_pause'));
        v_closed := paused_run(g);
        IF v_closed IS NULL THEN
            v_closed := provider_closed(p ->> 'provider', p -> 'estimatedCost', (p ->> 'leaseMs')::double precision);
        END IF;
        IF v_closed IS NOT NULL THEN
            UPDATE generation SET due_at = least(ms_from_now((v_closed ->> 'inMs')::double precision), greatest(deadline_at, v_now)) WHERE id = g.id;
            RETURN v_closed;
        END IF;
    END IF;
    IF s.state = 'prepared' AND s.unknown_at IS NULL AND s.route_index < (p ->> 'routeIndex')::integer THEN
        -- Not sent there, and now somewhere else: its token is void.
        UPDATE submission SET state = 'abandoned', updated_at = v_now WHERE id = s.id;
        s := NULL;
    END IF;
    IF s.id IS NULL THEN
        SELECT coalesce(max(ordinal), 0) INTO v_last FROM submission WHERE generation_id = g.id;
        IF v_last + 1 <> (p ->> 'ordinal')::integer THEN
            RETURN jsonb_build_object('outcome', 'stale');
        END IF;
        INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, idempotency_key, request, callback_base,
            callback_key_id, created_at, updated_at)
        VALUES (p ->> 'submissionId', g.id, v_last + 1, (p ->> 'routeIndex')::integer, p ->> 'provider', p ->> 'credential', p ->> 'idempotencyKey',
            p -> 'request', p ->> 'callbackBase', p ->> 'callbackKeyId', v_now, v_now)
        RETURNING * INTO s;
    ELSIF s.ordinal <> (p ->> 'ordinal')::integer THEN
        RETURN jsonb_build_object('outcome', 'stale');
    END IF;
    UPDATE submission SET state = 'sending', fence = fence + 1, first_sent_at = coalesce(first_sent_at, v_now),
        lease_until = v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond', updated_at = v_now
    WHERE id = s.id RETURNING * INTO s;
    -- Counted from now on, also when the answer is lost; taken back when the answer proves that nothing was bought.
    PERFORM book_cost(s.id, p -> 'estimatedCost', 'catalogue');
    UPDATE generation SET provider = s.provider WHERE id = g.id AND provider <> s.provider;
    IF s.unknown_at IS NULL THEN
        PERFORM move_stage(g.id, 'submitting', s.lease_until);
    ELSE
        UPDATE generation SET due_at = s.lease_until WHERE id = g.id;
    END IF;
    RETURN jsonb_build_object('outcome', 'send', 'fence', s.fence, 'request', s.request, 'idempotencyKey', s.idempotency_key,
        'callbackBase', s.callback_base, 'callbackKeyId', s.callback_key_id);
END $$;
