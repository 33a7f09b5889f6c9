-- The wish to cancel. While nothing can have been taken by a provider it is settled there and then; else it is flagged and the
-- run asks the provider, whose answer decides.
-- in:  {generationId, tenantId | null (operator), actor: tenant | operator}
-- out: {outcome: not_found | already_terminal | cancelled | requested, wake: boolean, run | null}
--      | {outcome: limit_reached, limit, scope, max, retryInMs}: too many of the tenant's cancels after acceptance today
CREATE OR REPLACE FUNCTION request_cancel(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3);
    v_wake boolean;
    v_refusal jsonb;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId'
        AND (p ->> 'tenantId' IS NULL OR tenant_id = p ->> 'tenantId') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found', 'wake', false, 'run', NULL);
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'already_terminal', 'wake', false, 'run', NULL);
    END IF;
    v_now := clock_timestamp();
    IF g.cancel_requested_at IS NULL THEN
        IF p ->> 'actor' = 'tenant' AND g.started_at IS NOT NULL THEN
            v_refusal := cancel_refusal(g);
            IF v_refusal IS NOT NULL THEN
                RETURN v_refusal;
            END IF;
        END IF;
        UPDATE generation SET cancel_requested_at = v_now, cancel_requested_by = p ->> 'actor', cancel_outcome = 'requested', updated_at = v_now
        WHERE id = g.id RETURNING * INTO g;
        PERFORM append_event(g.id, 'cancellation', jsonb_build_object('outcome', 'requested'));
    END IF;
    IF g.success_at IS NULL AND NOT EXISTS (SELECT 1 FROM submission WHERE generation_id = g.id AND state IN ('sending', 'unknown', 'accepted')) THEN
        UPDATE generation SET cancel_outcome = 'confirmed' WHERE id = g.id;
        PERFORM finish_generation(g.id, 'cancelled', NULL, 0, 'failed', 'cancelled before it was sent', 'darkroom');
        -- A run that already waits finds the row terminal; it is woken so that it ends.
        RETURN jsonb_build_object('outcome', 'cancelled', 'wake', true, 'run', run_facts(g));
    END IF;
    v_wake := g.wake_requested_at IS NULL;
    UPDATE generation SET wake_requested_at = coalesce(wake_requested_at, v_now) WHERE id = g.id;
    RETURN jsonb_build_object('outcome', 'requested', 'wake', v_wake, 'run', run_facts(g));
END $$;
