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
