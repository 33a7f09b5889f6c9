-- Tells the tenant's receivers of a generation: one event, one delivery for each endpoint that wants its type and for the
-- generation's own callback_url (ends only). Part of the transaction that moved the generation. What an endpoint misses while it is
-- disabled is held, so that it can be delivered later. The id follows from generation, type and, for updates, the event's number.
-- p_word: succeeded | failed | cancelled | expired | updated
CREATE OR REPLACE FUNCTION emit_webhook(p_generation_id text, p_word text, p_seq integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3) := clock_timestamp();
    v_id text := 'evt_' || substr(p_generation_id, 5) || '_' || p_word || coalesce('_' || p_seq, '');
    v_type text := 'generation.' || p_word;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p_generation_id;
    IF (g.callback_url IS NULL OR p_word = 'updated') AND NOT EXISTS (
        SELECT 1 FROM webhook_endpoint e WHERE e.tenant_id = g.tenant_id AND e.deleted_at IS NULL AND v_type = ANY (e.types)) THEN
        RETURN;
    END IF;
    INSERT INTO webhook_event (id, tenant_id, generation_id, type, created_at) VALUES (v_id, g.tenant_id, g.id, v_type, v_now) ON CONFLICT DO NOTHING;
    INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, state, next_attempt_at, created_at)
    SELECT g.tenant_id, v_id, e.id, e.id, CASE WHEN e.disabled_at IS NULL THEN 'pending' ELSE 'held' END,
        CASE WHEN e.disabled_at IS NULL THEN v_now END, v_now
    FROM webhook_endpoint e WHERE e.tenant_id = g.tenant_id AND e.deleted_at IS NULL AND v_type = ANY (e.types)
    ORDER BY e.id ON CONFLICT DO NOTHING;
    IF g.callback_url IS NOT NULL AND p_word <> 'updated' THEN
        INSERT INTO webhook_delivery (tenant_id, event_id, target, next_attempt_at, created_at)
        VALUES (g.tenant_id, v_id, g.tenant_id || ' ' || coalesce(substring(g.callback_url FROM '^[a-z]+://[^/?#]+'), ''), v_now, v_now)
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM pg_notify('darkroom_webhook', '');
END $$;
