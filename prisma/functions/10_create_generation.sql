-- The facts with the priority of the run, from 2 (first served) to 5: the more an account has under way already, the later its next submit, so that one with
-- thousands does not hold up the others.
CREATE OR REPLACE FUNCTION run_to_submit(g generation) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT run_facts(g) || jsonb_build_object('priority', CASE WHEN under_way <= 8 THEN 2 WHEN under_way <= 64 THEN 3 WHEN under_way <= 512 THEN 4 ELSE 5 END)
    FROM (SELECT count(*) AS under_way FROM (SELECT 1 FROM generation o
        WHERE o.tenant_id = g.tenant_id AND o.account_id = g.account_id AND o.completed_at IS NULL LIMIT 513) AS few) AS counted;
$$;

-- Row, hold and first event in one call; the unique key decides which of several equal calls creates.
-- in:  {generationId, tenantId, account, route, idempotencyKey, requestSha256 (hex), model, provider, input, metadata, plan,
--       credits, deadlineSeconds, responseTemplate, nonce, callbackUrl?, inputs?: [{field, inputId}], retentionMs?}; the template holds
--       "<nonce>:created_at" and "<nonce>:deadline_at".
-- out: {outcome: created | replayed, generationId, responseBody, run} | {outcome: key_reuse | in_progress | unknown_account}
--      | {outcome: unknown_input, field}
--      | {outcome: tenant_paused | model_paused}
--      | {outcome: insufficient_credits, available, required} | {outcome: limit_reached, limit, scope, max, retryInMs}.
-- A refused call leaves the key free.
CREATE OR REPLACE FUNCTION create_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3) := clock_timestamp();
    v_deadline timestamptz(3) := v_now + (p ->> 'deadlineSeconds')::integer * interval '1 second';
    v_account ledger_account;
    v_credits bigint := (p ->> 'credits')::bigint;
    v_refusal jsonb;
    v_paused text;
BEGIN
    SELECT * INTO v_account FROM ledger_account WHERE tenant_id = p ->> 'tenantId' AND name = p ->> 'account';
    SELECT * INTO g FROM generation
    WHERE tenant_id = p ->> 'tenantId' AND idempotency_route = p ->> 'route' AND idempotency_key = p ->> 'idempotencyKey';
    IF g.id IS NULL THEN
        IF v_account.id IS NULL THEN
            RETURN jsonb_build_object('outcome', 'unknown_account');
        END IF;
        v_paused := paused_as(p ->> 'tenantId', p ->> 'model');
        IF v_paused IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', v_paused);
        END IF;
        -- A twin in flight holds the unique key: wait for its end, but not for long.
        PERFORM set_config('lock_timeout', '1000', true);
        BEGIN
            INSERT INTO generation (id, tenant_id, account_id, idempotency_route, idempotency_key, request_sha256, response_body, model,
                provider, input, metadata, plan, credits, event_seq, created_at, updated_at, deadline_at, due_at, callback_url)
            VALUES (p ->> 'generationId', p ->> 'tenantId', v_account.id, p ->> 'route', p ->> 'idempotencyKey',
                decode(p ->> 'requestSha256', 'hex'),
                replace(replace(p ->> 'responseTemplate', (p ->> 'nonce') || ':created_at', iso_time(v_now)),
                    (p ->> 'nonce') || ':deadline_at', iso_time(v_deadline)),
                p ->> 'model', p ->> 'provider', p -> 'input', p -> 'metadata', p -> 'plan', v_credits, 1, v_now, v_now, v_deadline, v_now,
                p ->> 'callbackUrl')
            ON CONFLICT (tenant_id, idempotency_route, idempotency_key) DO NOTHING
            RETURNING * INTO g;
        EXCEPTION WHEN lock_not_available THEN
            RETURN jsonb_build_object('outcome', 'in_progress');
        END;
        IF g.id IS NOT NULL THEN
            PERFORM set_config('lock_timeout', '10000', true);
            v_refusal := coalesce(link_inputs(g, p -> 'inputs'), usage_refusal(g));
            IF v_refusal IS NOT NULL THEN
                DELETE FROM generation WHERE id = g.id;
                RETURN v_refusal;
            END IF;
            UPDATE ledger_account SET held = held + v_credits WHERE id = v_account.id AND posted - held >= v_credits;
            IF NOT FOUND THEN
                DELETE FROM generation WHERE id = g.id;
                SELECT * INTO v_account FROM ledger_account WHERE id = v_account.id;
                RETURN jsonb_build_object('outcome', 'insufficient_credits', 'available', v_account.posted - v_account.held, 'required', v_credits);
            END IF;
            INSERT INTO hold (generation_id, account_id, amount, created_at) VALUES (g.id, v_account.id, v_credits, v_now);
            PERFORM keep_inputs(g, (p ->> 'retentionMs')::double precision);
            PERFORM tell_event(g.id, 1, 'created', jsonb_build_object('state', g.state, 'stage', g.stage));
            RETURN jsonb_build_object('outcome', 'created', 'generationId', g.id, 'responseBody', g.response_body, 'run', run_to_submit(g));
        END IF;
        SELECT * INTO g FROM generation
        WHERE tenant_id = p ->> 'tenantId' AND idempotency_route = p ->> 'route' AND idempotency_key = p ->> 'idempotencyKey';
        IF g.id IS NULL THEN
            -- The twin was refused in this very moment: the caller may simply try again.
            RETURN jsonb_build_object('outcome', 'in_progress');
        END IF;
    END IF;
    IF g.request_sha256 <> decode(p ->> 'requestSha256', 'hex') THEN
        RETURN jsonb_build_object('outcome', 'key_reuse');
    END IF;
    RETURN jsonb_build_object('outcome', 'replayed', 'generationId', g.id, 'responseBody', g.response_body, 'run', run_to_submit(g));
END $$;
