-- Credits bought or given: once per business key.
-- in:  {tenantId, account, accountId (for a new account), credits, businessKey, reason, actor}
-- out: {outcome: granted | duplicate, accountId, transactionId, createdAt} | {outcome: unknown_tenant | key_reuse | too_large}
CREATE OR REPLACE FUNCTION grant_credits(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    a ledger_account;
    t ledger_transaction;
    v_now timestamptz(3) := clock_timestamp();
    v_key text := 'grant:' || (p ->> 'tenantId') || ':' || (p ->> 'businessKey');
    v_credits bigint := (p ->> 'credits')::bigint;
    v_new boolean;
BEGIN
    IF v_credits IS NULL OR v_credits < 1 THEN
        RAISE EXCEPTION 'a grant is at least 1 credit' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM tenant WHERE id = p ->> 'tenantId') THEN
        RETURN jsonb_build_object('outcome', 'unknown_tenant');
    END IF;
    INSERT INTO ledger_account (id, tenant_id, name, kind) VALUES (p ->> 'accountId', p ->> 'tenantId', p ->> 'account', 'tenant')
    ON CONFLICT (tenant_id, name) DO NOTHING;
    v_new := FOUND;
    SELECT * INTO a FROM ledger_account WHERE tenant_id = p ->> 'tenantId' AND name = p ->> 'account' FOR NO KEY UPDATE;
    IF a.granted + v_credits > 9007199254740991 AND NOT EXISTS (SELECT 1 FROM ledger_transaction WHERE business_key = v_key) THEN
        RETURN jsonb_build_object('outcome', 'too_large');
    END IF;
    INSERT INTO ledger_transaction (kind, business_key, reason, actor, created_at) VALUES ('grant', v_key, p ->> 'reason', p ->> 'actor', v_now)
    ON CONFLICT (business_key) DO NOTHING RETURNING * INTO t;
    IF t.id IS NULL THEN
        SELECT * INTO t FROM ledger_transaction WHERE business_key = v_key AND reason = p ->> 'reason';
        IF EXISTS (SELECT 1 FROM ledger_entry e WHERE e.transaction_id = t.id AND e.account_id = a.id AND e.amount = v_credits) THEN
            RETURN jsonb_build_object('outcome', 'duplicate', 'accountId', a.id, 'transactionId', t.id::text, 'createdAt', iso_time(t.created_at));
        END IF;
        -- An account begins with its first grant; this one was refused.
        DELETE FROM ledger_account WHERE id = a.id AND v_new;
        RETURN jsonb_build_object('outcome', 'key_reuse');
    END IF;
    INSERT INTO ledger_entry (transaction_id, account_id, amount, created_at)
    VALUES (t.id, a.id, v_credits, v_now), (t.id, 'sys_world', -v_credits, v_now);
    UPDATE ledger_account SET posted = posted + v_credits, granted = granted + v_credits WHERE id = a.id;
    RETURN jsonb_build_object('outcome', 'granted', 'accountId', a.id, 'transactionId', t.id::text, 'createdAt', iso_time(t.created_at));
END $$;

-- Gives captured credits back: once per generation and reason, together never more than was captured.
-- in:  {generationId, credits | null (all that is left), reason, note, actor}
-- out: {outcome: refunded | duplicate, credits, refunded: in all} | {outcome: reason_used, credits: of that refund}
--      | {outcome: not_captured} | {outcome: too_much, refundable} | {outcome: not_found}
CREATE OR REPLACE FUNCTION refund_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    h hold;
    v_now timestamptz(3);
    v_key text := 'refund:' || (p ->> 'generationId') || ':' || (p ->> 'reason');
    v_credits bigint := (p ->> 'credits')::bigint;
    v_before bigint;
    v_transaction bigint;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    SELECT * INTO h FROM hold WHERE generation_id = g.id FOR UPDATE;
    v_now := clock_timestamp();
    SELECT e.amount INTO v_before FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id AND e.account_id = h.account_id
    WHERE t.business_key = v_key;
    IF v_before IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', CASE WHEN v_credits IS NULL OR v_credits = v_before THEN 'duplicate' ELSE 'reason_used' END,
            'credits', v_before, 'refunded', h.refunded);
    END IF;
    IF h.captured = 0 THEN
        RETURN jsonb_build_object('outcome', 'not_captured');
    END IF;
    v_credits := coalesce(v_credits, h.captured - h.refunded);
    IF v_credits < 1 OR v_credits > h.captured - h.refunded THEN
        RETURN jsonb_build_object('outcome', 'too_much', 'refundable', h.captured - h.refunded);
    END IF;
    UPDATE hold SET refunded = refunded + v_credits WHERE generation_id = g.id;
    INSERT INTO ledger_transaction (kind, business_key, generation_id, reason, actor, created_at)
    VALUES ('refund', v_key, g.id, p ->> 'reason', p ->> 'actor', v_now) RETURNING id INTO v_transaction;
    INSERT INTO ledger_entry (transaction_id, account_id, amount, created_at)
    VALUES (v_transaction, h.account_id, v_credits, v_now), (v_transaction, 'sys_revenue', -v_credits, v_now);
    UPDATE ledger_account SET posted = posted + v_credits WHERE id = h.account_id;
    UPDATE generation SET updated_at = v_now WHERE id = g.id;
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES ('refund', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', jsonb_build_object('credits', v_credits, 'note', p ->> 'note'));
    RETURN jsonb_build_object('outcome', 'refunded', 'credits', v_credits, 'refunded', h.refunded + v_credits);
END $$;

-- The history of an account, newest first: what each entry did to what is available and to what is held, so that the sums
-- over all of them are the balance. Holds are facts of their own table, the rest stands in the ledger.
-- in: {accountId, limit, before: {at, id} | null}; out: [{id, type, available, held, generationId, reason, at}]
CREATE OR REPLACE FUNCTION account_entries(p jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_account text := p ->> 'accountId';
    v_limit integer := (p ->> 'limit')::integer;
    v_at timestamptz := coalesce((p -> 'before' ->> 'at')::timestamptz, 'infinity');
    v_id text := coalesce(p -> 'before' ->> 'id', '~');
    v_rows jsonb;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'type', x.type, 'available', x.available, 'held', x.held,
        'generationId', x.generation_id, 'reason', x.reason, 'at', iso_time(x.at)) ORDER BY x.at DESC, x.id COLLATE "C" DESC), '[]')
    INTO v_rows FROM (
        SELECT * FROM (
            (SELECT * FROM (SELECT t.kind || '_' || t.id AS id, t.kind AS type, CASE WHEN t.kind = 'capture' THEN 0 ELSE e.amount END AS available,
                CASE WHEN t.kind = 'capture' THEN e.amount ELSE 0 END AS held, t.generation_id, t.reason, e.created_at AS at
                FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id WHERE e.account_id = v_account AND e.created_at <= v_at) AS posted
            WHERE at < v_at OR id COLLATE "C" < v_id COLLATE "C" ORDER BY at DESC, id COLLATE "C" DESC LIMIT v_limit)
            UNION ALL
            (SELECT * FROM (SELECT 'hold_' || substr(h.generation_id, 5) AS id, 'hold' AS type, -h.amount AS available, h.amount AS held,
                h.generation_id, NULL::text AS reason, h.created_at AS at
                FROM hold h WHERE h.account_id = v_account AND h.created_at <= v_at) AS held
            WHERE at < v_at OR id COLLATE "C" < v_id COLLATE "C" ORDER BY at DESC, id COLLATE "C" DESC LIMIT v_limit)
            UNION ALL
            (SELECT * FROM (SELECT 'release_' || substr(h.generation_id, 5) AS id, 'release' AS type, h.amount - h.captured AS available,
                h.captured - h.amount AS held, h.generation_id, g.state AS reason, h.resolved_at AS at
                FROM hold h JOIN generation g ON g.id = h.generation_id
                WHERE h.account_id = v_account AND h.resolved_at <= v_at AND h.captured < h.amount) AS released
            WHERE at < v_at OR id COLLATE "C" < v_id COLLATE "C" ORDER BY at DESC, id COLLATE "C" DESC LIMIT v_limit)
        ) AS every
        ORDER BY every.at DESC, every.id COLLATE "C" DESC LIMIT v_limit
    ) AS x;
    RETURN v_rows;
END $$;
