-- The functions of prisma/functions as of version 0.6.0.

-- It takes a time now.
DROP FUNCTION move_stage(text, text);

-- What several functions share. Every caller holds the generation's row lock.

-- Writes an event whose number the caller has just given, in the statement that changed the row and under its lock, so readers never
-- miss one. Readers that follow are told of it (a hint: they look at the rows), and so are the tenant's webhooks.
CREATE OR REPLACE FUNCTION tell_event(p_generation_id text, p_seq integer, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO generation_event (generation_id, seq, type, data, created_at)
    VALUES (p_generation_id, p_seq, p_type, p_data, clock_timestamp());
    PERFORM pg_notify('darkroom_generation', p_generation_id);
    IF p_type = 'terminal' THEN
        PERFORM emit_webhook(p_generation_id, p_data ->> 'state', NULL);
    ELSIF p_type IN ('stage', 'cancellation') THEN
        PERFORM emit_webhook(p_generation_id, 'updated', p_seq);
    END IF;
END $$;

-- The next event of a generation whose row changes in no other way.
CREATE OR REPLACE FUNCTION append_event(p_generation_id text, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_seq integer;
BEGIN
    UPDATE generation SET event_seq = event_seq + 1 WHERE id = p_generation_id RETURNING event_seq INTO v_seq;
    PERFORM tell_event(p_generation_id, v_seq, p_type, p_data);
END $$;

-- All that is needed to start or wake a run: ids and the frozen timings, nothing of the tenant's content.
CREATE OR REPLACE FUNCTION run_facts(g generation) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('generationId', g.id, 'tenantId', g.tenant_id, 'accountId', g.account_id, 'model', g.model, 'provider', g.provider,
        'method', g.plan ->> 'method', 'timings', g.plan -> 'timings');
$$;

-- Milliseconds from now until the given time; negative when it is past.
CREATE OR REPLACE FUNCTION ms_until(p_at timestamptz) RETURNS double precision LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM p_at - clock_timestamp()) * 1000);
$$;

CREATE OR REPLACE FUNCTION ms_from_now(p_ms double precision) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
    SELECT clock_timestamp() + p_ms * interval '1 millisecond';
$$;

CREATE OR REPLACE FUNCTION iso_time(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
$$;

-- Where a run goes on, told by the rows alone.
CREATE OR REPLACE FUNCTION derived_stage(p_generation_id text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN g.completed_at IS NOT NULL THEN 'done'
        WHEN g.success_at IS NOT NULL THEN 'storing'
        WHEN s.state = 'accepted' THEN 'waiting'
        WHEN s.state = 'unknown' THEN 'submission_unknown'
        WHEN s.state = 'sending' THEN 'submitting'
        ELSE 'queued' END
    FROM generation g LEFT JOIN submission s
        ON s.generation_id = g.id AND s.state IN ('prepared', 'sending', 'unknown', 'accepted')
    WHERE g.id = p_generation_id;
$$;

-- Moves the stage and says so in an event, if it does not stand there already; and says by when the run must next have written, if that
-- is given. One write: a second one of the row in a transaction checks its foreign keys again.
CREATE OR REPLACE FUNCTION move_stage(p_generation_id text, p_stage text, p_due timestamptz DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_state text;
    v_seq integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p_generation_id;
    v_state := CASE WHEN g.state = 'queued' AND p_stage IN ('submission_unknown', 'waiting', 'storing') THEN 'running' ELSE g.state END;
    IF g.stage = p_stage AND g.state = v_state THEN
        UPDATE generation SET due_at = p_due WHERE id = p_generation_id AND p_due IS NOT NULL;
        RETURN;
    END IF;
    UPDATE generation SET stage = p_stage, state = v_state, operator_reason = NULL, updated_at = clock_timestamp(), event_seq = event_seq + 1,
        due_at = coalesce(p_due, due_at),
        started_at = CASE WHEN v_state = 'running' THEN coalesce(started_at, clock_timestamp()) ELSE started_at END
    WHERE id = p_generation_id RETURNING event_seq INTO v_seq;
    PERFORM tell_event(p_generation_id, v_seq, 'stage', jsonb_build_object('state', v_state, 'stage', p_stage));
END $$;

-- When the present UTC day began; days of limits and budgets turn at midnight UTC. STABLE, so that an index can begin there: as
-- VOLATILE it is asked for each row, and all rows of a provider or tenant are read.
CREATE OR REPLACE FUNCTION day_start() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
$$;

-- What a provider bills for a submission. A final amount is never replaced by an estimate, nor by a later final one.
-- cost: {amount, unit, final} | null
CREATE OR REPLACE FUNCTION book_cost(p_submission_id text, p_cost jsonb, p_source text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_cost ->> 'amount' IS NOT NULL THEN
        UPDATE submission SET cost_amount = (p_cost ->> 'amount')::numeric, cost_unit = p_cost ->> 'unit',
            cost_final = coalesce((p_cost ->> 'final')::boolean, false), cost_source = p_source, cost_at = clock_timestamp()
        WHERE id = p_submission_id AND cost_final IS DISTINCT FROM true;
    END IF;
END $$;
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
-- Whether a submit of this estimated cost still fits into the budget of the day. estimate: {amount, unit} | null
CREATE OR REPLACE FUNCTION budget_fits(b provider_budget, p_estimate jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT spent < b.amount_per_day AND spent + CASE WHEN p_estimate ->> 'unit' = b.unit THEN (p_estimate ->> 'amount')::numeric ELSE 0 END <= b.amount_per_day
    FROM (SELECT coalesce(sum(cost_amount), 0) AS spent FROM submission
        WHERE provider = b.provider AND first_sent_at >= day_start() AND cost_unit = b.unit) AS today;
$$;

-- Whether new submits to a provider are stopped by its budget of the day; null = they are not. `alert` is true once a day.
-- The lock makes the count exact. Looked at again after 5 minutes at most, since it may be lifted. in: provider, estimate: {amount, unit} | null
CREATE OR REPLACE FUNCTION budget_refusal(p_provider text, p_estimate jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    b provider_budget;
    v_alert boolean;
BEGIN
    SELECT * INTO b FROM provider_budget WHERE provider = p_provider FOR UPDATE;
    IF NOT FOUND OR budget_fits(b, p_estimate) THEN
        RETURN NULL;
    END IF;
    v_alert := b.reached_at IS NULL OR b.reached_at < day_start();
    IF v_alert THEN
        UPDATE provider_budget SET reached_at = clock_timestamp() WHERE provider = p_provider;
    END IF;
    RETURN jsonb_build_object('outcome', 'provider_closed', 'reason', 'daily_budget',
        'inMs', least(ms_until(day_start() + interval '1 day'), 300000), 'alert', v_alert);
END $$;

-- What one submit told of the provider's health. Failures in a row open the circuit; a success, also of a probe, closes it.
-- Returns true when it opens now.
CREATE OR REPLACE FUNCTION note_submit(p_provider text, p_healthy boolean, p_limit integer, p_open_ms double precision) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    c provider_circuit;
    v_now timestamptz(3) := clock_timestamp();
BEGIN
    IF p_healthy THEN
        UPDATE provider_circuit SET failures = 0, open_until = NULL, openings = 0, probe_until = NULL
        WHERE provider = p_provider AND (failures > 0 OR open_until IS NOT NULL);
        RETURN false;
    END IF;
    INSERT INTO provider_circuit AS o (provider, failures, failed_at) VALUES (p_provider, 1, v_now)
    ON CONFLICT (provider) DO UPDATE SET failed_at = v_now, failures = CASE WHEN o.failed_at < v_now - interval '1 minute' AND o.open_until IS NULL THEN 1 ELSE o.failures + 1 END
    RETURNING * INTO c;
    -- One that was sent before it opened says nothing new; a failed probe opens it again, for longer.
    IF c.open_until > v_now OR c.open_until IS NULL AND c.failures < p_limit THEN
        RETURN false;
    END IF;
    UPDATE provider_circuit SET openings = least(openings + 1, 10), probe_until = NULL,
        open_until = v_now + least(p_open_ms * power(2, least(openings, 10)), greatest(p_open_ms, 300000)) * interval '1 millisecond'
    WHERE provider = p_provider;
    RETURN true;
END $$;

-- Whether a new submit to this provider may go out now: whether a person has paused it, its circuit, then its budget; null = it may.
-- After an opening one submit at a time is the probe. Paused = looked at again after 5 minutes, unless it is resumed before.
-- out: {outcome: provider_closed, reason: provider_paused | circuit_open | daily_budget, inMs, alert}
CREATE OR REPLACE FUNCTION provider_closed(p_provider text, p_estimate jsonb, p_probe_ms double precision) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    c provider_circuit;
    v_now timestamptz(3) := clock_timestamp();
    v_refusal jsonb;
BEGIN
    IF EXISTS (SELECT 1 FROM pause WHERE kind = 'provider' AND target = p_provider) THEN
        RETURN jsonb_build_object('outcome', 'provider_closed', 'reason', 'provider_paused', 'inMs', 300000, 'alert', false);
    END IF;
    SELECT * INTO c FROM provider_circuit WHERE provider = p_provider AND open_until IS NOT NULL FOR UPDATE;
    IF FOUND AND (c.open_until > v_now OR c.probe_until > v_now) THEN
        RETURN jsonb_build_object('outcome', 'provider_closed', 'reason', 'circuit_open', 'inMs', ms_until(greatest(c.open_until, c.probe_until)), 'alert', false);
    END IF;
    v_refusal := budget_refusal(p_provider, p_estimate);
    IF v_refusal IS NULL AND c.provider IS NOT NULL THEN
        UPDATE provider_circuit SET probe_until = v_now + p_probe_ms * interval '1 millisecond' WHERE provider = p_provider;
    END IF;
    RETURN v_refusal;
END $$;

-- How many jobs a run waits for at each provider; one whose generation has ended is not polled, so it takes no share. in: {}; out: {provider: count}
CREATE OR REPLACE FUNCTION waiting_jobs(p jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    -- OFFSET 0 keeps it at one step of an index per open row: a join would read every submission there ever was.
    SELECT coalesce(jsonb_object_agg(provider, jobs), '{}') FROM (
        SELECT s.provider, count(*) AS jobs FROM generation g CROSS JOIN LATERAL (
            SELECT provider FROM submission WHERE generation_id = g.id AND state = 'accepted' AND ended_at IS NULL OFFSET 0) AS s
        WHERE g.completed_at IS NULL GROUP BY s.provider) AS waiting;
$$;

-- The first of these places whose provider takes new submits now; else when the first of them opens. A look, without locks.
-- in: {places: [{provider, estimatedCost: {amount, unit} | null}]}; out: {index: from 0 | null, inMs | null}
CREATE OR REPLACE FUNCTION find_open_route(p jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('index', min(place) FILTER (WHERE opens_at IS NULL), 'inMs', ms_until(min(opens_at))) FROM (
        SELECT r.place - 1 AS place, greatest(
            CASE WHEN h.kind IS NOT NULL THEN clock_timestamp() + interval '5 minutes' END,
            CASE WHEN greatest(c.open_until, c.probe_until) > clock_timestamp() THEN greatest(c.open_until, c.probe_until) END,
            CASE WHEN b.provider IS NOT NULL AND NOT budget_fits(b, r.entry -> 'estimatedCost') THEN day_start() + interval '1 day' END) AS opens_at
        FROM jsonb_array_elements(p -> 'places') WITH ORDINALITY AS r(entry, place)
        LEFT JOIN provider_circuit c ON c.provider = r.entry ->> 'provider' AND c.open_until IS NOT NULL
        LEFT JOIN provider_budget b ON b.provider = r.entry ->> 'provider'
        LEFT JOIN pause h ON h.kind = 'provider' AND h.target = r.entry ->> 'provider') AS places;
$$;
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
-- The first statement of every step: reads the row with its live (else last) submission, takes the wake, reads the inbox and
-- says by when the run must next have written. With resume, a parked run goes on at the stage that its rows tell.
-- in:  {generationId, dueInMs, resume?: boolean}
-- out: null when there is no such row, else {generation, submission | null, submissionCount, hints: [{jobId, terminal}], outputs}.
CREATE OR REPLACE FUNCTION load_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_hints jsonb := '[]';
    v_outputs jsonb;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF g.completed_at IS NULL THEN
        IF g.stage = 'needs_operator' AND coalesce((p ->> 'resume')::boolean, false) THEN
            PERFORM move_stage(g.id, derived_stage(g.id));
        END IF;
        UPDATE generation SET wake_requested_at = NULL, sweep_count = 0, due_at = ms_from_now((p ->> 'dueInMs')::double precision)
        WHERE id = g.id RETURNING * INTO g;
    END IF;
    SELECT * INTO s FROM submission WHERE generation_id = g.id ORDER BY ordinal DESC LIMIT 1;
    IF s.id IS NOT NULL AND (g.completed_at IS NULL OR s.provider_job_id IS NULL) THEN
        WITH seen AS (
            UPDATE callback SET seen_at = clock_timestamp() WHERE submission_id = s.id AND seen_at IS NULL RETURNING provider_job_id, terminal
        )
        SELECT coalesce(jsonb_agg(jsonb_build_object('jobId', provider_job_id, 'terminal', terminal)), '[]') INTO v_hints FROM seen;
        IF s.provider_job_id IS NULL AND v_hints = '[]' THEN
            -- A hint that named a job is still worth something while the submission has none.
            SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('jobId', provider_job_id, 'terminal', true)), '[]') INTO v_hints
            FROM callback WHERE submission_id = s.id AND provider_job_id IS NOT NULL;
        END IF;
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_object('index', o.index, 'state', o.state, 'attempt', o.attempt, 'goneCount', o.gone_count,
        'leaseInMs', ms_until(o.lease_until)) ORDER BY o.index), '[]') INTO v_outputs
    FROM output o WHERE o.generation_id = g.id;
    RETURN jsonb_build_object(
        'generation', jsonb_build_object('id', g.id, 'tenantId', g.tenant_id, 'model', g.model, 'state', g.state, 'stage', g.stage,
            'input', g.input, 'plan', g.plan, 'credits', g.credits, 'cancelRequested', g.cancel_requested_at IS NOT NULL,
            'cancelOutcome', g.cancel_outcome, 'deadlineInMs', ms_until(g.deadline_at), 'succeeded', g.success_at IS NOT NULL,
            'storeInMs', ms_until(g.store_until), 'operatorReason', g.operator_reason, 'errorCode', g.error_code),
        'submission', CASE WHEN s.id IS NULL THEN NULL ELSE jsonb_build_object('id', s.id, 'ordinal', s.ordinal, 'routeIndex', s.route_index,
            'provider', s.provider, 'credential', s.credential, 'request', s.request, 'idempotencyKey', s.idempotency_key, 'state', s.state, 'fence', s.fence, 'handle', s.handle,
            'jobId', s.provider_job_id, 'leaseInMs', ms_until(s.lease_until), 'sinceFirstSentMs', -ms_until(s.first_sent_at),
            -- Of the last send or what was told of it: while it is sending or unknown nothing else writes this.
            'sinceSentMs', -ms_until(s.updated_at),
            'sinceAcceptedMs', -ms_until(s.accepted_at), 'sinceObservedMs', -ms_until(s.observed_at), 'observeCount', s.observe_count,
            'everUnknown', s.unknown_at IS NOT NULL, 'callbacks', s.callback_base IS NOT NULL, 'terminalHint', s.terminal_hint_at IS NOT NULL,
            'cancelSent', s.cancel_sent_at IS NOT NULL, 'refusalCode', s.refusal_code, 'problem', s.problem, 'endedAs', s.ended_as,
            'providerStatus', s.provider_status) END,
        'hints', v_hints,
        'outputs', v_outputs);
END $$;
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
-- What the answer to a submit proved. Everything but an acceptance counts only with the fence of the attempt that is still
-- sending; an acceptance attaches in any state. Unknown is sticky: once unknown, only an acceptance changes it.
-- in:  {submissionId, fence | null, kind: accepted, handle, providerStatus, jobId, cost?, dueInMs}
--      {submissionId, fence, kind: refused | capacity | not_sent | unknown, problem, refusalCode?, retryInMs}
--      and circuitFailures, circuitOpenMs for the circuit of the provider
-- out: {outcome: attached | attached_late | orphan | recorded | stale | job_taken, terminal: boolean, cancelRequested: boolean,
--       state: the submission's state as it stands, terminalHint: boolean, circuitOpened: boolean}
CREATE OR REPLACE FUNCTION record_submission(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_outcome text;
    v_kind text := p ->> 'kind';
    v_opened boolean := false;
BEGIN
    IF v_kind = 'accepted' THEN
        -- Shared with record_callback: a callback that names this job is seen by one of the two, whoever commits first.
        PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(p ->> 'jobId'));
    END IF;
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = p ->> 'submissionId' FOR UPDATE OF gen;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'stale', 'circuitOpened', false, 'terminal', true, 'cancelRequested', false, 'state', 'abandoned', 'terminalHint', false);
    END IF;
    SELECT * INTO s FROM submission WHERE id = p ->> 'submissionId' FOR UPDATE;
    v_now := clock_timestamp();
    IF v_kind = 'accepted' THEN
        IF s.provider_job_id = p ->> 'jobId' THEN
            v_outcome := 'attached';
        ELSIF s.provider_job_id IS NOT NULL THEN
            INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
            VALUES (s.provider, s.credential, p ->> 'jobId', s.id) ON CONFLICT DO NOTHING;
            v_outcome := 'orphan';
        ELSE
            BEGIN
                UPDATE submission SET provider_job_id = p ->> 'jobId', handle = p -> 'handle', provider_status = p ->> 'providerStatus',
                    accepted_at = v_now, lease_until = NULL, problem = NULL, refusal_code = NULL, updated_at = v_now,
                    state = CASE WHEN g.completed_at IS NOT NULL OR s.state IN ('refused', 'abandoned') THEN 'abandoned' ELSE 'accepted' END
                WHERE id = s.id RETURNING * INTO s;
            EXCEPTION WHEN unique_violation THEN
                RETURN jsonb_build_object('outcome', 'job_taken', 'circuitOpened', false, 'terminal', g.completed_at IS NOT NULL,
                    'cancelRequested', g.cancel_requested_at IS NOT NULL, 'state', s.state, 'terminalHint', false);
            END;
            PERFORM book_cost(s.id, p -> 'cost', 'submit');
            IF s.cost_amount IS NULL AND p ->> 'cost' IS NULL AND s.unknown_at IS NOT NULL THEN
                -- Taken back when an operator declared that it has no job.
                PERFORM book_cost(s.id, g.plan -> 'routes' -> s.route_index -> 'estimatedCost', 'catalogue');
            END IF;
            -- Callbacks that named this job before we knew it are ours now; what is there already is dropped.
            DELETE FROM callback c USING callback o WHERE c.submission_id IS NULL AND c.provider = s.provider AND c.provider_job_id = s.provider_job_id
                AND o.event_key = c.event_key AND (o.submission_id = s.id
                    OR o.submission_id IS NULL AND o.provider = c.provider AND o.provider_job_id = c.provider_job_id AND o.id < c.id);
            UPDATE callback SET submission_id = s.id, body = CASE WHEN g.erased_at IS NULL THEN body ELSE '' END
            WHERE submission_id IS NULL AND provider = s.provider AND provider_job_id = s.provider_job_id;
            IF EXISTS (SELECT 1 FROM callback WHERE submission_id = s.id AND terminal AND seen_at IS NULL) THEN
                UPDATE submission SET terminal_hint_at = v_now WHERE id = s.id RETURNING * INTO s;
            END IF;
            IF g.completed_at IS NULL AND s.state = 'accepted' THEN
                PERFORM move_stage(g.id, 'waiting', least(ms_from_now((p ->> 'dueInMs')::double precision), greatest(g.deadline_at, v_now)));
                v_outcome := 'attached';
            ELSE
                v_outcome := 'attached_late';
                -- Searches that found nothing were no looks at it.
                UPDATE submission SET late_due_at = greatest(late_due(g, 0), v_now), late_count = 0 WHERE id = s.id;
            END IF;
        END IF;
    ELSIF s.state <> 'sending' OR s.fence <> (p ->> 'fence')::integer THEN
        v_outcome := 'stale';
    ELSE
        UPDATE submission SET lease_until = NULL, problem = p ->> 'problem', updated_at = v_now,
            state = CASE WHEN v_kind = 'unknown' OR s.unknown_at IS NOT NULL THEN 'unknown' WHEN v_kind = 'refused' THEN 'refused' ELSE 'prepared' END,
            unknown_at = CASE WHEN v_kind = 'unknown' THEN coalesce(s.unknown_at, v_now) ELSE s.unknown_at END,
            refusal_code = CASE WHEN v_kind = 'refused' AND s.unknown_at IS NULL THEN p ->> 'refusalCode' END,
            -- Not sent proves that no byte left; with nothing sent before it, the key's window has not begun.
            first_sent_at = CASE WHEN v_kind = 'not_sent' AND s.fence = 1 THEN NULL ELSE s.first_sent_at END
        WHERE id = s.id RETURNING * INTO s;
        IF s.state <> 'unknown' AND s.cost_source = 'catalogue' THEN
            UPDATE submission SET cost_amount = NULL, cost_unit = NULL, cost_final = NULL, cost_source = NULL, cost_at = NULL WHERE id = s.id;
        END IF;
        IF g.completed_at IS NULL THEN
            PERFORM move_stage(g.id, CASE s.state WHEN 'unknown' THEN 'submission_unknown' ELSE 'queued' END,
                least(ms_from_now((p ->> 'retryInMs')::double precision), greatest(g.deadline_at, v_now)));
        END IF;
        v_outcome := 'recorded';
    END IF;
    IF v_outcome IN ('attached', 'recorded') AND v_kind <> 'capacity' AND p ->> 'circuitFailures' IS NOT NULL THEN
        v_opened := note_submit(s.provider, v_kind = 'accepted' OR v_kind = 'refused' AND p ->> 'refusalCode' IN ('invalid_input', 'content_rejected'),
            (p ->> 'circuitFailures')::integer, (p ->> 'circuitOpenMs')::double precision);
    END IF;
    RETURN jsonb_build_object('outcome', v_outcome, 'circuitOpened', v_opened, 'terminal', g.completed_at IS NOT NULL,
        'cancelRequested', g.cancel_requested_at IS NOT NULL, 'state', s.state, 'terminalHint', s.terminal_hint_at IS NOT NULL);
END $$;
-- One verified callback into the inbox. The wake it asks for is outstanding at most once; the sweep sends it again when lost.
-- in:  {provider, credential, submissionId | null, jobId | null, eventKey, type, terminal, progress | null}, body
-- out: {outcome: recorded | duplicate | capped | unknown_submission | unmatched, run | null, wake: boolean}
CREATE OR REPLACE FUNCTION record_callback(p jsonb, p_body bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_terminal boolean := (p ->> 'terminal')::boolean;
    v_progress double precision := (p ->> 'progress')::double precision;
    v_submission_id text := p ->> 'submissionId';
    v_rows integer;
    v_outcome text := 'recorded';
    v_wake boolean := false;
BEGIN
    IF v_submission_id IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(p ->> 'jobId'));
        -- The route without token knows no credential: the one that is current is only the likelier of two equal job ids.
        SELECT id INTO v_submission_id FROM submission WHERE provider = p ->> 'provider' AND provider_job_id = p ->> 'jobId'
        ORDER BY credential = p ->> 'credential' DESC LIMIT 1;
    END IF;
    IF v_submission_id IS NULL THEN
        IF (SELECT count(*) FROM (SELECT 1 FROM callback WHERE submission_id IS NULL AND provider = p ->> 'provider'
            AND credential = p ->> 'credential' LIMIT 10000) AS waiting) >= 10000 THEN
            RETURN jsonb_build_object('outcome', 'capped', 'run', NULL, 'wake', false);
        END IF;
        INSERT INTO callback (provider, credential, provider_job_id, event_key, type, terminal, progress, body)
        VALUES (p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'eventKey', p ->> 'type', v_terminal, v_progress, p_body)
        ON CONFLICT DO NOTHING;
        RETURN jsonb_build_object('outcome', 'unmatched', 'run', NULL, 'wake', false);
    END IF;
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = v_submission_id AND sub.provider = p ->> 'provider' FOR UPDATE OF gen;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'unknown_submission', 'run', NULL, 'wake', false);
    END IF;
    v_now := clock_timestamp();
    SELECT * INTO s FROM submission WHERE id = v_submission_id;
    IF EXISTS (SELECT 1 FROM callback WHERE submission_id = s.id AND event_key = p ->> 'eventKey') THEN
        v_outcome := 'duplicate';
    ELSIF s.callback_count >= 100 THEN
        v_outcome := 'capped';
    ELSE
        INSERT INTO callback (provider, credential, submission_id, provider_job_id, event_key, type, terminal, progress, body)
        VALUES (p ->> 'provider', p ->> 'credential', s.id, p ->> 'jobId', p ->> 'eventKey', p ->> 'type', v_terminal, v_progress,
            CASE WHEN g.erased_at IS NULL THEN p_body ELSE '' END)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        IF v_rows = 0 THEN
            v_outcome := 'duplicate';
        END IF;
    END IF;
    IF v_outcome <> 'duplicate' THEN
        UPDATE submission SET callback_count = callback_count + 1 WHERE id = s.id;
    END IF;
    IF g.completed_at IS NULL AND v_outcome <> 'duplicate' THEN
        -- By hundredths, so that no provider can fill the events of one generation.
        IF v_progress - coalesce(g.progress, 0) > 0.0099 AND NOT v_terminal AND s.state = 'accepted' THEN
            UPDATE generation SET progress = v_progress, updated_at = v_now WHERE id = g.id;
            PERFORM append_event(g.id, 'progress', jsonb_build_object('progress', v_progress));
        END IF;
        IF v_terminal AND s.terminal_hint_at IS NULL THEN
            UPDATE submission SET terminal_hint_at = v_now WHERE id = s.id;
        END IF;
        IF v_terminal OR (s.provider_job_id IS NULL AND p ->> 'jobId' IS NOT NULL) THEN
            v_wake := g.wake_requested_at IS NULL;
            UPDATE generation SET wake_requested_at = coalesce(wake_requested_at, v_now) WHERE id = g.id;
        END IF;
    END IF;
    -- A look now, also after the last planned one, when nobody else would come to book it; and at a job that is named for a dead submission,
    -- for which no run waits: the loop of late observations asks for it and attaches it.
    IF v_outcome <> 'duplicate' AND (
        g.completed_at IS NOT NULL AND v_terminal AND s.ended_at IS NULL AND (s.late_due_at IS NOT NULL OR s.provider_job_id IS NOT NULL)
        OR (g.completed_at IS NOT NULL OR s.state IN ('refused', 'abandoned')) AND s.provider_job_id IS NULL AND s.first_sent_at IS NOT NULL
            AND p ->> 'jobId' IS NOT NULL) THEN
        -- It uses up none of those that are planned, as that of an operator; past the cap it does, so that there is an end.
        UPDATE submission SET late_due_at = least(late_due_at, v_now),
            late_count = CASE WHEN late_due_at > v_now AND v_outcome = 'recorded' THEN greatest(late_count - 1, -1) ELSE late_count END
        WHERE id = s.id;
    END IF;
    IF g.completed_at IS NOT NULL AND v_outcome <> 'duplicate' AND s.provider_job_id IS NULL AND s.first_sent_at IS NOT NULL AND p ->> 'jobId' IS NOT NULL THEN
        -- The job of a submission that ended unresolved: a run attaches it, so that it is cancelled and its cost booked.
        v_wake := true;
    END IF;
    RETURN jsonb_build_object('outcome', v_outcome, 'run', run_facts(g), 'wake', v_wake);
END $$;
-- How long what belongs to a generation is kept: what its tenant has set, else the given default.
CREATE OR REPLACE FUNCTION retention_of(p_generation_id text, p_default_ms double precision) RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce(t.retention_hours * interval '1 hour', p_default_ms * interval '1 millisecond')
    FROM generation g JOIN tenant t ON t.id = g.tenant_id WHERE g.id = p_generation_id;
$$;

-- Takes every output that still has to be stored and that no other attempt holds; an attempt number names its own file.
CREATE OR REPLACE FUNCTION lease_outputs(p_generation_id text, p_lease_ms double precision) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    WITH taken AS (
        UPDATE output SET attempt = attempt + 1, lease_until = ms_from_now(p_lease_ms)
        WHERE generation_id = p_generation_id AND state = 'storing' AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING index, attempt
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('index', index, 'attempt', attempt) ORDER BY index), '[]') FROM taken;
$$;

-- A later attempt at storing: the same as the first, from the rows that are left.
-- in: {generationId, storeLeaseMs}; out: [{index, attempt}]
CREATE OR REPLACE FUNCTION claim_outputs(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    UPDATE generation SET due_at = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN lease_outputs(p ->> 'generationId', (p ->> 'storeLeaseMs')::double precision);
END $$;

-- Keeps the lease of a long download; false tells that the attempt has lost it.
-- in: {generationId, index, attempt, storeLeaseMs}
CREATE OR REPLACE FUNCTION renew_output(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- The generation's lock first, as everywhere: the other order deadlocks with a claim of the same output.
    PERFORM 1 FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    UPDATE output SET lease_until = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND attempt = (p ->> 'attempt')::integer AND state = 'storing';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE generation SET due_at = ms_from_now((p ->> 'storeLeaseMs')::double precision)
    WHERE id = p ->> 'generationId' AND completed_at IS NULL;
    RETURN true;
END $$;

-- The end of one attempt at one output; the first file that is complete wins, whichever attempt wrote it.
-- in:  {generationId, index, attempt, result: stored, path, bytes, sha256 (hex), mediaType, width?, height?, durationSeconds?, retentionMs}
--      {…, result: lost | invalid, problem} | {…, result: retry, problem, gone: boolean}
-- out: {outcome: recorded | lost_race, state, goneCount, path: the file that stands}
CREATE OR REPLACE FUNCTION record_output(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    o output;
    v_now timestamptz(3) := clock_timestamp();
    v_result text := p ->> 'result';
BEGIN
    IF v_result = 'stored' THEN
        UPDATE output SET state = 'stored', lease_until = NULL, problem = NULL, path = p ->> 'path', bytes = (p ->> 'bytes')::bigint,
            sha256 = decode(p ->> 'sha256', 'hex'), media_type = p ->> 'mediaType', width = (p ->> 'width')::integer,
            height = (p ->> 'height')::integer, duration_seconds = (p ->> 'durationSeconds')::double precision, stored_at = v_now,
            priced_seconds = (SELECT (g.plan ->> 'pricedSeconds')::double precision FROM generation g WHERE g.id = p ->> 'generationId'),
            expires_at = v_now + retention_of(p ->> 'generationId', (p ->> 'retentionMs')::double precision)
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND state = 'storing' RETURNING * INTO o;
    ELSE
        UPDATE output SET state = CASE WHEN v_result IN ('lost', 'invalid') THEN v_result ELSE state END, lease_until = NULL, problem = p ->> 'problem',
            gone_count = gone_count + CASE WHEN coalesce((p ->> 'gone')::boolean, false) THEN 1 ELSE 0 END
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND attempt = (p ->> 'attempt')::integer AND state = 'storing'
        RETURNING * INTO o;
    END IF;
    IF o.generation_id IS NULL THEN
        SELECT * INTO o FROM output WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer;
        -- No row at all (a database restored to an earlier moment) reads as lost: the caller removes its file.
        RETURN jsonb_build_object('outcome', 'lost_race', 'state', coalesce(o.state, 'lost'), 'goneCount', coalesce(o.gone_count, 0), 'path', o.path);
    END IF;
    RETURN jsonb_build_object('outcome', 'recorded', 'state', o.state, 'goneCount', o.gone_count, 'path', o.path);
END $$;
-- What the provider says of the job now. The first observed success ends the deadline and creates the rows of its outputs.
-- in:  {submissionId, by: callback | poll | submit, kind: running | succeeded | failed | cancelled | not_found | unavailable,
--       status | null, progress | null, outputCount?, storeForMs?, linkInMs?: number | null, storeLeaseMs?, dueInMs,
--       cost?: {amount, unit, final} | null, cancelSent?: boolean, cancelOutcome?: text | null, ended?: boolean}
-- out: {terminal: boolean, succeeded: boolean, attempts: [{index, attempt}] (leases taken by this call), cancelRequested}
CREATE OR REPLACE FUNCTION record_observation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_kind text := p ->> 'kind';
    v_progress double precision := (p ->> 'progress')::double precision;
    v_store_ms double precision;
    v_attempts jsonb := '[]';
    v_ended boolean := v_kind IN ('succeeded', 'failed', 'cancelled') OR coalesce((p ->> 'ended')::boolean, false);
BEGIN
    SELECT gen.* INTO g FROM generation gen JOIN submission sub ON sub.generation_id = gen.id
    WHERE sub.id = p ->> 'submissionId' FOR UPDATE OF gen;
    v_now := clock_timestamp();
    UPDATE submission SET
        provider_status = coalesce(p ->> 'status', provider_status),
        problem = CASE WHEN v_kind = 'unavailable' THEN p ->> 'problem' END,
        observed_at = CASE WHEN v_kind = 'unavailable' THEN observed_at ELSE v_now END,
        observe_count = observe_count + 1,
        ended_at = CASE WHEN v_ended THEN coalesce(ended_at, v_now) ELSE ended_at END,
        ended_as = CASE WHEN v_ended THEN coalesce(ended_as, v_kind) ELSE ended_as END,
        finished_by = CASE WHEN v_ended THEN coalesce(finished_by, p ->> 'by') ELSE finished_by END,
        cancel_sent_at = CASE WHEN coalesce((p ->> 'cancelSent')::boolean, false) THEN coalesce(cancel_sent_at, v_now) ELSE cancel_sent_at END,
        updated_at = v_now
    WHERE id = p ->> 'submissionId' RETURNING * INTO s;
    PERFORM book_cost(s.id, p -> 'cost', 'observation');
    -- Of a dead submission, or after the end; one without a job may still become the generation's own.
    IF v_kind = 'succeeded' AND s.provider_job_id IS NOT NULL AND (s.state <> 'accepted' OR g.completed_at IS NOT NULL AND g.success_at IS NULL) THEN
        INSERT INTO late_success (submission_id, generation_id) VALUES (s.id, g.id) ON CONFLICT DO NOTHING;
    END IF;
    IF g.completed_at IS NOT NULL THEN
        -- Looked at again until it has ended; a look that failed counts for none, but not for ever.
        UPDATE submission SET late_count = late_count + CASE WHEN v_kind = 'unavailable' THEN 0 ELSE 1 END,
            late_due_at = CASE WHEN s.ended_at IS NOT NULL THEN NULL WHEN v_kind <> 'unavailable' THEN late_due_after(g, s.late_count + 1, v_now)
                WHEN g.completed_at > v_now - interval '2 days' THEN v_now + interval '10 minutes' END
        WHERE id = s.id;
        RETURN jsonb_build_object('terminal', true, 'succeeded', g.success_at IS NOT NULL, 'attempts', v_attempts, 'cancelRequested', false);
    END IF;
    IF s.state IS DISTINCT FROM 'accepted' THEN
        -- The job of a dead submission: its cost is booked, its fate is not the generation's. Once it has ended, no late look follows.
        UPDATE submission SET late_due_at = NULL WHERE id = s.id AND ended_at IS NOT NULL AND late_due_at IS NOT NULL;
        RETURN jsonb_build_object('terminal', false, 'succeeded', g.success_at IS NOT NULL, 'attempts', v_attempts,
            'cancelRequested', g.cancel_requested_at IS NOT NULL);
    END IF;
    IF v_kind = 'running' AND v_progress > coalesce(g.progress, 0) THEN
        UPDATE generation SET progress = v_progress WHERE id = g.id;
        PERFORM append_event(g.id, 'progress', jsonb_build_object('progress', v_progress));
    END IF;
    IF p ->> 'cancelOutcome' IS NOT NULL AND g.cancel_requested_at IS NOT NULL THEN
        UPDATE generation SET cancel_outcome = p ->> 'cancelOutcome' WHERE id = g.id;
        PERFORM append_event(g.id, 'cancellation', jsonb_build_object('outcome', p ->> 'cancelOutcome'));
    END IF;
    IF v_kind = 'succeeded' AND g.success_at IS NULL THEN
        v_store_ms := least((p ->> 'storeForMs')::double precision, coalesce((p ->> 'linkInMs')::double precision, 'infinity'));
        UPDATE generation SET success_at = v_now, store_until = v_now + greatest(v_store_ms, 0) * interval '1 millisecond',
            -- A provider that offers no cancel was not asked too late.
            cancel_outcome = CASE WHEN cancel_outcome = 'unsupported' THEN cancel_outcome WHEN cancel_requested_at IS NOT NULL THEN 'too_late' END, progress = 1, updated_at = v_now
        WHERE id = g.id;
        INSERT INTO output (generation_id, index, created_at)
        SELECT g.id, i, v_now FROM generate_series(0, (p ->> 'outputCount')::integer - 1) AS i ON CONFLICT DO NOTHING;
        PERFORM move_stage(g.id, 'storing', ms_from_now((p ->> 'dueInMs')::double precision));
        v_attempts := lease_outputs(g.id, (p ->> 'storeLeaseMs')::double precision);
    ELSE
        UPDATE generation SET due_at = ms_from_now((p ->> 'dueInMs')::double precision), updated_at = v_now WHERE id = g.id;
    END IF;
    RETURN jsonb_build_object('terminal', false, 'succeeded', g.success_at IS NOT NULL OR v_kind = 'succeeded', 'attempts', v_attempts,
        'cancelRequested', g.cancel_requested_at IS NOT NULL);
END $$;
-- When the job of an ended generation is looked at for the n-th time (from 0), or null when that was the last.
CREATE OR REPLACE FUNCTION late_due(g generation, p_count integer) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT g.completed_at + (coalesce(g.plan -> 'timings' -> 'lateObservationsMs', '[3600000, 21600000, 86400000]') ->> p_count)::double precision
        * interval '1 millisecond';
$$;

-- When it is looked at for the n-th time (from 0) after a look at p_look, or null. Ten minutes later at the soonest (less where the planned
-- times are closer): a job that became known late, or a day without workers, does not use up all looks at once.
CREATE OR REPLACE FUNCTION late_due_after(g generation, p_count integer, p_look timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN due IS NOT NULL THEN greatest(due, p_look + least(interval '10 minutes',
        due - CASE WHEN p_count > 0 THEN late_due(g, p_count - 1) ELSE g.completed_at END)) END
    FROM late_due(g, p_count) AS due;
$$;

-- Jobs to look at after the end, leased so that workers share them; one whose look is lost is due again after the lease.
-- in: {limit, leaseMs, providers: [those that the caller knows]}; out: [{submissionId, provider, credential, idempotencyKey,
-- handle | null (its job was never known), named: [job ids that callbacks or an operator gave it],
-- request | null (its job is known), timeoutMs}]
CREATE OR REPLACE FUNCTION claim_late_observations(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_jobs jsonb;
BEGIN
    WITH due AS (
        SELECT id FROM submission WHERE late_due_at <= v_now AND p -> 'providers' ? provider ORDER BY late_due_at LIMIT (p ->> 'limit')::integer FOR UPDATE SKIP LOCKED
    ), leased AS (
        UPDATE submission s SET late_due_at = ms_from_now((p ->> 'leaseMs')::double precision) FROM due, generation g
        WHERE s.id = due.id AND g.id = s.generation_id
        RETURNING jsonb_build_object('submissionId', s.id, 'provider', s.provider, 'credential', s.credential,
            'idempotencyKey', s.idempotency_key, 'handle', s.handle,
            'request', CASE WHEN s.provider_job_id IS NULL THEN s.request END,
            'named', (SELECT coalesce(jsonb_agg(c.provider_job_id ORDER BY c.id DESC), '[]') FROM callback c
                WHERE c.submission_id = s.id AND s.provider_job_id IS NULL AND c.provider_job_id IS NOT NULL),
            'timeoutMs', coalesce((g.plan -> 'timings' ->> 'observeHttpTimeoutMs')::integer, 15000)) AS job
    )
    SELECT coalesce(jsonb_agg(job), '[]') INTO v_jobs FROM leased;
    RETURN v_jobs;
END $$;

-- A search for the job of an ended generation that found nothing: again at the next time, if there is one. One in which the provider
-- could not be asked counts for none, but not for ever: again soon where a job was named, as after a look that failed where none was.
-- in: {submissionId, unavailable: boolean}; out: whether it is searched again
CREATE OR REPLACE FUNCTION postpone_late_search(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_due timestamptz;
    v_again boolean := coalesce((p ->> 'unavailable')::boolean, false);
BEGIN
    UPDATE submission s SET late_count = CASE WHEN v_again THEN s.late_count ELSE s.late_count + 1 END,
        late_due_at = CASE WHEN NOT v_again THEN late_due_after(g, s.late_count + 1, clock_timestamp())
            WHEN coalesce(g.completed_at, g.deadline_at) > clock_timestamp() - interval '2 days' THEN clock_timestamp()
                + CASE WHEN EXISTS (SELECT 1 FROM callback c WHERE c.submission_id = s.id AND c.provider_job_id IS NOT NULL)
                    THEN interval '1 minute' ELSE interval '10 minutes' END END
    FROM generation g WHERE s.id = p ->> 'submissionId' AND g.id = s.generation_id AND s.provider_job_id IS NULL
    RETURNING s.late_due_at INTO v_due;
    RETURN v_due IS NOT NULL;
END $$;
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
-- What an operator does with one generation. Each is one transaction: row lock, checks, the change or the intent that its run must
-- see, and the record of who and why. A dry run is the same call, undone.
-- in:  {generationId, actor, reason} and what the action names
-- out: {outcome: done, effect, state, stage, wake: boolean, run, submission?, jobId?, count?, until?}
--      | {outcome: refused, why, state, stage, inMs?, jobId?, generationId?} | {outcome: not_found}

CREATE OR REPLACE FUNCTION operator_done(p_generation_id text, p jsonb, p_kind text, p_effect text, p_wake boolean, p_detail jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    IF p_wake THEN
        -- Now, whatever steps the sweep has pushed it back by. One that has ended has no wake in its row.
        UPDATE generation SET wake_requested_at = least(wake_requested_at, clock_timestamp()), sweep_count = 0
        WHERE id = p_generation_id AND completed_at IS NULL;
    END IF;
    SELECT * INTO g FROM generation WHERE id = p_generation_id;
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES (p_kind, g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', jsonb_build_object('effect', p_effect) || p_detail);
    RETURN jsonb_build_object('outcome', 'done', 'effect', p_effect, 'state', g.state, 'stage', g.stage, 'wake', p_wake, 'run', run_facts(g)) || p_detail;
END $$;

CREATE OR REPLACE FUNCTION operator_refused(g generation, p_why text, p_facts jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('outcome', 'refused', 'why', p_why, 'state', g.state, 'stage', g.stage) || p_facts;
$$;

-- Makes the run look at its rows now.
CREATE OR REPLACE FUNCTION operator_wake(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    RETURN operator_done(g.id, p, 'wake', 'woken', true, '{}');
END $$;

-- The wish to cancel, with the operator's name.
CREATE OR REPLACE FUNCTION operator_cancel(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_outcome text;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    v_outcome := request_cancel(jsonb_build_object('generationId', g.id, 'tenantId', NULL, 'actor', 'operator')) ->> 'outcome';
    IF v_outcome = 'already_terminal' THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    RETURN operator_done(g.id, p, 'cancel', v_outcome, true, '{}');
END $$;

-- Looks at its job now: the run of one that has not ended by a hint in its inbox, so that no poll time and no lost wake is in the way; a
-- job that is not known to have ended after its generation, or that belongs to a dead submission, by the loop of late observations.
CREATE OR REPLACE FUNCTION operator_observe(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_late integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    v_now := clock_timestamp();
    IF g.completed_at IS NULL THEN
        SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('sending', 'unknown', 'accepted');
        IF s.state = 'sending' AND s.lease_until > v_now THEN
            RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
        END IF;
    END IF;
    -- A look of an operator uses up none of those that are planned.
    UPDATE submission SET late_due_at = v_now, late_count = CASE WHEN late_due_at > v_now THEN greatest(late_count - 1, -1) ELSE late_count END
    WHERE generation_id = g.id AND ended_at IS NULL AND (g.completed_at IS NOT NULL OR state IN ('refused', 'abandoned'))
        AND (provider_job_id IS NOT NULL OR state = 'unknown' OR state = 'abandoned' AND unknown_at IS NOT NULL);
    GET DIAGNOSTICS v_late = ROW_COUNT;
    IF s.id IS NOT NULL THEN
        INSERT INTO callback (provider, credential, submission_id, event_key, type, terminal, body)
        VALUES (s.provider, s.credential, s.id, 'operator:observe', 'operator.observe', true, '')
        ON CONFLICT (submission_id, event_key) WHERE submission_id IS NOT NULL DO UPDATE SET seen_at = NULL, received_at = v_now;
        RETURN operator_done(g.id, p, 'observe', CASE s.state WHEN 'accepted' THEN 'observing' ELSE 'searching' END, true,
            jsonb_build_object('submission', s.id, 'jobId', s.provider_job_id, 'count', 1 + v_late));
    END IF;
    IF v_late = 0 THEN
        RETURN operator_refused(g, CASE WHEN EXISTS (SELECT 1 FROM submission WHERE generation_id = g.id AND ended_at IS NOT NULL)
            THEN 'job_ended' ELSE 'no_job' END, '{}');
    END IF;
    RETURN operator_done(g.id, p, 'observe', 'observing_late', false, jsonb_build_object('count', v_late));
END $$;

-- Outputs given up are stored after all, from fresh links, with a new time limit; whoever holds the lease of one keeps it.
-- in: and hours
CREATE OR REPLACE FUNCTION operator_retry_storing(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_count integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    IF g.success_at IS NULL THEN
        RETURN operator_refused(g, 'no_success', '{}');
    END IF;
    UPDATE output SET state = 'storing', gone_count = 0, problem = CASE state WHEN 'storing' THEN problem END,
        lease_until = CASE state WHEN 'storing' THEN lease_until END
    WHERE generation_id = g.id AND state IN ('storing', 'lost', 'invalid');
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count = 0 THEN
        RETURN operator_refused(g, 'nothing_to_store', '{}');
    END IF;
    UPDATE generation SET store_until = greatest(store_until, clock_timestamp() + (p ->> 'hours')::integer * interval '1 hour'), updated_at = clock_timestamp()
    WHERE id = g.id RETURNING * INTO g;
    RETURN operator_done(g.id, p, 'retry_storing', 'storing', true, jsonb_build_object('count', v_count, 'until', iso_time(g.store_until)));
END $$;

-- The submission that an operator means: the named one, else the last that has been sent.
CREATE OR REPLACE FUNCTION operator_submission(p jsonb) RETURNS submission LANGUAGE sql STABLE AS $$
    SELECT s FROM submission s WHERE s.generation_id = p ->> 'generationId' AND (p ->> 'submission' IS NULL OR s.id = p ->> 'submission')
    ORDER BY s.first_sent_at IS NULL, s.ordinal DESC LIMIT 1;
$$;

-- Names the job of a submission whose answer was lost, also after the end and of one that was declared not accepted. Named only: its run,
-- or the loop of late observations, asks the provider for that job and attaches what is there.
-- in: and submission | null, jobId
CREATE OR REPLACE FUNCTION operator_attach_job(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_job text := p ->> 'jobId';
    v_owner text;
    v_late boolean;
BEGIN
    -- As in record_submission and record_callback: whoever names this job comes after the other.
    PERFORM pg_advisory_xact_lock(hashtext('provider_job'), hashtext(v_job));
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    s := operator_submission(p);
    v_now := clock_timestamp();
    IF s.id IS NULL THEN
        RETURN operator_refused(g, 'no_submission', '{}');
    END IF;
    IF v_job !~ '^[\x21-\x7e]{1,255}$' OR v_job IN ('.', '..') THEN
        RETURN operator_refused(g, 'job_malformed', '{}');
    END IF;
    IF s.provider_job_id = v_job THEN
        RETURN jsonb_build_object('outcome', 'done', 'effect', 'attached', 'state', g.state, 'stage', g.stage, 'wake', false, 'run', run_facts(g),
            'submission', s.id, 'jobId', v_job);
    END IF;
    IF s.provider_job_id IS NOT NULL THEN
        RETURN operator_refused(g, 'has_job', jsonb_build_object('jobId', s.provider_job_id));
    END IF;
    IF s.state = 'sending' AND s.lease_until > v_now THEN
        RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
    END IF;
    IF s.state NOT IN ('sending', 'unknown') AND (s.state <> 'abandoned' OR s.unknown_at IS NULL) THEN
        RETURN operator_refused(g, 'not_unknown', '{}');
    END IF;
    SELECT generation_id INTO v_owner FROM submission WHERE provider = s.provider AND credential = s.credential AND provider_job_id = v_job;
    IF NOT FOUND THEN
        SELECT o.generation_id INTO v_owner FROM orphan_job j JOIN submission o ON o.id = j.submission_id
        WHERE j.provider = s.provider AND j.credential = s.credential AND j.provider_job_id = v_job;
    END IF;
    IF v_owner IS NOT NULL THEN
        RETURN operator_refused(g, 'job_taken', jsonb_build_object('jobId', v_job, 'generationId', v_owner));
    END IF;
    -- An id that was named before, wrongly, must not be asked for instead of this one.
    DELETE FROM callback WHERE submission_id = s.id AND type = 'operator.attached' AND provider_job_id <> v_job;
    INSERT INTO callback (provider, credential, submission_id, provider_job_id, event_key, type, terminal, body)
    VALUES (s.provider, s.credential, s.id, v_job, 'operator:' || v_job, 'operator.attached', true, '')
    ON CONFLICT (submission_id, event_key) WHERE submission_id IS NOT NULL DO UPDATE SET seen_at = NULL, received_at = v_now;
    v_late := g.completed_at IS NOT NULL OR s.state = 'abandoned';
    IF v_late THEN
        UPDATE submission SET late_due_at = v_now WHERE id = s.id;
    END IF;
    RETURN operator_done(g.id, p, 'attach_job', CASE WHEN v_late THEN 'attaching_late' ELSE 'attaching' END, true,
        jsonb_build_object('submission', s.id, 'jobId', v_job));
END $$;

-- A person has seen at the provider that an unknown submission has no job: it is dead. The generation ends and is released; or, with
-- resubmit, its run sends a new submission at the same place of the route list. The only place where a second paid job can come from, so
-- nothing that may still bring the first one's answer is passed over. A job that turns up all the same is attached to the dead one.
-- in: and submission | null, resubmit: boolean
CREATE OR REPLACE FUNCTION operator_not_accepted(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    v_now timestamptz(3);
    v_resubmit boolean := (p ->> 'resubmit')::boolean;
    v_named text;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN operator_refused(g, 'already_terminal', '{}');
    END IF;
    s := operator_submission(p);
    v_now := clock_timestamp();
    IF s.id IS NULL THEN
        RETURN operator_refused(g, 'no_submission', '{}');
    END IF;
    IF s.provider_job_id IS NOT NULL THEN
        RETURN operator_refused(g, 'has_job', jsonb_build_object('jobId', s.provider_job_id));
    END IF;
    IF s.state = 'sending' AND s.lease_until > v_now THEN
        RETURN operator_refused(g, 'sending', jsonb_build_object('inMs', ms_until(s.lease_until)));
    END IF;
    IF v_resubmit AND s.state = 'abandoned' AND s.unknown_at IS NOT NULL AND s.ordinal = (SELECT max(ordinal) FROM submission WHERE generation_id = g.id) THEN
        -- Declared before; its run has not sent the new one yet.
        RETURN jsonb_build_object('outcome', 'done', 'effect', 'resubmitting', 'state', g.state, 'stage', g.stage, 'wake', true, 'run', run_facts(g), 'submission', s.id);
    END IF;
    IF s.state NOT IN ('sending', 'unknown') THEN
        RETURN operator_refused(g, 'not_unknown', '{}');
    END IF;
    -- Named and not asked for yet, being asked for, or asked for in vain: whether the provider has that job is not known.
    SELECT provider_job_id INTO v_named FROM callback WHERE submission_id = s.id AND provider_job_id IS NOT NULL
        AND (seen_at IS NULL OR s.problem = 'named_job_unavailable'
            OR seen_at > v_now - interval '1 minute' AND s.problem IS DISTINCT FROM 'named_job_not_found') ORDER BY id DESC LIMIT 1;
    IF v_named IS NOT NULL THEN
        RETURN operator_refused(g, 'job_named', jsonb_build_object('jobId', v_named));
    END IF;
    IF v_resubmit AND g.cancel_requested_at IS NOT NULL THEN
        RETURN operator_refused(g, 'cancel_requested', '{}');
    END IF;
    IF v_resubmit AND ms_until(g.deadline_at) < coalesce((g.plan ->> 'expectedDurationSeconds')::double precision, 0) * 1000 THEN
        RETURN operator_refused(g, 'no_time', '{}');
    END IF;
    IF s.state = 'sending' THEN
        UPDATE submission SET state = 'unknown', unknown_at = coalesce(unknown_at, v_now), lease_until = NULL WHERE id = s.id;
    END IF;
    IF v_resubmit THEN
        PERFORM move_stage(g.id, 'queued');
        UPDATE submission SET late_due_at = v_now + (coalesce(g.plan -> 'timings' -> 'lateObservationsMs' ->> 0, '3600000'))::double precision * interval '1 millisecond' WHERE id = s.id;
    ELSIF g.cancel_requested_at IS NOT NULL THEN
        -- What the tenant wished is what has become of it.
        UPDATE generation SET cancel_outcome = 'confirmed' WHERE id = g.id;
        PERFORM finish_generation(g.id, 'cancelled', NULL, 0, 'failed', p ->> 'reason', p ->> 'actor');
    ELSE
        PERFORM finish_generation(g.id, 'failed', 'provider_unavailable', 0, 'failed', p ->> 'reason', p ->> 'actor');
    END IF;
    -- After the end, which plans the searches for a job that turns up all the same. What was never bought costs nothing.
    UPDATE submission SET state = 'abandoned', problem = 'declared_not_accepted', updated_at = v_now WHERE id = s.id;
    UPDATE submission SET cost_amount = NULL, cost_unit = NULL, cost_final = NULL, cost_source = NULL, cost_at = NULL
    WHERE id = s.id AND cost_source = 'catalogue';
    RETURN operator_done(g.id, p, 'not_accepted', CASE WHEN v_resubmit THEN 'resubmitting' ELSE 'ended' END, true, jsonb_build_object('submission', s.id));
END $$;

-- Sends again all that was told of a generation, by each delivery's own function. Endpoints one after the other in the order of their
-- ids, so that two such calls wait for each other; the generation's row is not locked, since nothing of it changes.
CREATE OR REPLACE FUNCTION operator_redeliver(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    d record;
    v_all integer := 0;
    v_count integer := 0;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId';
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    -- One whose attempt is under way is left alone.
    FOR d IN SELECT del.id FROM webhook_delivery del JOIN webhook_event e ON e.id = del.event_id
        WHERE e.generation_id = g.id AND (del.leased_until IS NULL OR del.leased_until < clock_timestamp())
        ORDER BY del.endpoint_id NULLS FIRST, del.created_at, del.id LIMIT 1000
    LOOP
        v_all := v_all + 1;
        IF redeliver_webhooks(jsonb_build_object('tenantId', g.tenant_id, 'deliveryId', d.id)) ->> 'outcome' = 'redelivering' THEN
            v_count := v_count + 1;
        END IF;
    END LOOP;
    IF v_count = 0 THEN
        RETURN operator_refused(g, CASE WHEN v_all = 0 THEN 'nothing_to_redeliver' ELSE 'endpoints_disabled' END, '{}');
    END IF;
    RETURN operator_done(g.id, p, 'redeliver', 'redelivering', false, jsonb_build_object('count', v_count, 'skipped', v_all - v_count));
END $$;

-- What came of asking the provider for a job that was named, for whoever looks at the submission. in: {submissionId, problem}
CREATE OR REPLACE FUNCTION note_named_job(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE submission SET problem = p ->> 'problem' WHERE id = p ->> 'submissionId' AND provider_job_id IS NULL
        AND state IN ('unknown', 'abandoned') AND problem IS DISTINCT FROM p ->> 'problem';
    RETURN FOUND;
END $$;
-- What a person has stopped: no new submit goes to a paused provider, none for a paused model or tenant. What a provider has already goes on.

-- Why generations of this tenant and model are neither taken nor sent now; null = they are. out: tenant_paused | model_paused | null
CREATE OR REPLACE FUNCTION paused_as(p_tenant_id text, p_model text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT kind || '_paused' FROM pause WHERE kind = 'tenant' AND target = p_tenant_id OR kind = 'model' AND target = p_model
    ORDER BY kind DESC LIMIT 1;
$$;

-- The same for a run that would submit: it looks again after 5 minutes, unless it is resumed before.
CREATE OR REPLACE FUNCTION paused_run(g generation) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    SELECT jsonb_build_object('outcome', 'paused', 'reason', reason, 'inMs', 300000) FROM paused_as(g.tenant_id, g.model) AS reason
    WHERE reason IS NOT NULL;
$$;

-- Claims take this lock shared before they look at pauses, pausing and resuming take it alone: when one has returned, every later
-- claim sees it, and none that has not seen it is still under way.
CREATE OR REPLACE FUNCTION lock_pauses() RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtext('darkroom_pause'));
$$;

-- Stops new submits until it is resumed. The first one stands, with its reason and actor.
-- in:  {kind: provider | model | tenant, target, reason, actor}
-- out: {outcome: paused | already_paused, pause: {kind, target, reason, actor, createdAt}} | {outcome: unknown_tenant}
CREATE OR REPLACE FUNCTION pause_target(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_pause pause;
    v_kind text := p ->> 'kind';
    v_target text := p ->> 'target';
    v_outcome text := 'paused';
BEGIN
    IF v_kind = 'tenant' AND NOT EXISTS (SELECT 1 FROM tenant WHERE id = v_target) THEN
        RETURN jsonb_build_object('outcome', 'unknown_tenant');
    END IF;
    PERFORM lock_pauses();
    INSERT INTO pause (kind, target, reason, actor, created_at) VALUES (v_kind, v_target, p ->> 'reason', p ->> 'actor', clock_timestamp())
    ON CONFLICT (kind, target) DO NOTHING RETURNING * INTO v_pause;
    IF v_pause.kind IS NULL THEN
        SELECT * INTO v_pause FROM pause WHERE kind = v_kind AND target = v_target;
        v_outcome := 'already_paused';
    ELSE
        INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
        VALUES ('pause', CASE WHEN v_kind = 'tenant' THEN v_target END, p ->> 'actor', p ->> 'reason',
            jsonb_build_object('kind', v_kind, 'target', v_target));
    END IF;
    RETURN jsonb_build_object('outcome', v_outcome, 'pause', pause_json(v_pause));
END $$;

CREATE OR REPLACE FUNCTION pause_json(v pause) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('kind', v.kind, 'target', v.target, 'reason', v.reason, 'actor', v.actor, 'createdAt', iso_time(v.created_at));
$$;

-- Lets submits go on, and makes those that wait for it due: the sweep wakes them, 100 a second, so that they do not hold up what else
-- is due. Of more than 10000 the rest goes on at its own next look, within 5 minutes.
-- in:  {kind, target, reason, actor}
-- out: {outcome: resumed, pause: {…, as it stood}, due: how many generations go on} | {outcome: not_paused}
CREATE OR REPLACE FUNCTION resume_target(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_pause pause;
    v_kind text := p ->> 'kind';
    v_target text := p ->> 'target';
    v_due integer;
BEGIN
    PERFORM lock_pauses();
    DELETE FROM pause WHERE kind = v_kind AND target = v_target RETURNING * INTO v_pause;
    IF v_pause.kind IS NULL THEN
        RETURN jsonb_build_object('outcome', 'not_paused');
    END IF;
    -- A row that somebody holds is looked at right now, and its claim comes after this.
    WITH waiting AS (
        SELECT id FROM generation g WHERE completed_at IS NULL AND stage = 'queued' AND paused_as(tenant_id, model) IS NULL AND CASE v_kind
            WHEN 'tenant' THEN tenant_id = v_target
            WHEN 'model' THEN model = v_target
            ELSE plan @> jsonb_build_object('routes', jsonb_build_array(jsonb_build_object('provider', v_target))) END
        ORDER BY id LIMIT 10000 FOR UPDATE SKIP LOCKED
    ), turns AS (
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS turn FROM waiting
    )
    UPDATE generation g SET due_at = least(g.due_at, clock_timestamp() + turns.turn * interval '10 milliseconds')
    FROM turns WHERE g.id = turns.id;
    GET DIAGNOSTICS v_due = ROW_COUNT;
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('resume', CASE WHEN v_kind = 'tenant' THEN v_target END, p ->> 'actor', p ->> 'reason',
        pause_json(v_pause) || jsonb_build_object('due', v_due));
    RETURN jsonb_build_object('outcome', 'resumed', 'pause', pause_json(v_pause), 'due', v_due);
END $$;
-- What the passes of the sweep read and write. Each is bounded in rows, skips rows that somebody else has locked, and reads only
-- what is open or recent.

-- The turn to do a pass: given to one process within its interval. A pass whose process died is only late.
-- in: {name, everyMs (0 = now in any case)}; out: {at: how far the last one came | null, place: text | null}, or null: not yet
CREATE OR REPLACE FUNCTION claim_pass(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    m sweep_mark;
BEGIN
    INSERT INTO sweep_mark (name, updated_at) VALUES (p ->> 'name', to_timestamp(0)) ON CONFLICT DO NOTHING;
    UPDATE sweep_mark SET updated_at = clock_timestamp()
    WHERE name = p ->> 'name' AND ((p ->> 'everyMs')::double precision <= 0
        OR updated_at <= ms_from_now(-(p ->> 'everyMs')::double precision)) RETURNING * INTO m;
    RETURN CASE WHEN m.name IS NULL THEN NULL ELSE jsonb_build_object('at', iso_time(m.at), 'place', m.place) END;
END $$;

-- How far a pass has come. A time only moves forward: two that overlap do not undo each other.
-- in: {name, at: ISO time | null, place: text | null}; out: boolean
CREATE OR REPLACE FUNCTION mark_pass(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sweep_mark SET at = greatest(at, (p ->> 'at')::timestamptz), place = p ->> 'place' WHERE name = p ->> 'name';
    RETURN FOUND;
END $$;

-- Callbacks that ask for a look and that no run has read, though no wake is outstanding: the wake is set now. A page of open rows.
-- Those of earlier submissions are left: nobody reads them, and nothing hangs on them.
-- in: {after: id | null, limit, olderThanMs}; out: {place: id of the page's last row, null = that was the last page, woken: [run facts]}
CREATE OR REPLACE FUNCTION wake_unseen_callbacks(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := ms_from_now(-(p ->> 'olderThanMs')::double precision);
    v_ids text[];
    v_woken jsonb;
BEGIN
    SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation WHERE completed_at IS NULL AND id > coalesce(p ->> 'after', '')
        ORDER BY id LIMIT (p ->> 'limit')::integer) AS page;
    WITH unseen AS (
        SELECT page.id FROM unnest(v_ids) AS page(id)
        CROSS JOIN LATERAL (SELECT * FROM submission WHERE generation_id = page.id ORDER BY ordinal DESC LIMIT 1) AS s
        WHERE EXISTS (SELECT 1 FROM callback c WHERE c.submission_id = s.id AND c.seen_at IS NULL
            AND (c.terminal OR (s.provider_job_id IS NULL AND c.provider_job_id IS NOT NULL)) AND greatest(c.received_at, s.accepted_at) < v_before)
    ), free AS (
        SELECT g.id FROM generation g JOIN unseen USING (id) WHERE g.completed_at IS NULL AND g.wake_requested_at IS NULL FOR UPDATE OF g SKIP LOCKED
    ), woken AS (
        UPDATE generation g SET wake_requested_at = clock_timestamp() FROM free WHERE g.id = free.id RETURNING run_facts(g) AS run
    )
    SELECT coalesce(jsonb_agg(run), '[]') INTO v_woken FROM woken;
    RETURN jsonb_build_object('woken', v_woken,
        'place', CASE WHEN cardinality(v_ids) >= (p ->> 'limit')::integer THEN v_ids[cardinality(v_ids)] END);
END $$;

-- Open rows that the sweep will not look at soon, by id: whether their run is still there has to be asked of Temporal.
-- in: {after: id | null, limit, farMs, unknown: only those whose submission is unknown}; out: {place: as above, runs: [run facts]}
CREATE OR REPLACE FUNCTION page_of_runs(p jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_far timestamptz := clock_timestamp() + (p ->> 'farMs')::double precision * interval '1 millisecond';
    v_limit integer := (p ->> 'limit')::integer;
    v_after text := coalesce(p ->> 'after', '');
    v_ids text[];
    v_runs jsonb;
BEGIN
    IF (p ->> 'unknown')::boolean THEN
        SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation
            WHERE stage = 'submission_unknown' AND id > v_after AND due_at > v_far ORDER BY id LIMIT v_limit) AS page;
    ELSE
        SELECT array_agg(id) INTO v_ids FROM (SELECT id FROM generation
            WHERE completed_at IS NULL AND id > v_after AND due_at > v_far ORDER BY id LIMIT v_limit) AS page;
    END IF;
    -- Only of the page: facts are read out of each row's plan.
    SELECT jsonb_agg(run_facts(g) ORDER BY g.id) INTO v_runs FROM generation g WHERE g.id = ANY (v_ids);
    RETURN jsonb_build_object('runs', coalesce(v_runs, '[]'),
        'place', CASE WHEN jsonb_array_length(v_runs) >= v_limit THEN v_runs -> -1 ->> 'generationId' END);
END $$;

-- A job in a provider's list that carries what is ours, compared with our rows. `ours` = its callback URL has our signature, so a
-- submission that is not here has been here; an external id alone may be anybody's.
-- in:  {provider, credential, jobId, submissionId | null, idempotencyKey | null, ours: boolean}
-- out: {outcome: attach, submissionId}: the job of a submission that has none, to be recorded by the caller
--      | {outcome: known | sending | orphan | stray | foreign}; orphan and stray are told once
CREATE OR REPLACE FUNCTION match_listed_job(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    s submission;
    v_rows integer;
BEGIN
    SELECT * INTO s FROM submission WHERE provider = p ->> 'provider' AND CASE WHEN p ->> 'submissionId' IS NULL
        THEN idempotency_key = p ->> 'idempotencyKey' ELSE id = p ->> 'submissionId' END;
    IF NOT FOUND THEN
        IF NOT (p ->> 'ours')::boolean THEN
            RETURN jsonb_build_object('outcome', 'foreign');
        END IF;
        INSERT INTO stray_job (provider, credential, provider_job_id, submission_id, found_by)
        VALUES (p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'submissionId', 'list') ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        RETURN jsonb_build_object('outcome', CASE v_rows WHEN 1 THEN 'stray' ELSE 'known' END);
    END IF;
    IF s.provider_job_id = p ->> 'jobId' THEN
        RETURN jsonb_build_object('outcome', 'known');
    END IF;
    -- The attempt that sends records the answer itself; the row lock makes sure that this is not the moment.
    PERFORM 1 FROM generation WHERE id = s.generation_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'sending');
    END IF;
    SELECT * INTO s FROM submission WHERE id = s.id;
    IF s.state = 'sending' AND s.lease_until > clock_timestamp() THEN
        RETURN jsonb_build_object('outcome', 'sending');
    END IF;
    IF s.provider_job_id IS NULL THEN
        DELETE FROM stray_job WHERE provider = p ->> 'provider' AND provider_job_id = p ->> 'jobId';
        RETURN jsonb_build_object('outcome', 'attach', 'submissionId', s.id);
    END IF;
    IF EXISTS (SELECT 1 FROM submission o WHERE o.provider = s.provider AND o.provider_job_id = p ->> 'jobId') THEN
        RETURN jsonb_build_object('outcome', 'known');
    END IF;
    INSERT INTO orphan_job (provider, credential, provider_job_id, submission_id)
    VALUES (s.provider, s.credential, p ->> 'jobId', s.id) ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN jsonb_build_object('outcome', CASE v_rows WHEN 1 THEN 'orphan' ELSE 'known' END);
END $$;

-- How the open generations stand, for gauges. One read of the open rows; nothing of what has ended.
-- in: {graceMs: as of claim_due_generations}
-- out: {stages: [{stage, count, oldestSeconds}], backlog, overdue, stubborn, overdueHolds, strayJobs, violations: text | null,
--       checkedSeconds: age of the last check of invariants | null}
CREATE OR REPLACE FUNCTION sweep_states(p jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    WITH open AS MATERIALIZED (
        SELECT stage, created_at, due_at, sweep_count, wake_requested_at, greatest(deadline_at, store_until) AS latest_at FROM generation WHERE completed_at IS NULL
    ), before AS (SELECT now() - (p ->> 'graceMs')::double precision * interval '1 millisecond' AS at)
    SELECT jsonb_build_object(
        'stages', (SELECT coalesce(jsonb_agg(x), '[]') FROM (SELECT jsonb_build_object('stage', stage, 'count', count(*),
            'oldestSeconds', greatest(0, extract(epoch FROM now() - min(created_at)))) AS x FROM open GROUP BY stage) AS by_stage),
        'backlog', (SELECT count(*) FROM open, before WHERE due_at < before.at OR wake_requested_at < before.at),
        'overdue', (SELECT count(*) FROM open WHERE due_at < now() - interval '1 minute'),
        'stubborn', (SELECT count(*) FROM open WHERE sweep_count >= 3),
        'overdueHolds', (SELECT count(*) FROM open WHERE stage <> 'needs_operator' AND latest_at + interval '5 minutes' < now()),
        'strayJobs', (SELECT count(*) FROM stray_job),
        'violations', (SELECT place FROM sweep_mark WHERE name = 'invariants'),
        'checkedSeconds', (SELECT extract(epoch FROM now() - at) FROM sweep_mark WHERE name = 'invariants'));
$$;
-- After a restore from a dump: a generation that has not ended and has no accepted job may have been submitted since. It gets an
-- unknown submission, so that it is searched for or asked again under the same key, never sent as a new one. Once per restore point.
-- in:  {generationId, restoredAt, actor, reason, submission: {ordinal, routeIndex, submissionId, provider, credential, idempotencyKey,
--       request, callbackBase, callbackKeyId, estimatedCost} | null}: as its run would have made it; null = the one that is open
-- out: {outcome: unknown, submissionId, was: none | prepared | sending | moved}: it is now
--      | {outcome: stands, submissionId, state: unknown | accepted}: nothing had to be done
--      | {outcome: recovered_before | terminal | not_found | nothing_open}
CREATE OR REPLACE FUNCTION recover_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    s submission;
    n jsonb := nullif(p -> 'submission', 'null');
    v_now timestamptz(3);
    v_restored timestamptz(3) := (p ->> 'restoredAt')::timestamptz;
    v_was text := 'none';
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'terminal');
    END IF;
    v_now := clock_timestamp();
    SELECT * INTO s FROM submission WHERE generation_id = g.id AND state IN ('prepared', 'sending', 'unknown', 'accepted') FOR UPDATE;
    IF s.state = 'accepted' OR s.state = 'unknown' AND (n IS NULL OR n ->> 'submissionId' = s.id) THEN
        RETURN jsonb_build_object('outcome', 'stands', 'submissionId', s.id, 'state', s.state);
    END IF;
    IF EXISTS (SELECT 1 FROM operator_action WHERE generation_id = g.id AND kind = 'recover' AND detail ->> 'restoredAt' = iso_time(v_restored)) THEN
        RETURN jsonb_build_object('outcome', 'recovered_before');
    END IF;
    IF s.id IS NOT NULL AND (n IS NULL OR n ->> 'submissionId' = s.id) THEN
        v_was := s.state;
        -- The send that is forgotten counts as one, so that no later answer takes its time away.
        UPDATE submission SET state = 'unknown', fence = fence + 1, unknown_at = v_now, lease_until = NULL, problem = 'restored',
            first_sent_at = coalesce(first_sent_at, v_restored), updated_at = v_now
        WHERE id = s.id RETURNING * INTO s;
    ELSIF n IS NULL THEN
        RETURN jsonb_build_object('outcome', 'nothing_open');
    ELSE
        IF s.id IS NOT NULL THEN
            v_was := 'moved';
            -- History tells that a later place of the route list was tried, which abandons this one.
            UPDATE submission SET state = 'abandoned', lease_until = NULL, problem = 'restored', updated_at = v_now WHERE id = s.id;
        END IF;
        INSERT INTO submission (id, generation_id, ordinal, route_index, provider, credential, idempotency_key, request, callback_base,
            callback_key_id, state, fence, first_sent_at, unknown_at, problem, created_at, updated_at)
        VALUES (n ->> 'submissionId', g.id, (n ->> 'ordinal')::integer, (n ->> 'routeIndex')::integer, n ->> 'provider', n ->> 'credential',
            n ->> 'idempotencyKey', n -> 'request', n ->> 'callbackBase', n ->> 'callbackKeyId', 'unknown', 1, v_restored, v_now, 'restored', v_now, v_now)
        RETURNING * INTO s;
    END IF;
    PERFORM book_cost(s.id, n -> 'estimatedCost', 'catalogue');
    IF g.stage <> 'needs_operator' THEN
        PERFORM move_stage(g.id, 'submission_unknown');
    END IF;
    -- Due at once: the first sweep of the workers begins with it.
    UPDATE generation SET provider = s.provider, due_at = v_now, sweep_count = 0 WHERE id = g.id;
    INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
    VALUES ('recover', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason',
        jsonb_build_object('restoredAt', iso_time(v_restored), 'submissionId', s.id, 'was', v_was));
    RETURN jsonb_build_object('outcome', 'unknown', 'submissionId', s.id, 'was', v_was);
END $$;

-- A job that no row names any more, so that its cost is on record. in: {provider, credential, jobId, submissionId | null, foundBy}
-- out: true when it was not on record.
CREATE OR REPLACE FUNCTION record_stray_job(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stray_job (provider, credential, provider_job_id, submission_id, found_by)
    SELECT p ->> 'provider', p ->> 'credential', p ->> 'jobId', p ->> 'submissionId', p ->> 'foundBy'
    WHERE NOT EXISTS (SELECT 1 FROM submission s WHERE s.provider = p ->> 'provider' AND s.provider_job_id = p ->> 'jobId')
        AND NOT EXISTS (SELECT 1 FROM orphan_job o WHERE o.provider = p ->> 'provider' AND o.provider_job_id = p ->> 'jobId')
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;
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
-- What is due at tenants' receivers now, each claimed for one attempt. The next attempt is set before the request is made, so that a
-- process that dies meanwhile loses none. Of each receiver at most perTarget are under way, one while its circuit is half open; so a
-- dead one holds up no other; and of each tenant at most perTenant, so that many dead receivers of one hold up no other tenant.
-- in:  {limit, perTarget, perTenant?, leaseMs}
-- out: [{deliveryId, attempt (from 1), eventId, type, eventAt, generationId | null, tenantId, endpointId | null, url, endOn4xx,
--       body | null, secrets: [{sealed (base64), keyId}] newest first}]
CREATE OR REPLACE FUNCTION claim_deliveries(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3);
    v_limit integer := (p ->> 'limit')::integer;
    v_per_tenant integer := coalesce((p ->> 'perTenant')::integer, 2147483647);
    v_targets text[];
    v_first_due timestamptz[];
    v_claimed jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('darkroom_deliver'));
    v_now := clock_timestamp();
    -- One step along the index per receiver, however many deliveries wait for it.
    WITH RECURSIVE targets AS (
        (SELECT d.target, d.next_attempt_at FROM webhook_delivery d WHERE d.state = 'pending' ORDER BY d.target, d.next_attempt_at LIMIT 1)
        UNION ALL
        SELECT n.target, n.next_attempt_at FROM targets t CROSS JOIN LATERAL (
            SELECT d.target, d.next_attempt_at FROM webhook_delivery d
            WHERE d.state = 'pending' AND d.target > t.target ORDER BY d.target, d.next_attempt_at LIMIT 1) n
    )
    SELECT array_agg(target), array_agg(next_attempt_at) INTO v_targets, v_first_due FROM targets;
    -- An event that was told while its endpoint was being disabled or deleted.
    UPDATE webhook_delivery d SET state = CASE WHEN e.deleted_at IS NULL THEN 'held' ELSE 'cancelled' END, next_attempt_at = NULL, leased_until = NULL
    FROM webhook_endpoint e
    WHERE e.id = ANY (v_targets) AND (e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL) AND d.target = e.id AND d.state = 'pending';
    WITH under_way AS MATERIALIZED (
        SELECT i.target, i.tenant_id, count(*) AS count FROM webhook_delivery i WHERE i.leased_until > v_now GROUP BY i.target, i.tenant_id
    ), tenants AS MATERIALIZED (
        SELECT tenant_id, sum(count) AS count FROM under_way GROUP BY tenant_id
    ), open_targets AS (
        SELECT t.target, t.first_due, coalesce(n.count, 0) AS of_tenant,
            CASE WHEN e.failures >= 5 THEN 1 ELSE (p ->> 'perTarget')::integer END - coalesce(u.count, 0) AS room,
            row_number() OVER (PARTITION BY coalesce(e.tenant_id, split_part(t.target, ' ', 1)) ORDER BY t.first_due, t.target) AS place
        FROM unnest(v_targets, v_first_due) AS t (target, first_due) LEFT JOIN webhook_endpoint e ON e.id = t.target
            LEFT JOIN under_way u ON u.target = t.target
            LEFT JOIN tenants n ON n.tenant_id = coalesce(e.tenant_id, split_part(t.target, ' ', 1))
        WHERE t.first_due <= v_now AND (e.open_until IS NULL OR e.open_until <= v_now)
            AND coalesce(u.count, 0) < CASE WHEN e.failures >= 5 THEN 1 ELSE (p ->> 'perTarget')::integer END
    ), chosen AS (
        SELECT * FROM open_targets WHERE of_tenant + place <= v_per_tenant ORDER BY first_due LIMIT v_limit
    ), due AS (
        SELECT d.id, d.next_attempt_at, o.of_tenant + row_number() OVER (PARTITION BY d.tenant_id ORDER BY d.next_attempt_at, d.id) AS place
        FROM chosen o CROSS JOIN LATERAL (
            SELECT w.id, w.tenant_id, w.next_attempt_at FROM webhook_delivery w
            WHERE w.target = o.target AND w.state = 'pending' AND w.next_attempt_at <= v_now
            ORDER BY w.next_attempt_at LIMIT o.room) d
    ), picked AS (
        -- A row whose attempt is being recorded right now is left alone.
        SELECT w.id FROM webhook_delivery w WHERE w.id IN (
            SELECT id FROM due WHERE place <= v_per_tenant ORDER BY next_attempt_at LIMIT v_limit)
            AND w.state = 'pending' AND w.next_attempt_at <= v_now FOR UPDATE SKIP LOCKED
    ), claimed AS (
        UPDATE webhook_delivery d SET attempts = d.attempts + 1,
            next_attempt_at = v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond',
            leased_until = v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond'
        FROM picked WHERE d.id = picked.id RETURNING d.*
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('deliveryId', c.id, 'attempt', c.attempts, 'eventId', v.id, 'type', v.type,
        'eventAt', iso_time(v.created_at), 'generationId', v.generation_id, 'tenantId', c.tenant_id, 'endpointId', c.endpoint_id,
        'url', coalesce(e.url, g.callback_url), 'endOn4xx', coalesce(e.end_on_4xx, false), 'body', v.body,
        'secrets', (SELECT coalesce(jsonb_agg(jsonb_build_object('sealed', encode(k.sealed, 'base64'), 'keyId', k.key_id) ORDER BY k.id DESC), '[]')
            FROM webhook_secret k WHERE k.tenant_id = c.tenant_id AND k.endpoint_id IS NOT DISTINCT FROM c.endpoint_id
                AND (k.expires_at IS NULL OR k.expires_at > v_now)))), '[]')
    INTO v_claimed
    FROM claimed c JOIN webhook_event v ON v.id = c.event_id LEFT JOIN webhook_endpoint e ON e.id = c.endpoint_id
        LEFT JOIN generation g ON g.id = v.generation_id;
    RETURN v_claimed;
END $$;

-- The bytes of an event, the same at each attempt: the first writer's stand. Bytes that were made before their generation was erased
-- are not kept. in: {eventId, body, erased?: made from a row that was erased already}; out: text | null (nothing is kept)
CREATE OR REPLACE FUNCTION keep_webhook_body(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    -- An erasure has the row's lock until all of it is done.
    PERFORM 1 FROM generation WHERE id = (SELECT generation_id FROM webhook_event WHERE id = p ->> 'eventId') FOR KEY SHARE;
    UPDATE webhook_event e SET body = p ->> 'body' WHERE e.id = p ->> 'eventId' AND e.body IS NULL
        AND (coalesce((p ->> 'erased')::boolean, false) OR NOT EXISTS (SELECT 1 FROM generation g WHERE g.id = e.generation_id AND g.erased_at IS NOT NULL));
    RETURN (SELECT to_jsonb(body) FROM webhook_event WHERE id = p ->> 'eventId');
END $$;

-- No more to this endpoint: what waits for it is held, and can be delivered later.
CREATE OR REPLACE FUNCTION disable_endpoint(p_endpoint_id text, p_reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoint SET disabled_at = coalesce(disabled_at, clock_timestamp()), disabled_reason = coalesce(disabled_reason, p_reason),
        updated_at = clock_timestamp()
    WHERE id = p_endpoint_id;
    UPDATE webhook_delivery SET state = 'held', next_attempt_at = NULL, leased_until = NULL WHERE target = p_endpoint_id AND state = 'pending';
END $$;

-- How one attempt ended. A success counts whenever it comes; a failure only of the attempt that is the latest. A 4xx by which an
-- endpoint ends a delivery (`ended`) is an answer of one that is alive: it counts for neither its circuit nor its end.
-- in:  {deliveryId, attempt, outcome: delivered | failed | gone | ended, status | null, problem | null, durationMs, retryAfterMs | null,
--       delaysMs: [ms before each attempt of the schedule, with its jitter], disableAfterMs}, answer (at most 20,000 bytes)
-- out: {state, disabled: null | gone | failing, endpointId | null}
CREATE OR REPLACE FUNCTION record_delivery_attempt(p jsonb, p_answer bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    d webhook_delivery;
    e webhook_endpoint;
    v_now timestamptz(3);
    v_attempt integer := (p ->> 'attempt')::integer;
    v_place integer;
    v_latest boolean;
    v_disabled text;
BEGIN
    -- The endpoint's row first, as everywhere: attempts of one endpoint change it one after the other.
    SELECT ep.* INTO e FROM webhook_endpoint ep JOIN webhook_delivery del ON del.endpoint_id = ep.id
    WHERE del.id = (p ->> 'deliveryId')::bigint FOR NO KEY UPDATE OF ep;
    SELECT * INTO d FROM webhook_delivery WHERE id = (p ->> 'deliveryId')::bigint FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('state', 'cancelled', 'disabled', NULL, 'endpointId', NULL);
    END IF;
    -- A receiver may answer with what it was sent: nothing of that is kept once the generation is erased, or while it is.
    PERFORM 1 FROM generation WHERE id = (SELECT generation_id FROM webhook_event WHERE id = d.event_id) FOR KEY SHARE;
    IF EXISTS (SELECT 1 FROM webhook_event v JOIN generation g ON g.id = v.generation_id WHERE v.id = d.event_id AND g.erased_at IS NOT NULL) THEN
        p_answer := '';
    END IF;
    v_now := clock_timestamp();
    v_latest := d.attempts = v_attempt;
    INSERT INTO webhook_attempt (delivery_id, attempt, at, duration_ms, status, problem, answer)
    VALUES (d.id, v_attempt, v_now, (p ->> 'durationMs')::integer, (p ->> 'status')::integer, p ->> 'problem', substring(p_answer FROM 1 FOR 20000))
    ON CONFLICT DO NOTHING;
    IF p ->> 'outcome' = 'delivered' THEN
        UPDATE webhook_delivery SET state = 'delivered', delivered_at = coalesce(delivered_at, v_now), next_attempt_at = NULL, leased_until = NULL,
            last_status = (p ->> 'status')::integer, last_problem = NULL
        WHERE id = d.id RETURNING * INTO d;
        UPDATE webhook_endpoint SET failing_since = NULL, failures = 0, open_until = NULL WHERE id = e.id AND (failures > 0 OR failing_since IS NOT NULL);
        RETURN jsonb_build_object('state', d.state, 'disabled', NULL, 'endpointId', e.id);
    END IF;
    IF v_latest AND d.state = 'pending' THEN
        v_place := d.attempts - d.schedule_from;
        IF p ->> 'outcome' = 'ended' OR p ->> 'outcome' = 'gone' AND e.id IS NULL OR v_place >= jsonb_array_length(p -> 'delaysMs') THEN
            UPDATE webhook_delivery SET state = 'failed', next_attempt_at = NULL, leased_until = NULL, last_status = (p ->> 'status')::integer,
                last_problem = p ->> 'problem' WHERE id = d.id RETURNING * INTO d;
        ELSE
            UPDATE webhook_delivery SET leased_until = NULL, last_status = (p ->> 'status')::integer, last_problem = p ->> 'problem',
                next_attempt_at = v_now + greatest((p -> 'delaysMs' ->> v_place)::double precision, coalesce((p ->> 'retryAfterMs')::double precision, 0))
                    * interval '1 millisecond'
            WHERE id = d.id RETURNING * INTO d;
        END IF;
    END IF;
    IF v_latest AND p ->> 'outcome' <> 'ended' AND e.id IS NOT NULL AND e.disabled_at IS NULL THEN
        UPDATE webhook_endpoint SET failures = failures + 1, failing_since = coalesce(failing_since, v_now),
            open_until = CASE WHEN failures + 1 >= 5 THEN v_now + least(300, 5 * power(2, least(failures - 4, 10))) * interval '1 second' END
        WHERE id = e.id RETURNING * INTO e;
        v_disabled := CASE WHEN p ->> 'outcome' = 'gone' THEN 'gone'
            WHEN e.failing_since <= v_now - (p ->> 'disableAfterMs')::double precision * interval '1 millisecond' THEN 'failing' END;
        IF v_disabled IS NOT NULL THEN
            PERFORM disable_endpoint(e.id, v_disabled);
            SELECT * INTO d FROM webhook_delivery WHERE id = d.id;
        END IF;
    END IF;
    RETURN jsonb_build_object('state', d.state, 'disabled', v_disabled, 'endpointId', e.id);
END $$;

-- An endpoint of a tenant, once per idempotency key. At most maxEndpoints live ones.
-- in:  {endpointId, tenantId, url, types: [text], description, endOn4xx, idempotencyKey, requestSha256 (hex), keyId, maxEndpoints}, sealed secret
-- out: {outcome: created | replayed, endpointId} | {outcome: key_reuse | too_many}
CREATE OR REPLACE FUNCTION create_webhook_endpoint(p jsonb, p_sealed bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_now timestamptz(3) := clock_timestamp();
BEGIN
    PERFORM 1 FROM tenant WHERE id = p ->> 'tenantId' FOR NO KEY UPDATE;
    SELECT * INTO e FROM webhook_endpoint WHERE tenant_id = p ->> 'tenantId' AND idempotency_key = p ->> 'idempotencyKey';
    IF FOUND THEN
        RETURN jsonb_build_object('outcome', CASE WHEN e.request_sha256 = decode(p ->> 'requestSha256', 'hex') THEN 'replayed' ELSE 'key_reuse' END,
            'endpointId', e.id);
    END IF;
    IF (SELECT count(*) FROM webhook_endpoint WHERE tenant_id = p ->> 'tenantId' AND deleted_at IS NULL) >= (p ->> 'maxEndpoints')::integer THEN
        RETURN jsonb_build_object('outcome', 'too_many');
    END IF;
    INSERT INTO webhook_endpoint (id, tenant_id, url, types, description, end_on_4xx, idempotency_key, request_sha256, created_at, updated_at)
    VALUES (p ->> 'endpointId', p ->> 'tenantId', p ->> 'url', ARRAY(SELECT jsonb_array_elements_text(p -> 'types')), p ->> 'description',
        (p ->> 'endOn4xx')::boolean, p ->> 'idempotencyKey', decode(p ->> 'requestSha256', 'hex'), v_now, v_now);
    INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at)
    VALUES (p ->> 'tenantId', p ->> 'endpointId', p_sealed, p ->> 'keyId', v_now);
    RETURN jsonb_build_object('outcome', 'created', 'endpointId', p ->> 'endpointId');
END $$;

-- Changes what is given. Enabling begins afresh; what was held stays so until it is asked for.
-- in:  {endpointId, tenantId, url?, types?, description?, endOn4xx?, enabled?}
-- out: {outcome: updated | not_found}
CREATE OR REPLACE FUNCTION update_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
BEGIN
    SELECT * INTO e FROM webhook_endpoint WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    UPDATE webhook_endpoint SET url = coalesce(p ->> 'url', url), description = coalesce(p ->> 'description', description),
        types = CASE WHEN p ? 'types' THEN ARRAY(SELECT jsonb_array_elements_text(p -> 'types')) ELSE types END,
        end_on_4xx = coalesce((p ->> 'endOn4xx')::boolean, end_on_4xx), updated_at = clock_timestamp()
    WHERE id = e.id;
    IF (p ->> 'enabled')::boolean = false AND e.disabled_at IS NULL THEN
        PERFORM disable_endpoint(e.id, 'tenant');
    ELSIF (p ->> 'enabled')::boolean OR p ->> 'url' IS DISTINCT FROM e.url AND p ->> 'url' IS NOT NULL THEN
        UPDATE webhook_endpoint SET failing_since = NULL, failures = 0, open_until = NULL,
            disabled_at = CASE WHEN (p ->> 'enabled')::boolean THEN NULL ELSE disabled_at END,
            disabled_reason = CASE WHEN (p ->> 'enabled')::boolean THEN NULL ELSE disabled_reason END
        WHERE id = e.id;
    END IF;
    RETURN jsonb_build_object('outcome', 'updated');
END $$;

-- Gone for its tenant; its deliveries stay readable, those that wait are cancelled.
-- in: {endpointId, tenantId}; out: {outcome: deleted | not_found}
CREATE OR REPLACE FUNCTION delete_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoint SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    UPDATE webhook_delivery SET state = 'cancelled', next_attempt_at = NULL, leased_until = NULL
    WHERE endpoint_id = p ->> 'endpointId' AND state IN ('pending', 'held');
    DELETE FROM webhook_secret WHERE endpoint_id = p ->> 'endpointId';
    RETURN jsonb_build_object('outcome', 'deleted');
END $$;

-- A new secret of an endpoint, or of the tenant for callback_url (endpointId null); the ones before sign beside it for their time.
-- in:  {tenantId, endpointId | null, keyId, overlapMs, onlyFirst?: nothing happens where there is a secret already}, sealed secret
-- out: {outcome: rotated | not_found | exists}
CREATE OR REPLACE FUNCTION rotate_webhook_secret(p jsonb, p_sealed bytea) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_endpoint text := p ->> 'endpointId';
BEGIN
    PERFORM 1 FROM tenant WHERE id = p ->> 'tenantId' FOR NO KEY UPDATE;
    IF FOUND AND v_endpoint IS NOT NULL THEN
        -- Not beside a deletion, which removes the secrets.
        PERFORM 1 FROM webhook_endpoint WHERE id = v_endpoint AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR SHARE;
    END IF;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF coalesce((p ->> 'onlyFirst')::boolean, false) AND EXISTS (SELECT 1 FROM webhook_secret
        WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NULL) THEN
        RETURN jsonb_build_object('outcome', 'exists');
    END IF;
    -- Who lost the answer rotates again, and its receiver still verifies with an older one: each lives out its time, the oldest of five ends.
    DELETE FROM webhook_secret WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NOT NULL
        AND (expires_at <= v_now OR id NOT IN (SELECT id FROM webhook_secret WHERE tenant_id = p ->> 'tenantId'
            AND endpoint_id IS NOT DISTINCT FROM v_endpoint ORDER BY id DESC LIMIT 4));
    UPDATE webhook_secret SET expires_at = v_now + (p ->> 'overlapMs')::double precision * interval '1 millisecond'
    WHERE tenant_id = p ->> 'tenantId' AND endpoint_id IS NOT DISTINCT FROM v_endpoint AND expires_at IS NULL;
    INSERT INTO webhook_secret (tenant_id, endpoint_id, sealed, key_id, created_at) VALUES (p ->> 'tenantId', v_endpoint, p_sealed, p ->> 'keyId', v_now);
    RETURN jsonb_build_object('outcome', 'rotated');
END $$;

-- Sends again: one delivery, or all of an endpoint since a time (those not delivered, or all), at most `limit` in one call, oldest first.
-- in:  {tenantId, deliveryId} | {tenantId, endpointId, since (ISO 8601), all: boolean, limit}
-- out: {outcome: redelivering, count, more, next: the `since` that goes on | null} | {outcome: not_found | endpoint_disabled | endpoint_deleted}
CREATE OR REPLACE FUNCTION redeliver_webhooks(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_endpoint text := p ->> 'endpointId';
    v_delivery bigint := (p ->> 'deliveryId')::bigint;
    v_ids bigint[];
    v_limit integer := coalesce((p ->> 'limit')::integer, 1);
BEGIN
    IF v_delivery IS NOT NULL THEN
        SELECT endpoint_id INTO v_endpoint FROM webhook_delivery WHERE id = v_delivery AND tenant_id = p ->> 'tenantId';
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'not_found');
        END IF;
    END IF;
    IF v_endpoint IS NOT NULL THEN
        SELECT * INTO e FROM webhook_endpoint WHERE id = v_endpoint AND tenant_id = p ->> 'tenantId' FOR NO KEY UPDATE;
        IF NOT FOUND OR e.deleted_at IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', CASE WHEN e.id IS NULL OR v_delivery IS NULL THEN 'not_found' ELSE 'endpoint_deleted' END);
        END IF;
        IF e.disabled_at IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', 'endpoint_disabled');
        END IF;
    END IF;
    IF v_delivery IS NOT NULL THEN
        v_ids := ARRAY[v_delivery];
    ELSE
        SELECT array_agg(id ORDER BY created_at, id) INTO v_ids FROM (SELECT id, created_at FROM webhook_delivery WHERE endpoint_id = v_endpoint
            AND created_at >= (p ->> 'since')::timestamptz
            AND (state IN ('failed', 'held') OR (p ->> 'all')::boolean AND state = 'delivered')
            ORDER BY created_at, id LIMIT v_limit + 1) AS found;
    END IF;
    UPDATE webhook_delivery SET state = 'pending', schedule_from = attempts, next_attempt_at = clock_timestamp(), leased_until = NULL
    WHERE id = ANY (v_ids[1:v_limit]);
    PERFORM pg_notify('darkroom_webhook', '');
    RETURN jsonb_build_object('outcome', 'redelivering', 'count', coalesce(cardinality(v_ids[1:v_limit]), 0), 'more', coalesce(cardinality(v_ids), 0) > v_limit,
        'next', (SELECT iso_time(created_at) FROM webhook_delivery WHERE id = v_ids[v_limit + 1]));
END $$;

-- An event of its own for one endpoint, to try it.
-- in: {tenantId, endpointId, eventId, body}; out: {outcome: created, deliveryId} | {outcome: not_found | endpoint_disabled}
CREATE OR REPLACE FUNCTION test_webhook_endpoint(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    e webhook_endpoint;
    v_now timestamptz(3) := clock_timestamp();
    v_delivery bigint;
BEGIN
    SELECT * INTO e FROM webhook_endpoint WHERE id = p ->> 'endpointId' AND tenant_id = p ->> 'tenantId' AND deleted_at IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF e.disabled_at IS NOT NULL THEN
        RETURN jsonb_build_object('outcome', 'endpoint_disabled');
    END IF;
    INSERT INTO webhook_event (id, tenant_id, type, body, created_at) VALUES (p ->> 'eventId', e.tenant_id, 'webhook.test', p ->> 'body', v_now);
    INSERT INTO webhook_delivery (tenant_id, event_id, endpoint_id, target, next_attempt_at, created_at)
    VALUES (e.tenant_id, p ->> 'eventId', e.id, e.id, v_now, v_now) RETURNING id INTO v_delivery;
    PERFORM pg_notify('darkroom_webhook', '');
    RETURN jsonb_build_object('outcome', 'created', 'deliveryId', v_delivery);
END $$;
-- A stored input of a tenant; with an idempotency key once per key, for as long as the input is kept.
-- in:  {inputId, tenantId, source: upload | url, path, bytes, sha256 (hex), mediaType, width, height, durationSeconds, idempotencyKey | null, keepMs}
-- out: {outcome: created | replayed | key_reuse, inputId}; on replayed and key_reuse the caller removes its own file
CREATE OR REPLACE FUNCTION record_input(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    i stored_input;
    v_now timestamptz(3) := clock_timestamp();
BEGIN
    LOOP
        INSERT INTO stored_input (id, tenant_id, source, path, bytes, sha256, media_type, width, height, duration_seconds, idempotency_key, created_at, expires_at)
        SELECT p ->> 'inputId', t.id, p ->> 'source', p ->> 'path', (p ->> 'bytes')::bigint, decode(p ->> 'sha256', 'hex'), p ->> 'mediaType',
            (p ->> 'width')::integer, (p ->> 'height')::integer, (p ->> 'durationSeconds')::double precision, p ->> 'idempotencyKey', v_now,
            v_now + CASE WHEN p ->> 'source' = 'upload' THEN coalesce(t.retention_hours * interval '1 hour', (p ->> 'keepMs')::double precision * interval '1 millisecond')
                ELSE (p ->> 'keepMs')::double precision * interval '1 millisecond' END
        FROM tenant t WHERE t.id = p ->> 'tenantId'
        ON CONFLICT (tenant_id, idempotency_key) DO NOTHING RETURNING * INTO i;
        IF i.id IS NOT NULL THEN
            RETURN jsonb_build_object('outcome', 'created', 'inputId', i.id);
        END IF;
        SELECT * INTO i FROM stored_input WHERE tenant_id = p ->> 'tenantId' AND idempotency_key = p ->> 'idempotencyKey';
        EXIT WHEN FOUND;
        -- The other one was removed in this very moment, or there is no such tenant.
        IF NOT EXISTS (SELECT 1 FROM tenant WHERE id = p ->> 'tenantId') THEN
            RAISE EXCEPTION 'there is no tenant %', p ->> 'tenantId' USING ERRCODE = 'foreign_key_violation';
        END IF;
    END LOOP;
    RETURN jsonb_build_object('outcome', CASE WHEN i.sha256 = decode(p ->> 'sha256', 'hex') THEN 'replayed' ELSE 'key_reuse' END, 'inputId', i.id);
END $$;

-- Ties inputs to a new generation, and holds their rows. Refused when one is not the tenant's, or no more there.
-- p_inputs: [{field, inputId}] | null; null = all are tied, else {outcome: unknown_input, field}
CREATE OR REPLACE FUNCTION link_inputs(g generation, p_inputs jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_input jsonb;
BEGIN
    FOR v_input IN SELECT * FROM jsonb_array_elements(coalesce(nullif(p_inputs, 'null'), '[]')) AS given(input) ORDER BY input ->> 'inputId' LOOP
        PERFORM 1 FROM stored_input WHERE id = v_input ->> 'inputId' AND tenant_id = g.tenant_id AND state = 'stored' FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'unknown_input', 'field', v_input ->> 'field');
        END IF;
        INSERT INTO generation_input (generation_id, field, input_id) VALUES (g.id, v_input ->> 'field', v_input ->> 'inputId');
    END LOOP;
    RETURN NULL;
END $$;

-- Inputs stay as long as the outputs of the generation may. Only once it is certain: a refused one extends nothing.
CREATE OR REPLACE FUNCTION keep_inputs(g generation, p_retention_ms double precision) RETURNS void LANGUAGE sql AS $$
    UPDATE stored_input SET expires_at = greatest(expires_at, g.deadline_at + interval '1 day' + retention_of(g.id, coalesce(p_retention_ms, 2592000000)))
    WHERE id IN (SELECT input_id FROM generation_input WHERE generation_id = g.id);
$$;
-- Deletes what was delivered, at the tenant's wish: the files go soon after, the status stays readable. The answer is the same when it
-- was asked before.
-- in: {generationId, tenantId}; out: {outcome: deleting, count} | {outcome: not_found | not_terminal}
CREATE OR REPLACE FUNCTION delete_outputs(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_count integer;
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' AND tenant_id = p ->> 'tenantId' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NULL THEN
        RETURN jsonb_build_object('outcome', 'not_terminal');
    END IF;
    UPDATE output SET state = 'deleting', lease_until = NULL WHERE generation_id = g.id AND state = 'stored';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count > 0 THEN
        UPDATE generation SET delivery = 'expired', updated_at = clock_timestamp() WHERE id = g.id;
    END IF;
    RETURN jsonb_build_object('outcome', 'deleting', 'count', v_count);
END $$;

-- Takes what was asked for out of every row that holds it, for good, and removes inputs that nothing else uses. Credits, times and
-- outputs stay. The same when it was erased before.
-- in:  {generationId, tenantId} | {generationId, tenantId: null, actor, reason}: by an operator, on record
-- out: {outcome: erased | not_found | not_terminal}
CREATE OR REPLACE FUNCTION erase_generation(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    g generation;
    v_now timestamptz(3);
    v_inputs text[];
BEGIN
    SELECT * INTO g FROM generation WHERE id = p ->> 'generationId' AND (p ->> 'tenantId' IS NULL OR tenant_id = p ->> 'tenantId') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'not_found');
    END IF;
    IF g.completed_at IS NULL THEN
        RETURN jsonb_build_object('outcome', 'not_terminal');
    END IF;
    IF g.erased_at IS NULL THEN
        v_now := clock_timestamp();
        UPDATE generation SET erased_at = v_now, updated_at = v_now, input = '{}',
            response_body = jsonb_set(response_body::jsonb, '{input}', '{}')::text
        WHERE id = g.id;
        UPDATE submission SET request = request || '{"body": ""}' WHERE generation_id = g.id;
        UPDATE callback SET body = '' WHERE submission_id IN (SELECT id FROM submission WHERE generation_id = g.id);
        UPDATE callback c SET body = '' FROM orphan_job o JOIN submission s ON s.id = o.submission_id
        WHERE s.generation_id = g.id AND c.submission_id IS NULL AND c.provider = o.provider AND c.provider_job_id = o.provider_job_id;
        -- A receiver may have answered with what it was sent.
        UPDATE webhook_attempt SET answer = '' WHERE delivery_id IN (
            SELECT d.id FROM webhook_event v JOIN webhook_delivery d ON d.event_id = v.id WHERE v.generation_id = g.id);
        UPDATE webhook_event SET body = NULL WHERE generation_id = g.id;
        SELECT array_agg(input_id ORDER BY input_id) INTO v_inputs FROM generation_input WHERE generation_id = g.id;
        PERFORM 1 FROM stored_input WHERE id = ANY (v_inputs) ORDER BY id FOR UPDATE;
        DELETE FROM generation_input WHERE generation_id = g.id;
        UPDATE stored_input i SET state = 'deleting', lease_until = NULL, idempotency_key = NULL WHERE i.id = ANY (v_inputs) AND i.state = 'stored'
            AND NOT EXISTS (SELECT 1 FROM generation_input u WHERE u.input_id = i.id);
        IF p ->> 'tenantId' IS NULL THEN
            INSERT INTO operator_action (kind, tenant_id, generation_id, actor, reason, detail)
            VALUES ('erase', g.tenant_id, g.id, p ->> 'actor', p ->> 'reason', '{}');
        END IF;
    END IF;
    RETURN jsonb_build_object('outcome', 'erased');
END $$;

-- Marks what has expired, then hands out files to remove, each to one process until its lease ends; those that could not be removed
-- before come last.
-- in: {limit, leaseMs}; out: [{kind: output, generationId, index, path} | {kind: input, inputId, path}]
CREATE OR REPLACE FUNCTION claim_file_removals(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz(3) := clock_timestamp();
    v_limit integer := (p ->> 'limit')::integer;
    v_lease timestamptz(3) := v_now + (p ->> 'leaseMs')::double precision * interval '1 millisecond';
    v_generations text[];
    v_claimed jsonb;
BEGIN
    SELECT array_agg(DISTINCT generation_id) INTO v_generations FROM (
        SELECT o.generation_id FROM output o JOIN generation g ON g.id = o.generation_id
        WHERE o.state = 'stored' AND o.expires_at <= v_now AND g.completed_at IS NOT NULL ORDER BY o.expires_at LIMIT v_limit) AS expired;
    -- The generation's lock first, as everywhere; one that is busy comes with the next pass.
    SELECT array_agg(id) INTO v_generations FROM (
        SELECT id FROM generation WHERE id = ANY (v_generations) AND completed_at IS NOT NULL ORDER BY id FOR UPDATE SKIP LOCKED) AS free;
    UPDATE output SET state = 'deleting', lease_until = NULL WHERE generation_id = ANY (v_generations) AND state = 'stored' AND expires_at <= v_now;
    UPDATE generation g SET delivery = 'expired', updated_at = v_now WHERE g.id = ANY (v_generations)
        AND NOT EXISTS (SELECT 1 FROM output o WHERE o.generation_id = g.id AND o.state = 'stored');
    UPDATE stored_input SET state = 'deleting', lease_until = NULL, idempotency_key = NULL WHERE id IN (
        SELECT i.id FROM stored_input i WHERE i.state = 'stored' AND i.expires_at <= v_now
            AND NOT EXISTS (SELECT 1 FROM generation_input u JOIN generation g ON g.id = u.generation_id WHERE u.input_id = i.id AND g.completed_at IS NULL)
        ORDER BY i.expires_at LIMIT v_limit FOR UPDATE SKIP LOCKED);
    WITH outputs AS (
        UPDATE output o SET lease_until = v_lease FROM (
            SELECT generation_id, index FROM output WHERE state = 'deleting' AND (lease_until IS NULL OR lease_until <= v_now)
            ORDER BY lease_until NULLS FIRST LIMIT v_limit FOR UPDATE SKIP LOCKED) AS due
        WHERE o.generation_id = due.generation_id AND o.index = due.index RETURNING o.generation_id, o.index, o.path
    ), inputs AS (
        UPDATE stored_input i SET lease_until = v_lease FROM (
            SELECT id FROM stored_input WHERE state = 'deleting' AND (lease_until IS NULL OR lease_until <= v_now)
            ORDER BY lease_until NULLS FIRST LIMIT v_limit FOR UPDATE SKIP LOCKED) AS due
        WHERE i.id = due.id RETURNING i.id, i.path
    )
    SELECT coalesce(jsonb_agg(claimed), '[]') INTO v_claimed FROM (
        SELECT jsonb_build_object('kind', 'output', 'generationId', generation_id, 'index', index, 'path', path) AS claimed FROM outputs
        UNION ALL SELECT jsonb_build_object('kind', 'input', 'inputId', id, 'path', path) FROM inputs) AS all_claimed;
    RETURN v_claimed;
END $$;

-- The file is gone from the storage.
-- in: {kind: output, generationId, index} | {kind: input, inputId}
CREATE OR REPLACE FUNCTION finish_file_removal(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF p ->> 'kind' = 'output' THEN
        UPDATE output SET state = 'deleted', lease_until = NULL, deleted_at = clock_timestamp()
        WHERE generation_id = p ->> 'generationId' AND index = (p ->> 'index')::integer AND state = 'deleting';
    ELSE
        UPDATE stored_input SET state = 'deleted', lease_until = NULL, deleted_at = clock_timestamp() WHERE id = p ->> 'inputId' AND state = 'deleting';
    END IF;
    RETURN FOUND;
END $$;

-- One bounded pass over rows that only told how something went: callbacks, events before the last, webhooks with their attempts.
-- Nothing that waits is touched.
-- in:  {keepMs, unmatchedKeepMs, limit: of callbacks, of generations with their events, of webhooks}
-- out: {callbacks, events, webhooks: rows removed, more: whether the limit ended the pass}
CREATE OR REPLACE FUNCTION prune_history(p jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz(3) := ms_from_now(-(p ->> 'keepMs')::double precision);
    v_unmatched timestamptz(3) := ms_from_now(-(p ->> 'unmatchedKeepMs')::double precision);
    v_limit integer := (p ->> 'limit')::integer;
    v_ids text[];
    v_matched integer;
    v_callbacks integer;
    v_generations integer;
    v_events integer;
    v_webhooks integer;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('darkroom_prune')) THEN
        RETURN jsonb_build_object('callbacks', 0, 'events', 0, 'webhooks', 0, 'more', false);
    END IF;
    DELETE FROM callback WHERE id IN (
        SELECT id FROM callback WHERE submission_id IS NULL AND received_at < v_unmatched ORDER BY received_at LIMIT v_limit FOR UPDATE SKIP LOCKED)
        AND submission_id IS NULL;
    GET DIAGNOSTICS v_callbacks = ROW_COUNT;
    DELETE FROM callback WHERE id IN (
        SELECT c.id FROM callback c JOIN submission s ON s.id = c.submission_id JOIN generation g ON g.id = s.generation_id
        WHERE c.received_at < v_before AND g.completed_at < v_before ORDER BY c.received_at LIMIT v_limit);
    GET DIAGNOSTICS v_matched = ROW_COUNT;
    SELECT array_agg(id) INTO v_ids FROM (
        SELECT id FROM generation WHERE completed_at < v_before AND events_pruned_at IS NULL
        ORDER BY completed_at LIMIT v_limit FOR NO KEY UPDATE SKIP LOCKED) AS old;
    UPDATE generation SET events_pruned_at = clock_timestamp() WHERE id = ANY (v_ids);
    GET DIAGNOSTICS v_generations = ROW_COUNT;
    DELETE FROM generation_event WHERE generation_id = ANY (v_ids) AND type <> 'terminal';
    GET DIAGNOSTICS v_events = ROW_COUNT;
    SELECT array_agg(id) INTO v_ids FROM (
        SELECT e.id FROM webhook_event e WHERE e.created_at < v_before
            AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = e.id AND d.state = 'pending')
        ORDER BY e.created_at LIMIT v_limit) AS old;
    -- One that is asked for again in this moment stays, with its event.
    DELETE FROM webhook_delivery WHERE event_id = ANY (v_ids) AND state <> 'pending';
    DELETE FROM webhook_event e WHERE e.id = ANY (v_ids) AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = e.id);
    GET DIAGNOSTICS v_webhooks = ROW_COUNT;
    RETURN jsonb_build_object('callbacks', v_callbacks + v_matched, 'events', v_events, 'webhooks', v_webhooks,
        'more', greatest(v_callbacks, v_matched, v_generations, v_webhooks) >= v_limit);
END $$;

-- How long a tenant's outputs are kept from now on (null = the default), by an operator, on record.
-- in: {tenantId, retentionHours: number | null, actor, reason}; out: boolean: whether there is such a tenant
CREATE OR REPLACE FUNCTION set_retention(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant SET retention_hours = (p ->> 'retentionHours')::integer WHERE id = p ->> 'tenantId';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('retention', p ->> 'tenantId', p ->> 'actor', p ->> 'reason', jsonb_build_object('hours', p -> 'retentionHours'));
    RETURN true;
END $$;

-- A new key for a tenant's links, by an operator, on record; links made before work until overlapMs, those before them no more.
-- in: {tenantId, overlapMs, actor, reason}; out: boolean: whether there is such a tenant
CREATE OR REPLACE FUNCTION rotate_links(p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant SET link_version = link_version + 1, previous_links_until = ms_from_now((p ->> 'overlapMs')::double precision) WHERE id = p ->> 'tenantId';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO operator_action (kind, tenant_id, actor, reason, detail)
    VALUES ('rotate_links', p ->> 'tenantId', p ->> 'actor', p ->> 'reason', jsonb_build_object('overlapMs', p -> 'overlapMs'));
    RETURN true;
END $$;

-- Until now a generation that a person ended after the lease of its submit left its submission as it was: nobody looked for the job.
UPDATE submission s SET state = 'unknown', unknown_at = coalesce(s.unknown_at, clock_timestamp()), lease_until = NULL, problem = 'lease_over',
    updated_at = clock_timestamp(), late_due_at = late_due(g, 0)
FROM generation g WHERE g.id = s.generation_id AND g.completed_at IS NOT NULL AND s.state = 'sending';
UPDATE submission s SET state = 'abandoned', updated_at = clock_timestamp()
FROM generation g WHERE g.id = s.generation_id AND g.completed_at IS NOT NULL AND s.state = 'prepared';
-- Its worker may have told after the end that the answer was lost. Those without a look that ended longer ago have used theirs up, or never
-- had any: version 0.1 planned none.
UPDATE submission s SET late_due_at = late_due(g, 0)
FROM generation g WHERE g.id = s.generation_id AND g.completed_at > clock_timestamp() - interval '2 days' AND s.state = 'unknown'
    AND s.late_due_at IS NULL AND s.late_count = 0 AND s.provider_job_id IS NULL AND s.ended_at IS NULL;
