-- The end of a generation by a person, with reason and name; also what the run may not decide. Nobody can charge for
-- outputs that are not stored, nor take back a charge here: that is a refund.
-- in:  {generationId, state: failed | succeeded, errorCode | null, reason, actor}
-- out: {outcome: resolved, state, errorCode, captured, run} | {outcome: not_found | already_terminal}
--      | {outcome: not_possible, why: sending | outputs_stored | no_output_stored | downloading}
CREATE OR REPLACE FUNCTION resolve_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3);
    v_state text := p ->> 'state';
    v_code text := p ->> 'errorCode';
    v_why text;
    v_stored integer;
    v_invalid integer;
    v_count integer;
    v_captured bigint := 0;
    v_delivery text := 'failed';
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'already_terminal', 'state', g.state);
    END IF;
    v_now := clock_timestamp();
    SELECT count(*) FILTER (WHERE o.state = 'stored'), count(*) FILTER (WHERE o.state = 'invalid'), count(*) INTO v_stored, v_invalid, v_count
    FROM output o WHERE o.generation_id = g.id;
    v_why := CASE
        WHEN EXISTS (SELECT 1 FROM submission s WHERE s.generation_id = g.id AND s.state = 'sending' AND s.lease_until > v_now) THEN 'sending'
        WHEN EXISTS (SELECT 1 FROM output o WHERE o.generation_id = g.id AND o.state = 'storing' AND o.lease_until > v_now) THEN 'downloading'
        WHEN v_state = 'failed' AND v_stored > 0 THEN 'outputs_stored'
        WHEN v_state = 'succeeded' AND v_stored = 0 THEN 'no_output_stored' END;
    IF v_why IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'not_possible', 'why', v_why);
    END IF;
    UPDATE output SET state = 'lost', lease_until = NULL, problem = 'resolved_by_operator' WHERE generation_id = g.id AND state = 'storing';
    IF v_state = 'succeeded' THEN
        v_code := NULL;
        v_captured := price_of_stored(g, v_stored);
        v_delivery := CASE WHEN v_stored >= greatest((g.plan -> 'outputs' ->> 'count')::integer, v_count) THEN 'stored' ELSE 'partial' END;
    ELSIF g.success_at IS NOT NULL THEN
        v_code := CASE WHEN v_invalid > 0 THEN 'output_invalid' ELSE 'output_lost' END;
    END IF;
    IF g.cancel_outcome IN ('requested', 'confirmed') THEN
        UPDATE generation SET cancel_outcome = 'too_late' WHERE id = g.id;
    END IF;
    -- Its lease is over and nobody has told what came of it: it is looked for after the end as any unknown one.
    UPDATE submission SET state = 'unknown', unknown_at = coalesce(unknown_at, v_now), lease_until = NULL, problem = 'lease_over', updated_at = v_now
    WHERE generation_id = g.id AND state = 'sending';
    PERFORM finish_generation(g.id, v_state, v_code, v_captured, v_delivery, p ->> 'reason', p ->> 'actor');
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES ('resolve', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', jsonb_build_object('state', v_state, 'errorCode', v_code, 'captured', v_captured));
    RETURN jsonb_build_object('outcome', 'resolved', 'state', v_state, 'errorCode', v_code, 'captured', v_captured, 'run', run_facts(g));
END $$;
