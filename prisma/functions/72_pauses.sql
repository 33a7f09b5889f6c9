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
