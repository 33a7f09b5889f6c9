-- From the input file to the tenant's hands: stored inputs, webhooks with their attempts, deletion and erasure.

ALTER TABLE "api_key" DROP CONSTRAINT "api_key_scopes_known";
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_scopes_known"
    CHECK ("scopes" <@ ARRAY['generations', 'credits:grant', 'webhooks', 'admin'] AND cardinality("scopes") > 0);

-- How long a tenant's outputs are kept, and the version of the key that signs its links; the one before counts until its time.
ALTER TABLE "tenant" ADD COLUMN "retention_hours" INTEGER, ADD COLUMN "link_version" INTEGER NOT NULL DEFAULT 1,
    ADD COLUMN "previous_links_until" TIMESTAMPTZ(3);
ALTER TABLE "tenant" ADD CONSTRAINT "tenant_retention_range" CHECK ("retention_hours" BETWEEN 24 AND 87600);
ALTER TABLE "tenant" ADD CONSTRAINT "tenant_link_version_positive" CHECK ("link_version" >= 1);

ALTER TABLE "generation" ADD COLUMN "callback_url" TEXT, ADD COLUMN "erased_at" TIMESTAMPTZ(3), ADD COLUMN "events_pruned_at" TIMESTAMPTZ(3);
ALTER TABLE "generation" ADD CONSTRAINT "generation_callback_url_length" CHECK (length("callback_url") BETWEEN 1 AND 2048);
ALTER TABLE "generation" ADD CONSTRAINT "generation_erased_after_the_end" CHECK ("erased_at" IS NULL OR "completed_at" IS NOT NULL);
ALTER TABLE "generation" ADD CONSTRAINT "generation_events_pruned_after_the_end" CHECK ("events_pruned_at" IS NULL OR "completed_at" IS NOT NULL);
CREATE INDEX "generation_events_to_prune" ON "generation"("completed_at") WHERE "completed_at" IS NOT NULL AND "events_pruned_at" IS NULL;

-- An erasure is the one time at which the stored answer changes: what was asked for is taken out of it.
CREATE OR REPLACE FUNCTION generation_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.completed_at IS NOT NULL AND (NEW.state, NEW.stage, NEW.completed_at, NEW.error_code) IS DISTINCT FROM (OLD.state, OLD.stage, OLD.completed_at, OLD.error_code) THEN
        RAISE EXCEPTION 'generation % has ended as %', OLD.id, OLD.state USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'running' AND NEW.state = 'queued' THEN
        RAISE EXCEPTION 'generation % cannot go back to queued', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.tenant_id, NEW.account_id, NEW.credits, NEW.plan, NEW.deadline_at, NEW.created_at, NEW.callback_url)
        IS DISTINCT FROM (OLD.tenant_id, OLD.account_id, OLD.credits, OLD.plan, OLD.deadline_at, OLD.created_at, OLD.callback_url)
        OR (NEW.input, NEW.response_body) IS DISTINCT FROM (OLD.input, OLD.response_body) AND (NEW.erased_at IS NULL OR OLD.erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'generation % is frozen in input, price, plan and deadline', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.success_at IS NOT NULL AND NEW.success_at IS DISTINCT FROM OLD.success_at THEN
        RAISE EXCEPTION 'generation % keeps its first success', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.erased_at IS NOT NULL AND NEW.erased_at IS DISTINCT FROM OLD.erased_at THEN
        RAISE EXCEPTION 'generation % stays erased', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION submission_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.provider_job_id IS NOT NULL AND NEW.provider_job_id IS DISTINCT FROM OLD.provider_job_id THEN
        RAISE EXCEPTION 'submission % keeps its first job', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.idempotency_key, NEW.provider, NEW.credential) IS DISTINCT FROM (OLD.idempotency_key, OLD.provider, OLD.credential)
        OR NEW.request IS DISTINCT FROM OLD.request AND NOT EXISTS (SELECT 1 FROM generation WHERE id = NEW.generation_id AND erased_at IS NOT NULL) THEN
        RAISE EXCEPTION 'submission % is frozen in key and bytes', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF OLD.state = 'accepted' AND NEW.state NOT IN ('accepted', 'abandoned') OR OLD.unknown_at IS NOT NULL AND NEW.state IN ('prepared', 'refused') THEN
        RAISE EXCEPTION 'submission % cannot go from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

-- Events are never changed; all but the last go once their generation is marked as pruned.
DROP TRIGGER "generation_event_append_only" ON "generation_event";
CREATE FUNCTION generation_event_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' OR OLD.type = 'terminal' OR NOT EXISTS (SELECT 1 FROM generation WHERE id = OLD.generation_id AND events_pruned_at IS NOT NULL) THEN
        RAISE EXCEPTION 'events of % are append-only', OLD.generation_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER "generation_event_guard" BEFORE UPDATE OR DELETE ON "generation_event" FOR EACH ROW EXECUTE FUNCTION generation_event_guard();

CREATE INDEX "output_to_expire" ON "output"("expires_at") WHERE "state" = 'stored';
CREATE INDEX "output_to_remove" ON "output"("lease_until" NULLS FIRST) WHERE "state" = 'deleting';
ALTER TABLE "output" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "output" ADD CONSTRAINT "output_deleted_has_time" CHECK (("state" = 'deleted') = ("deleted_at" IS NOT NULL));
CREATE INDEX "callback_age" ON "callback"("received_at");
CREATE INDEX "callback_unmatched_age" ON "callback"("received_at") WHERE "submission_id" IS NULL;

ALTER TABLE "operator_action" DROP CONSTRAINT "operator_action_kind_known";
ALTER TABLE "operator_action" ADD CONSTRAINT "operator_action_kind_known"
    CHECK ("kind" IN ('refund', 'resolve', 'usage_limit', 'provider_budget', 'erase', 'retention', 'rotate_links'));

-- A file that a tenant gave us to work from: uploaded, or fetched from its URL when the generation was created.
CREATE TABLE "stored_input" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'stored',
    "path" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "sha256" BYTEA NOT NULL,
    "media_type" TEXT NOT NULL,
    "width" INTEGER,
    "height" INTEGER,
    "duration_seconds" DOUBLE PRECISION,
    "idempotency_key" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "lease_until" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    CONSTRAINT "stored_input_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "stored_input_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "stored_input_id_shape" CHECK ("id" ~ '^inp_[0-9a-hjkmnp-tv-z]{26}$'),
    CONSTRAINT "stored_input_source_known" CHECK ("source" IN ('upload', 'url')),
    CONSTRAINT "stored_input_state_known" CHECK ("state" IN ('stored', 'deleting', 'deleted')),
    CONSTRAINT "stored_input_file_complete" CHECK ("bytes" > 0 AND octet_length("sha256") = 32),
    CONSTRAINT "stored_input_key_length" CHECK (length("idempotency_key") BETWEEN 1 AND 255),
    CONSTRAINT "stored_input_deleted_has_time" CHECK (("state" = 'deleted') = ("deleted_at" IS NOT NULL))
);
CREATE UNIQUE INDEX "stored_input_path_key" ON "stored_input"("path");
CREATE UNIQUE INDEX "stored_input_idempotency" ON "stored_input"("tenant_id", "idempotency_key");
CREATE INDEX "stored_input_to_expire" ON "stored_input"("expires_at") WHERE "state" = 'stored';
CREATE INDEX "stored_input_to_remove" ON "stored_input"("lease_until" NULLS FIRST) WHERE "state" = 'deleting';

CREATE TABLE "generation_input" (
    "generation_id" TEXT NOT NULL,
    "field" TEXT NOT NULL,
    "input_id" TEXT NOT NULL,
    CONSTRAINT "generation_input_pkey" PRIMARY KEY ("generation_id", "field"),
    CONSTRAINT "generation_input_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "generation_input_input_id_fkey" FOREIGN KEY ("input_id") REFERENCES "stored_input"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "generation_input_input_id_idx" ON "generation_input"("input_id");

-- Where a tenant wants to hear of its generations.
CREATE TABLE "webhook_endpoint" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "types" TEXT[],
    "description" TEXT NOT NULL DEFAULT '',
    "end_on_4xx" BOOLEAN NOT NULL DEFAULT false,
    "idempotency_key" TEXT NOT NULL,
    "request_sha256" BYTEA NOT NULL,
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "failing_since" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "open_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),
    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_endpoint_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_endpoint_id_shape" CHECK ("id" ~ '^whe_[0-9a-hjkmnp-tv-z]{26}$'),
    CONSTRAINT "webhook_endpoint_url_length" CHECK (length("url") BETWEEN 1 AND 2048),
    CONSTRAINT "webhook_endpoint_types_known" CHECK (cardinality("types") > 0 AND "types" <@ ARRAY['generation.succeeded', 'generation.failed',
        'generation.cancelled', 'generation.expired', 'generation.updated']),
    CONSTRAINT "webhook_endpoint_disabled_complete" CHECK (("disabled_at" IS NULL) = ("disabled_reason" IS NULL)),
    CONSTRAINT "webhook_endpoint_disabled_reason_known" CHECK ("disabled_reason" IN ('tenant', 'gone', 'failing'))
);
CREATE UNIQUE INDEX "webhook_endpoint_idempotency" ON "webhook_endpoint"("tenant_id", "idempotency_key");
CREATE INDEX "webhook_endpoint_live" ON "webhook_endpoint"("tenant_id") WHERE "deleted_at" IS NULL;

-- Sealed secrets that sign: of an endpoint, or the tenant's default for callback_url. All that have not expired sign.
CREATE TABLE "webhook_secret" (
    "id" BIGSERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "endpoint_id" TEXT,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    CONSTRAINT "webhook_secret_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_secret_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_secret_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoint"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "webhook_secret_one_current" ON "webhook_secret"("tenant_id", coalesce("endpoint_id", '')) WHERE "expires_at" IS NULL;

-- Something that tenants hear of. The id follows from generation and type, so that a database restored to an earlier moment
-- tells it under the same id again.
CREATE TABLE "webhook_event" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "generation_id" TEXT,
    "type" TEXT NOT NULL,
    "body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "webhook_event_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_event_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_event_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "webhook_event_age" ON "webhook_event"("created_at");
CREATE INDEX "webhook_event_generation_id_idx" ON "webhook_event"("generation_id");

-- One event for one receiver: an endpoint, or the callback_url of its generation. `target` groups what goes to one place.
CREATE TABLE "webhook_delivery" (
    "id" BIGSERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "endpoint_id" TEXT,
    "target" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "schedule_from" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "last_status" INTEGER,
    "last_problem" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "delivered_at" TIMESTAMPTZ(3),
    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_delivery_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_delivery_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "webhook_event"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_delivery_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoint"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_delivery_state_known" CHECK ("state" IN ('pending', 'delivered', 'failed', 'held', 'cancelled')),
    CONSTRAINT "webhook_delivery_pending_has_time" CHECK (("state" = 'pending') = ("next_attempt_at" IS NOT NULL)),
    CONSTRAINT "webhook_delivery_leased_is_pending" CHECK ("leased_until" IS NULL OR "state" = 'pending'),
    CONSTRAINT "webhook_delivery_delivered_has_time" CHECK ("state" <> 'delivered' OR "delivered_at" IS NOT NULL),
    CONSTRAINT "webhook_delivery_attempts_range" CHECK ("schedule_from" BETWEEN 0 AND "attempts")
);
CREATE UNIQUE INDEX "webhook_delivery_once" ON "webhook_delivery"("event_id", "target");
CREATE INDEX "webhook_delivery_due" ON "webhook_delivery"("target", "next_attempt_at") WHERE "state" = 'pending';
CREATE INDEX "webhook_delivery_leased" ON "webhook_delivery"("target") WHERE "leased_until" IS NOT NULL;
CREATE INDEX "webhook_delivery_undelivered" ON "webhook_delivery"("state") WHERE "state" IN ('failed', 'held');
CREATE INDEX "webhook_delivery_list" ON "webhook_delivery"("tenant_id", "created_at" DESC, "id" DESC);
CREATE INDEX "webhook_delivery_endpoint" ON "webhook_delivery"("endpoint_id", "created_at" DESC, "id" DESC);

CREATE TABLE "webhook_attempt" (
    "delivery_id" BIGINT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "status" INTEGER,
    "problem" TEXT,
    "answer" BYTEA NOT NULL,
    CONSTRAINT "webhook_attempt_pkey" PRIMARY KEY ("delivery_id", "attempt"),
    CONSTRAINT "webhook_attempt_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_delivery"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "webhook_attempt_answer_size" CHECK (octet_length("answer") <= 20000)
);
