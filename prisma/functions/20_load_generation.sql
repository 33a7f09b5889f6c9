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
