-- The end of a generation, written once: state, hold, ledger and terminal event together. Callers hold the row lock and have
-- checked the proposal; the constraints refuse what they missed.
CREATE OR REPLACE FUNCTION finish_generation(p_generation_id text, p_state text, p_error_code text, p_captured bigint, p_delivery text,
    p_reason text, p_actor text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    h hold;
    v_now timestamptz(3) := clock_timestamp();
    v_transaction bigint;
BEGIN
    UPDATE hold SET state = CASE WHEN p_captured > 0 THEN 'captured' ELSE 'released' END, captured = p_captured, resolved_at = v_now
    WHERE generation_id = p_generation_id RETURNING * INTO STRICT h;
    IF p_captured > 0 THEN
        INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor, created_at)
        VALUES ('capture', 'capture:' || p_generation_id, p_generation_id, p_reason, p_actor, v_now) RETURNING id INTO v_transaction;
        INSERT INTO ledger_entry (transaction_id, account_id, amount, created_at)
        VALUES (v_transaction, h.account_id, -p_captured, v_now), (v_transaction, 'sys_revenue', p_captured, v_now);
    END IF;
    UPDATE ledger_account SET posted = posted - p_captured, held = held - h.amount WHERE id = h.account_id;
    UPDATE submission SET state = 'abandoned', updated_at = v_now WHERE generation_id = p_generation_id AND state = 'prepared';
    UPDATE generation SET state = p_state, stage = 'done', error_code = p_error_code, delivery = p_delivery, operator_reason = NULL,
        completed_at = v_now, updated_at = v_now, due_at = NULL, wake_requested_at = NULL, event_seq = event_seq + 1
    WHERE id = p_generation_id RETURNING * INTO g;
    -- Also of one that was declared not accepted: what was looked for before the end was no late look, and what is looked for soon, since
    -- its job was named, is not put off.
    UPDATE submission SET late_count = 0, late_due_at = least(CASE WHEN provider_job_id IS NULL THEN late_due_at END, late_due(g, 0))
    WHERE generation_id = p_generation_id AND ended_at IS NULL
        AND (provider_job_id IS NOT NULL OR state = 'unknown' OR state = 'abandoned' AND unknown_at IS NOT NULL);
    -- An output is kept from the end on, not from the moment when it was stored: another one may have taken a day.
    UPDATE output SET expires_at = expires_at + greatest(v_now - stored_at, interval '0') WHERE generation_id = p_generation_id AND state = 'stored';
    PERFORM tell_event(p_generation_id, g.event_seq, 'terminal', jsonb_build_object('state', g.state, 'stage', g.stage, 'delivery', g.delivery,
        'errorCode', g.error_code, 'captured', p_captured, 'released', h.amount - p_captured));
END $$;

-- Charged for what was delivered: outputs stored by the price of one, which is frozen, and never above the hold. Plans of
-- version 0.1 have the total only.
CREATE OR REPLACE FUNCTION price_of_stored(g generation, p_stored integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(1, least(g.credits, coalesce((g.plan ->> 'creditsPerOutput')::bigint, g.credits / greatest((g.plan -> 'outputs' ->> 'count')::integer, 1)) * p_stored));
$$;

-- Settles by proposal, checked against the rows; writes once and returns what stands, or stale, and the run decides again.
-- in:  {generationId, state: succeeded | failed | cancelled | expired, errorCode | null}
-- out: {outcome: settled | already | stale, state, errorCode, captured, times?: of what was settled now and had a submission:
--       {provider, sinceCallbackMs: since the first callback that told the end | null, sinceSuccessMs | null}}
CREATE OR REPLACE FUNCTION settle(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_state text := p ->> 'state';
    v_code text := p ->> 'errorCode';
    v_stored integer;
    v_open integer;
    v_invalid integer;
    v_count integer;
    v_captured bigint := 0;
    v_delivery text := 'failed';
    v_fits boolean;
    v_times jsonb;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'already', 'state', 'failed', 'errorCode', NULL, 'captured', 0);
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN (SELECT jsonb_build_object('outcome', 'already', 'state', g.state, 'errorCode', g.error_code, 'captured', h.captured)
            FROM hold h WHERE h.generation_id = g.id);
    END IF;
    SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('prepared', 'sending', 'unknown', 'accepted');
    SELECT count(*) FILTER (WHERE o.state = 'stored'), count(*) FILTER (WHERE o.state = 'storing'), count(*) FILTER (WHERE o.state = 'invalid'), count(*)
    INTO v_stored, v_open, v_invalid, v_count FROM output o WHERE o.generation_id = g.id;
    IF g.success_at IS NOT NULL THEN
        v_fits := v_open = 0 AND CASE v_state
            WHEN 'succeeded' THEN v_stored > 0
            WHEN 'failed' THEN v_stored = 0 AND v_code = CASE WHEN v_invalid > 0 THEN 'output_invalid' ELSE 'output_lost' END
            ELSE false END;
    ELSE
        v_fits := CASE v_state
            WHEN 'failed' THEN v_code NOT IN ('output_lost', 'output_invalid')
                AND (s.id IS NULL OR s.state = 'prepared' OR (s.state = 'accepted' AND s.ended_at IS NOT NULL))
            WHEN 'expired' THEN clock_timestamp() >= g.deadline_at AND s.state IS DISTINCT FROM 'sending'
                AND (v_code = 'submission_unresolved') = (s.state IS NOT DISTINCT FROM 'unknown')
            WHEN 'cancelled' THEN g.cancel_requested_at IS NOT NULL
                AND (s.id IS NULL OR s.state = 'prepared' OR (s.state = 'accepted' AND s.ended_at IS NOT NULL))
            ELSE false END;
    END IF;
    IF v_fits IS DISTINCT FROM true THEN
        RETURN jsonb_build_object('outcome', 'stale', 'state', g.state, 'errorCode', NULL, 'captured', 0);
    END IF;
    IF v_state = 'succeeded' THEN
        v_captured := price_of_stored(g, v_stored);
        v_delivery := CASE WHEN v_stored >= greatest((g.plan -> 'outputs' ->> 'count')::integer, v_count) THEN 'stored' ELSE 'partial' END;
    END IF;
    IF v_state = 'cancelled' AND g.cancel_outcome = 'requested' THEN
        UPDATE generation SET cancel_outcome = 'confirmed' WHERE id = g.id;
    ELSIF g.cancel_outcome IN ('requested', 'confirmed') AND v_state <> 'cancelled' THEN
        UPDATE generation SET cancel_outcome = 'too_late' WHERE id = g.id;
    END IF;
    PERFORM finish_generation(g.id, v_state, v_code, v_captured, v_delivery, 'outputs stored', 'darkroom');
    SELECT jsonb_build_object('provider', t.provider,
        'sinceCallbackMs', extract(epoch FROM n.completed_at - (SELECT min(c.received_at) FROM callback c WHERE c.submission_id = t.id AND c.terminal)) * 1000,
        'sinceSuccessMs', extract(epoch FROM n.completed_at - n.success_at) * 1000)
    INTO v_times FROM generation n JOIN submission t ON t.generation_id = n.id WHERE n.id = g.id ORDER BY t.ordinal DESC LIMIT 1;
    RETURN jsonb_build_object('outcome', 'settled', 'state', v_state, 'errorCode', v_code, 'captured', v_captured, 'times', v_times);
END $$;
