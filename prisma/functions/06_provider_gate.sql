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
