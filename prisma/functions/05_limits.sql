-- Counts one request of the present minute; the window turns with the database's clock.
-- out: {allowed, limit, remaining, resetInMs}
CREATE OR REPLACE FUNCTION take_request(p_tenant_id text, p_scope text, p_limit integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_start timestamptz(3) := date_trunc('minute', v_now);
    v_count integer;
BEGIN
    INSERT INTO request_window AS w (tenant_id, scope, window_start, count) VALUES (p_tenant_id, p_scope, v_start, 1)
    ON CONFLICT (tenant_id, scope) DO UPDATE SET window_start = greatest(w.window_start, excluded.window_start),
        count = CASE WHEN w.window_start >= excluded.window_start THEN least(w.count, 1000000000) + 1 ELSE 1 END
    RETURNING count INTO v_count;
    RETURN jsonb_build_object('allowed', v_count <= p_limit, 'limit', p_limit, 'remaining', greatest(p_limit - v_count, 0),
        'resetInMs', greatest(ms_until(v_start + interval '1 minute'), 0));
END $$;

-- Requests a minute of a tenant as a whole. in: {tenantId}; out: null without such a limit, else as take_request
CREATE OR REPLACE FUNCTION take_tenant_request(p jsonb) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    SELECT take_request(tenant_id, scope, requests_per_minute) FROM usage_limit
    WHERE tenant_id = p ->> 'tenantId' AND scope = 'tenant' AND requests_per_minute IS NOT NULL;
$$;

-- The limits of one account: its own row, else the one for each account. A row without any field = none.
CREATE OR REPLACE FUNCTION account_limit(p_tenant_id text, p_account_id text) RETURNS usage_limit LANGUAGE sql STABLE AS $$
    SELECT * FROM usage_limit WHERE tenant_id = p_tenant_id AND scope IN ('each_account', 'account:' || p_account_id)
    ORDER BY scope LIMIT 1;
$$;

-- One limit of create against what stands, or null. The caller holds the lock that makes the count exact.
CREATE OR REPLACE FUNCTION limit_refusal(g generation, l usage_limit, p_whole_tenant boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_scope text := CASE WHEN p_whole_tenant THEN 'tenant' ELSE 'account' END;
    v_spent numeric;
BEGIN
    IF l.generations_in_flight IS NOT NULL AND (SELECT count(*) FROM generation o WHERE o.tenant_id = g.tenant_id AND o.completed_at IS NULL
        AND (p_whole_tenant OR o.account_id = g.account_id) AND o.id <> g.id) >= l.generations_in_flight THEN
        RETURN jsonb_build_object('outcome', 'limit_reached', 'limit', 'generations_in_flight', 'scope', v_scope, 'max', l.generations_in_flight, 'retryInMs', 5000);
    END IF;
    IF l.credits_per_day IS NOT NULL THEN
        SELECT coalesce(sum(CASE h.state WHEN 'held' THEN h.amount WHEN 'captured' THEN h.captured ELSE 0 END), 0) INTO v_spent
        FROM generation o JOIN hold h ON h.generation_id = o.id
        WHERE o.tenant_id = g.tenant_id AND o.created_at >= day_start() AND (p_whole_tenant OR o.account_id = g.account_id);
        IF v_spent + g.credits > l.credits_per_day THEN
            RETURN jsonb_build_object('outcome', 'limit_reached', 'limit', 'credits_per_day', 'scope', v_scope, 'max', l.credits_per_day,
                'retryInMs', ms_until(day_start() + interval '1 day'));
        END IF;
    END IF;
    RETURN NULL;
END $$;

-- Whether a new generation, already inserted, is above a limit of its tenant or account; null = it is not. Locks the limit's
-- row, then the account's, so that of several at once only as many pass as may.
CREATE OR REPLACE FUNCTION usage_refusal(g generation) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    l usage_limit;
    v_refusal jsonb;
    v_taken jsonb;
BEGIN
    SELECT * INTO l FROM usage_limit WHERE tenant_id = g.tenant_id AND scope = 'tenant'
        AND (generations_in_flight IS NOT NULL OR credits_per_day IS NOT NULL) FOR UPDATE;
    IF FOUND THEN
        v_refusal := limit_refusal(g, l, true);
        IF v_refusal IS NOT NULL THEN
            RETURN v_refusal;
        END IF;
    END IF;
    l := account_limit(g.tenant_id, g.account_id);
    IF l.tenant_id IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM 1 FROM ledger_account WHERE id = g.account_id FOR NO KEY UPDATE;
    IF l.requests_per_minute IS NOT NULL THEN
        v_taken := take_request(g.tenant_id, 'account:' || g.account_id, l.requests_per_minute);
        IF NOT (v_taken ->> 'allowed')::boolean THEN
            RETURN jsonb_build_object('outcome', 'limit_reached', 'limit', 'requests_per_minute', 'scope', 'account', 'max', l.requests_per_minute,
                'retryInMs', v_taken -> 'resetInMs');
        END IF;
    END IF;
    RETURN limit_refusal(g, l, false);
END $$;

-- Whether one more cancel after acceptance is above a limit today; null = it is not.
CREATE OR REPLACE FUNCTION cancel_refusal(g generation) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    l usage_limit;
    v_whole boolean;
BEGIN
    FOREACH v_whole IN ARRAY ARRAY[true, false] LOOP
        IF v_whole THEN
            SELECT * INTO l FROM usage_limit WHERE tenant_id = g.tenant_id AND scope = 'tenant' AND cancels_per_day IS NOT NULL FOR UPDATE;
        ELSE
            l := account_limit(g.tenant_id, g.account_id);
            IF l.cancels_per_day IS NOT NULL THEN
                PERFORM 1 FROM ledger_account WHERE id = g.account_id FOR NO KEY UPDATE;
            END IF;
        END IF;
        IF l.cancels_per_day IS NOT NULL AND (SELECT count(*) FROM generation o WHERE o.tenant_id = g.tenant_id AND o.cancel_requested_at >= day_start()
            AND o.cancel_requested_by = 'tenant' AND o.started_at <= o.cancel_requested_at AND (v_whole OR o.account_id = g.account_id)) >= l.cancels_per_day THEN
            RETURN jsonb_build_object('outcome', 'limit_reached', 'limit', 'cancels_per_day', 'scope', CASE WHEN v_whole THEN 'tenant' ELSE 'account' END,
                'max', l.cancels_per_day, 'retryInMs', ms_until(day_start() + interval '1 day'), 'wake', false, 'run', NULL);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
