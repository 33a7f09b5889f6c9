-- Darkroom's tables. SQL owns every fact and fence: what may never happen is refused here, by a unique key, a CHECK or a
-- trigger, whatever the callers do. Times are timestamptz(3), by the database's clock.

CREATE TABLE "tenant" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "tenant_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "tenant_id_shape" CHECK ("id" ~ '^ten_[0-9a-hjkmnp-tv-z]{26}$'),
    CONSTRAINT "tenant_name_length" CHECK (length("name") BETWEEN 1 AND 200)
);

-- Only the SHA-256 of a key is kept. A key without a tenant is an operator's.
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT,
    "secret_sha256" BYTEA NOT NULL,
    "scopes" TEXT[],
    "label" TEXT NOT NULL DEFAULT '',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_key_hash_length" CHECK (octet_length("secret_sha256") = 32),
    CONSTRAINT "api_key_scopes_known" CHECK ("scopes" <@ ARRAY['generations', 'credits:grant', 'admin'] AND cardinality("scopes") > 0),
    CONSTRAINT "api_key_tenant_or_operator" CHECK (("tenant_id" IS NULL) = ('admin' = ANY ("scopes")))
);
CREATE UNIQUE INDEX "api_key_secret_sha256_key" ON "api_key"("secret_sha256");

-- Tenant accounts carry a cached balance, guarded by the CHECK; system accounts (world, revenue) are sums of entries only.
CREATE TABLE "ledger_account" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "posted" BIGINT NOT NULL DEFAULT 0,
    "held" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "ledger_account_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "ledger_account_kind_known" CHECK ("kind" IN ('tenant', 'system')),
    CONSTRAINT "ledger_account_owner" CHECK (("kind" = 'system') = ("tenant_id" IS NULL)),
    CONSTRAINT "ledger_account_never_below_zero" CHECK ("held" >= 0 AND "posted" - "held" >= 0),
    CONSTRAINT "ledger_account_system_uncached" CHECK ("kind" = 'tenant' OR ("posted" = 0 AND "held" = 0))
);
CREATE UNIQUE INDEX "ledger_account_tenant_id_name_key" ON "ledger_account"("tenant_id", "name");

CREATE TABLE "ledger_transaction" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY NOT NULL,
    "kind" TEXT NOT NULL,
    "business_key" TEXT NOT NULL,
    "generation_id" TEXT,
    "reason" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "ledger_transaction_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "ledger_transaction_kind_known" CHECK ("kind" IN ('grant', 'capture', 'refund')),
    CONSTRAINT "ledger_transaction_generation" CHECK (("kind" = 'grant') = ("generation_id" IS NULL))
);
CREATE UNIQUE INDEX "ledger_transaction_business_key_key" ON "ledger_transaction"("business_key");
CREATE UNIQUE INDEX "ledger_transaction_one_capture" ON "ledger_transaction"("generation_id") WHERE "kind" = 'capture';

CREATE TABLE "ledger_entry" (
    "transaction_id" BIGINT NOT NULL,
    "account_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    CONSTRAINT "ledger_entry_pkey" PRIMARY KEY ("transaction_id", "account_id"),
    CONSTRAINT "ledger_entry_not_zero" CHECK ("amount" <> 0)
);
CREATE INDEX "ledger_entry_account_id_idx" ON "ledger_entry"("account_id", "transaction_id");

CREATE TABLE "generation" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "idempotency_route" TEXT NOT NULL,
    "idempotency_key" TEXT NOT NULL,
    "request_sha256" BYTEA NOT NULL,
    "response_body" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "metadata" JSONB NOT NULL,
    "plan" JSONB NOT NULL,
    "credits" BIGINT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "stage" TEXT NOT NULL DEFAULT 'queued',
    "delivery" TEXT NOT NULL DEFAULT 'pending',
    "progress" DOUBLE PRECISION,
    "error_code" TEXT,
    "cancel_requested_at" TIMESTAMPTZ(3),
    "cancel_requested_by" TEXT,
    "cancel_outcome" TEXT,
    "operator_reason" TEXT,
    "event_seq" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "success_at" TIMESTAMPTZ(3),
    "store_until" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "sweep_count" INTEGER NOT NULL DEFAULT 0,
    "wake_requested_at" TIMESTAMPTZ(3),
    CONSTRAINT "generation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "generation_id_shape" CHECK ("id" ~ '^gen_[0-9a-hjkmnp-tv-z]{26}$'),
    CONSTRAINT "generation_key_length" CHECK (length("idempotency_key") BETWEEN 1 AND 255),
    CONSTRAINT "generation_credits_range" CHECK ("credits" BETWEEN 1 AND 9007199254740991),
    CONSTRAINT "generation_state_known" CHECK ("state" IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
    CONSTRAINT "generation_stage_known" CHECK ("stage" IN ('queued', 'submitting', 'submission_unknown', 'waiting', 'storing', 'settling', 'needs_operator', 'done')),
    CONSTRAINT "generation_delivery_known" CHECK ("delivery" IN ('pending', 'stored', 'partial', 'failed', 'expired')),
    CONSTRAINT "generation_progress_range" CHECK ("progress" BETWEEN 0 AND 1),
    CONSTRAINT "generation_done_is_terminal" CHECK (("stage" = 'done') = ("state" IN ('succeeded', 'failed', 'cancelled', 'expired'))),
    CONSTRAINT "generation_completed_is_terminal" CHECK (("completed_at" IS NOT NULL) = ("state" IN ('succeeded', 'failed', 'cancelled', 'expired'))),
    CONSTRAINT "generation_due_until_terminal" CHECK (("due_at" IS NOT NULL) = ("completed_at" IS NULL)),
    CONSTRAINT "generation_error_fits_state" CHECK (
        ("state" = 'failed' AND "error_code" IS NOT NULL AND "error_code" IN ('invalid_input', 'content_rejected', 'provider_unavailable', 'provider_rejected', 'provider_failed', 'no_output', 'output_lost', 'output_invalid'))
        OR ("state" = 'expired' AND "error_code" IS NOT NULL AND "error_code" IN ('deadline_exceeded', 'submission_unresolved'))
        OR ("state" NOT IN ('failed', 'expired') AND "error_code" IS NULL)),
    CONSTRAINT "generation_cancel_complete" CHECK (
        ("cancel_requested_at" IS NULL) = ("cancel_requested_by" IS NULL) AND ("cancel_requested_at" IS NULL) = ("cancel_outcome" IS NULL)),
    CONSTRAINT "generation_cancel_actor_known" CHECK ("cancel_requested_by" IN ('tenant', 'operator')),
    CONSTRAINT "generation_cancel_outcome_known" CHECK ("cancel_outcome" IN ('requested', 'confirmed', 'accepted_may_bill', 'too_late', 'unsupported')),
    CONSTRAINT "generation_cancelled_was_asked" CHECK ("state" <> 'cancelled' OR "cancel_requested_at" IS NOT NULL),
    CONSTRAINT "generation_success_was_observed" CHECK ("state" <> 'succeeded' OR ("success_at" IS NOT NULL AND "delivery" <> 'pending' AND "delivery" <> 'failed')),
    CONSTRAINT "generation_success_ends_other_ways" CHECK ("success_at" IS NULL OR "state" IN ('queued', 'running', 'succeeded')
        OR ("state" = 'failed' AND "error_code" IN ('output_lost', 'output_invalid'))),
    CONSTRAINT "generation_store_until_with_success" CHECK (("success_at" IS NULL) = ("store_until" IS NULL)),
    CONSTRAINT "generation_operator_reason" CHECK (("stage" = 'needs_operator') = ("operator_reason" IS NOT NULL))
);
CREATE UNIQUE INDEX "generation_idempotency" ON "generation"("tenant_id", "idempotency_route", "idempotency_key");
CREATE INDEX "generation_list" ON "generation"("tenant_id", "created_at" DESC, "id" DESC);
CREATE INDEX "generation_due" ON "generation"("due_at") WHERE "completed_at" IS NULL;
CREATE INDEX "generation_wake" ON "generation"("wake_requested_at") WHERE "completed_at" IS NULL AND "wake_requested_at" IS NOT NULL;

CREATE TABLE "hold" (
    "generation_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'held',
    "captured" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "resolved_at" TIMESTAMPTZ(3),
    CONSTRAINT "hold_pkey" PRIMARY KEY ("generation_id"),
    CONSTRAINT "hold_amount_positive" CHECK ("amount" > 0),
    CONSTRAINT "hold_state_known" CHECK ("state" IN ('held', 'captured', 'released')),
    CONSTRAINT "hold_resolved_once" CHECK (("state" = 'held') = ("resolved_at" IS NULL)),
    CONSTRAINT "hold_captured_fits" CHECK (
        ("state" = 'captured' AND "captured" BETWEEN 1 AND "amount") OR ("state" <> 'captured' AND "captured" = 0))
);
CREATE INDEX "hold_open" ON "hold"("account_id") WHERE "state" = 'held';

-- One try at one provider. `fence` is the token: every later step of an attempt is conditional on it.
CREATE TABLE "submission" (
    "id" TEXT NOT NULL,
    "generation_id" TEXT NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "route_index" INTEGER NOT NULL,
    "provider" TEXT NOT NULL,
    "credential" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'prepared',
    "idempotency_key" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "callback_base" TEXT,
    "callback_key_id" TEXT,
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "first_sent_at" TIMESTAMPTZ(3),
    "unknown_at" TIMESTAMPTZ(3),
    "accepted_at" TIMESTAMPTZ(3),
    "provider_job_id" TEXT,
    "handle" JSONB,
    "problem" TEXT,
    "refusal_code" TEXT,
    "provider_status" TEXT,
    "observed_at" TIMESTAMPTZ(3),
    "observe_count" INTEGER NOT NULL DEFAULT 0,
    "terminal_hint_at" TIMESTAMPTZ(3),
    "finished_by" TEXT,
    "cancel_sent_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "ended_as" TEXT,
    "cost_amount" TEXT,
    "cost_unit" TEXT,
    "cost_final" BOOLEAN,
    "callback_count" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "submission_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "submission_ordinal_positive" CHECK ("ordinal" >= 1),
    CONSTRAINT "submission_id_from_generation" CHECK ("id" = 'sub_' || substr("generation_id", 5) || '_' || "ordinal"),
    CONSTRAINT "submission_state_known" CHECK ("state" IN ('prepared', 'sending', 'unknown', 'accepted', 'refused', 'abandoned')),
    CONSTRAINT "submission_sending_has_lease" CHECK (("state" = 'sending') = ("lease_until" IS NOT NULL)),
    CONSTRAINT "submission_unknown_since" CHECK ("state" <> 'unknown' OR "unknown_at" IS NOT NULL),
    CONSTRAINT "submission_accepted_has_handle" CHECK ("state" <> 'accepted' OR "handle" IS NOT NULL),
    CONSTRAINT "submission_handle_has_job" CHECK (("handle" IS NULL) = ("provider_job_id" IS NULL)),
    CONSTRAINT "submission_refused_has_code" CHECK (("state" = 'refused') = ("refusal_code" IS NOT NULL)),
    CONSTRAINT "submission_finished_by_known" CHECK ("finished_by" IN ('callback', 'poll', 'submit')),
    CONSTRAINT "submission_ended_complete" CHECK (("ended_at" IS NULL) = ("ended_as" IS NULL)),
    CONSTRAINT "submission_ended_as_known" CHECK ("ended_as" IN ('succeeded', 'failed', 'cancelled', 'not_found'))
);
CREATE UNIQUE INDEX "submission_generation_id_ordinal_key" ON "submission"("generation_id", "ordinal");
CREATE UNIQUE INDEX "submission_idempotency_key_key" ON "submission"("idempotency_key");
CREATE UNIQUE INDEX "submission_one_live" ON "submission"("generation_id") WHERE "state" IN ('prepared', 'sending', 'unknown', 'accepted');
CREATE UNIQUE INDEX "submission_job" ON "submission"("provider", "credential", "provider_job_id") WHERE "provider_job_id" IS NOT NULL;

-- A second job that one submission turned out to have: cost to look into, never a replacement of the first.
CREATE TABLE "orphan_job" (
    "provider" TEXT NOT NULL,
    "credential" TEXT NOT NULL,
    "provider_job_id" TEXT NOT NULL,
    "submission_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "orphan_job_pkey" PRIMARY KEY ("provider", "credential", "provider_job_id")
);

-- The inbox: verified callbacks. Those without a submission wait for the job id to become known.
CREATE TABLE "callback" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY NOT NULL,
    "provider" TEXT NOT NULL,
    "credential" TEXT NOT NULL,
    "submission_id" TEXT,
    "provider_job_id" TEXT,
    "event_key" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "terminal" BOOLEAN NOT NULL,
    "progress" DOUBLE PRECISION,
    "body" BYTEA NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3),
    CONSTRAINT "callback_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "callback_addressed" CHECK ("submission_id" IS NOT NULL OR "provider_job_id" IS NOT NULL),
    CONSTRAINT "callback_progress_range" CHECK ("progress" BETWEEN 0 AND 1)
);
CREATE UNIQUE INDEX "callback_once" ON "callback"("submission_id", "event_key") WHERE "submission_id" IS NOT NULL;
CREATE UNIQUE INDEX "callback_unmatched_once" ON "callback"("provider", "credential", "provider_job_id", "event_key") WHERE "submission_id" IS NULL;
CREATE INDEX "callback_unseen" ON "callback"("submission_id") WHERE "seen_at" IS NULL;

CREATE TABLE "output" (
    "generation_id" TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'storing',
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "gone_count" INTEGER NOT NULL DEFAULT 0,
    "problem" TEXT,
    "path" TEXT,
    "bytes" BIGINT,
    "sha256" BYTEA,
    "media_type" TEXT,
    "width" INTEGER,
    "height" INTEGER,
    "duration_seconds" DOUBLE PRECISION,
    "stored_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "output_pkey" PRIMARY KEY ("generation_id", "index"),
    CONSTRAINT "output_index_range" CHECK ("index" BETWEEN 0 AND 99),
    CONSTRAINT "output_state_known" CHECK ("state" IN ('storing', 'stored', 'lost', 'invalid', 'deleting', 'deleted')),
    CONSTRAINT "output_stored_complete" CHECK ("state" NOT IN ('stored', 'deleting', 'deleted') OR ("path" IS NOT NULL AND "bytes" > 0
        AND octet_length("sha256") = 32 AND "media_type" IS NOT NULL AND "stored_at" IS NOT NULL AND "expires_at" IS NOT NULL))
);
CREATE UNIQUE INDEX "output_path_key" ON "output"("path");

CREATE TABLE "generation_event" (
    "generation_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "generation_event_pkey" PRIMARY KEY ("generation_id", "seq"),
    CONSTRAINT "generation_event_type_known" CHECK ("type" IN ('created', 'stage', 'progress', 'cancellation', 'terminal'))
);
CREATE UNIQUE INDEX "generation_event_one_terminal" ON "generation_event"("generation_id") WHERE "type" = 'terminal';

ALTER TABLE "api_key" ADD CONSTRAINT "api_key_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_account" ADD CONSTRAINT "ledger_account_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_transaction" ADD CONSTRAINT "ledger_transaction_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_entry" ADD CONSTRAINT "ledger_entry_transaction_id_fkey" FOREIGN KEY ("transaction_id") REFERENCES "ledger_transaction"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "ledger_entry" ADD CONSTRAINT "ledger_entry_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "ledger_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "generation" ADD CONSTRAINT "generation_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "generation" ADD CONSTRAINT "generation_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "ledger_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "hold" ADD CONSTRAINT "hold_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "hold" ADD CONSTRAINT "hold_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "ledger_account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "submission" ADD CONSTRAINT "submission_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "orphan_job" ADD CONSTRAINT "orphan_job_submission_id_fkey" FOREIGN KEY ("submission_id") REFERENCES "submission"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "callback" ADD CONSTRAINT "callback_submission_id_fkey" FOREIGN KEY ("submission_id") REFERENCES "submission"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "output" ADD CONSTRAINT "output_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "generation_event" ADD CONSTRAINT "generation_event_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

INSERT INTO "ledger_account" ("id", "tenant_id", "name", "kind") VALUES
    ('sys_world', NULL, 'world', 'system'),
    ('sys_revenue', NULL, 'revenue', 'system');

-- Append-only: a ledger row and an event are never changed or removed; a correction is a new transaction.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER "ledger_transaction_append_only" BEFORE UPDATE OR DELETE ON "ledger_transaction" FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER "ledger_entry_append_only" BEFORE UPDATE OR DELETE ON "ledger_entry" FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER "generation_event_append_only" BEFORE UPDATE OR DELETE ON "generation_event" FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Double entry: at commit, the entries of a transaction exist and sum to zero.
CREATE FUNCTION ledger_check_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint := CASE TG_TABLE_NAME WHEN 'ledger_entry' THEN (to_jsonb(NEW) ->> 'transaction_id')::bigint ELSE (to_jsonb(NEW) ->> 'id')::bigint END;
BEGIN
    IF (SELECT count(*) < 2 OR sum(amount) <> 0 FROM ledger_entry WHERE transaction_id = v_id) THEN
        RAISE EXCEPTION 'ledger transaction % does not balance', v_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "ledger_transaction_balanced" AFTER INSERT ON "ledger_transaction" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_balanced();
CREATE CONSTRAINT TRIGGER "ledger_entry_balanced" AFTER INSERT ON "ledger_entry" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_balanced();

-- States only go forward, a terminal one never changes, facts once written stay.
CREATE FUNCTION generation_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.completed_at IS NOT NULL AND (NEW.state, NEW.stage, NEW.completed_at, NEW.error_code) IS DISTINCT FROM (OLD.state, OLD.stage, OLD.completed_at, OLD.error_code) THEN
        RAISE EXCEPTION 'generation % has ended as %', OLD.id, OLD.state USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'running' AND NEW.state = 'queued' THEN
        RAISE EXCEPTION 'generation % cannot go back to queued', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.tenant_id, NEW.account_id, NEW.credits, NEW.plan, NEW.deadline_at, NEW.created_at, NEW.response_body)
        IS DISTINCT FROM (OLD.tenant_id, OLD.account_id, OLD.credits, OLD.plan, OLD.deadline_at, OLD.created_at, OLD.response_body) THEN
        RAISE EXCEPTION 'generation % is frozen in price, plan and deadline', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.success_at IS NOT NULL AND NEW.success_at IS DISTINCT FROM OLD.success_at THEN
        RAISE EXCEPTION 'generation % keeps its first success', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER "generation_guard" BEFORE UPDATE ON "generation" FOR EACH ROW EXECUTE FUNCTION generation_guard();

-- A hold is resolved once; a known job never becomes another one; accepted never becomes undone.
CREATE FUNCTION hold_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'held' OR (NEW.amount, NEW.account_id) IS DISTINCT FROM (OLD.amount, OLD.account_id) THEN
        RAISE EXCEPTION 'hold of % is resolved once and never resized', OLD.generation_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER "hold_guard" BEFORE UPDATE ON "hold" FOR EACH ROW EXECUTE FUNCTION hold_guard();

CREATE TRIGGER "hold_never_removed" BEFORE DELETE ON "hold" FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE FUNCTION submission_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.provider_job_id IS NOT NULL AND NEW.provider_job_id IS DISTINCT FROM OLD.provider_job_id THEN
        RAISE EXCEPTION 'submission % keeps its first job', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.idempotency_key, NEW.request, NEW.provider, NEW.credential) IS DISTINCT FROM (OLD.idempotency_key, OLD.request, OLD.provider, OLD.credential) THEN
        RAISE EXCEPTION 'submission % is frozen in key and bytes', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'accepted' AND NEW.state NOT IN ('accepted', 'abandoned') OR OLD.unknown_at IS NOT NULL AND NEW.state IN ('prepared', 'refused') THEN
        RAISE EXCEPTION 'submission % cannot go from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER "submission_guard" BEFORE UPDATE ON "submission" FOR EACH ROW EXECUTE FUNCTION submission_guard();
