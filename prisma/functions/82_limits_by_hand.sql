-- Sets the limits of a tenant, of each of its accounts or of one account; a field that is null lifts that limit.
-- in:  {tenantId, scope: tenant | each_account | account, account | null, generationsInFlight, creditsPerDay, requestsPerMinute,
--       cancelsPerDay, reason, actor}
-- out: {outcome: set | unknown_tenant | unknown_account}
CREATE OR REPLACE FUNCTION set_usage_limit(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_tenant text := p ->> 'tenantId';
    v_scope text := p ->> 'scope';
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tenant WHERE id = v_tenant) THEN
        RETURN jsonb_build_object('outcome', 'unknown_tenant');
    END IF;
    IF v_scope = 'account' THEN
        SELECT 'account:' || id INTO v_scope FROM ledger_account WHERE tenant_id = v_tenant AND name = p ->> 'account';
        IF v_scope IS NULL THEN
            RETURN jsonb_build_object('outcome', 'unknown_account');
        END IF;
    END IF;
    INSERT INTO usage_limit (tenant_id, scope, generations_in_flight, credits_per_day, requests_per_minute, cancels_per_day)
    VALUES (v_tenant, v_scope, (p ->> 'generationsInFlight')::integer, (p ->> 'creditsPerDay')::bigint, (p ->> 'requestsPerMinute')::integer,
        (p ->> 'cancelsPerDay')::integer)
    ON CONFLICT (tenant_id, scope) DO UPDATE SET generations_in_flight = excluded.generations_in_flight, credits_per_day = excluded.credits_per_day,
        requests_per_minute = excluded.requests_per_minute, cancels_per_day = excluded.cancels_per_day, updated_at = clock_timestamp();
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('usage_limit', v_tenant, p ->> 'actor', p ->> 'reason', p - 'actor' - 'reason' - 'tenantId');
    RETURN jsonb_build_object('outcome', 'set');
END $$;

-- Sets or lifts what may be spent at a provider in a UTC day.
-- in: {provider, amountPerDay: decimal text | null (lifted), unit, reason, actor}; out: {outcome: set | lifted}
CREATE OR REPLACE FUNCTION set_provider_budget(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operator_action (kind, actor, reason, detail)
    VALUES ('provider_budget', p ->> 'actor', p ->> 'reason', p - 'actor' - 'reason');
    IF p ->> 'amountPerDay' IS NULL THEN
        DELETE FROM provider_budget WHERE provider = p ->> 'provider';
        RETURN jsonb_build_object('outcome', 'lifted');
    END IF;
    INSERT INTO provider_budget (provider, amount_per_day, unit) VALUES (p ->> 'provider', (p ->> 'amountPerDay')::numeric, p ->> 'unit')
    ON CONFLICT (provider) DO UPDATE SET amount_per_day = excluded.amount_per_day, unit = excluded.unit, reached_at = NULL, updated_at = clock_timestamp();
    RETURN jsonb_build_object('outcome', 'set');
END $$;
