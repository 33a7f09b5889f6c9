-- Sets a run aside for a person: visible, hold intact, never settled by the deadline. A wake makes it try again.
-- in: {generationId, reason, dueInMs}; out: {terminal: boolean}
CREATE OR REPLACE FUNCTION park_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND OR g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('terminal', true);
    END IF;
    UPDATE generation SET stage = 'needs_operator', operator_reason = p ->> 'reason', updated_at = clock_timestamp(),
        due_at = ms_from_now((p ->> 'dueInMs')::double precision)
    WHERE id = g.id;
    IF g.stage <> 'needs_operator' THEN
        PERFORM append_event(g.id, 'stage', jsonb_build_object('state', g.state, 'stage', 'needs_operator'));
    END IF;
    RETURN jsonb_build_object('terminal', false);
END $$;

-- What the sweep has to wake: rows overdue, wakes not taken. Each is pushed back with doubling steps, so that one bad row
-- neither stops a pass nor is hammered; several sweepers share the work by SKIP LOCKED.
-- in: {limit, graceMs}; out: [run facts]
CREATE OR REPLACE FUNCTION claim_due_generations(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := ms_from_now(-(p ->> 'graceMs')::double precision);
    v_runs jsonb;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('darkroom_sweep')) THEN
        RETURN '[]';
    END IF;
    WITH due AS (
        SELECT id FROM generation WHERE completed_at IS NULL AND (due_at < v_before OR wake_requested_at < v_before)
        ORDER BY due_at LIMIT (p ->> 'limit')::integer FOR UPDATE SKIP LOCKED
    ), pushed AS (
        UPDATE generation g SET sweep_count = g.sweep_count + 1,
            due_at = clock_timestamp() + least(300, 5 * power(2, least(g.sweep_count, 10))) * interval '1 second',
            wake_requested_at = CASE WHEN g.wake_requested_at IS NULL THEN NULL
                ELSE clock_timestamp() + least(300, 5 * power(2, least(g.sweep_count, 10)) - 5) * interval '1 second' END
        FROM due WHERE g.id = due.id RETURNING run_facts(g) AS run
    )
    SELECT coalesce(jsonb_agg(run), '[]') INTO v_runs FROM pushed;
    RETURN v_runs;
END $$;

-- A run that could not be ensured (Temporal away): its row is due again soon, and the pass does not count.
-- in: {generationId}
CREATE OR REPLACE FUNCTION release_due_generation(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE generation SET due_at = clock_timestamp(), sweep_count = greatest(sweep_count - 1, 0),
        wake_requested_at = CASE WHEN wake_requested_at IS NULL THEN NULL ELSE clock_timestamp() END
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN FOUND;
END $$;

-- Credits bought or given: once per business key.
-- in: {tenantId, account, accountId (for a new account), credits, businessKey, reason, actor}
-- out: {outcome: granted | duplicate, accountId} | {outcome: unknown_tenant | key_reuse | too_large}
CREATE OR REPLACE FUNCTION grant_credits(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    a ledger_account;
    v_transaction bigint;
    v_key text := 'grant:' || (p ->> 'tenantId') || ':' || (p ->> 'businessKey');
    v_credits bigint := (p ->> 'credits')::bigint;
BEGIN
    IF v_credits < 1 THEN
        RAISE EXCEPTION 'a grant is at least 1 credit' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM tenant WHERE id = p ->> 'tenantId') THEN
        RETURN jsonb_build_object('outcome', 'unknown_tenant');
    END IF;
    INSERT INTO ledger_account (id, tenant_id, name, kind) VALUES (p ->> 'accountId', p ->> 'tenantId', p ->> 'account', 'tenant')
    ON CONFLICT (tenant_id, name) DO NOTHING;
    SELECT * INTO a FROM ledger_account WHERE tenant_id = p ->> 'tenantId' AND name = p ->> 'account' FOR NO KEY UPDATE;
    IF a.posted + v_credits > 9007199254740991 AND NOT EXISTS (SELECT 1 FROM ledger_transaction WHERE business_key = v_key) THEN
        RETURN jsonb_build_object('outcome', 'too_large');
    END IF;
    INSERT INTO ledger_transaction (kind, business_key, reason, actor) VALUES ('grant', v_key, p ->> 'reason', p ->> 'actor')
    ON CONFLICT (business_key) DO NOTHING RETURNING id INTO v_transaction;
    IF v_transaction IS NULL THEN
        IF EXISTS (SELECT 1 FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
            WHERE t.business_key = v_key AND e.account_id = a.id AND e.amount = v_credits) THEN
            RETURN jsonb_build_object('outcome', 'duplicate', 'accountId', a.id);
        END IF;
        RETURN jsonb_build_object('outcome', 'key_reuse');
    END IF;
    INSERT INTO ledger_entry (transaction_id, account_id, amount) VALUES (v_transaction, a.id, v_credits), (v_transaction, 'sys_world', -v_credits);
    UPDATE ledger_account SET posted = posted + v_credits WHERE id = a.id;
    RETURN jsonb_build_object('outcome', 'granted', 'accountId', a.id);
END $$;
