-- Money: refunds, grants in sight, the costs at providers, limits and budgets, the record of what operators did.

-- What was granted in all, so that what was spent is granted less posted: no read has to sum the ledger.
ALTER TABLE "ledger_account" ADD COLUMN "granted" BIGINT NOT NULL DEFAULT 0;
UPDATE "ledger_account" a SET "granted" = e.total
FROM (SELECT e.account_id, sum(e.amount) AS total FROM "ledger_entry" e JOIN "ledger_transaction" t ON t.id = e.transaction_id
    WHERE t.kind = 'grant' GROUP BY e.account_id) e
WHERE e.account_id = a.id AND a.kind = 'tenant';
ALTER TABLE "ledger_account" ADD CONSTRAINT "ledger_account_spent_within_granted" CHECK ("kind" <> 'tenant' OR "posted" <= "granted");
ALTER TABLE "ledger_account" DROP CONSTRAINT "ledger_account_system_uncached";
ALTER TABLE "ledger_account" ADD CONSTRAINT "ledger_account_system_uncached" CHECK ("kind" = 'tenant' OR ("posted" = 0 AND "held" = 0 AND "granted" = 0));

-- An entry carries its time, so that an account's history is one index range.
ALTER TABLE "ledger_entry" DISABLE TRIGGER "ledger_entry_append_only";
ALTER TABLE "ledger_entry" ADD COLUMN "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
UPDATE "ledger_entry" e SET "created_at" = t.created_at FROM "ledger_transaction" t WHERE t.id = e.transaction_id;
ALTER TABLE "ledger_entry" ENABLE TRIGGER "ledger_entry_append_only";
CREATE INDEX "ledger_entry_history" ON "ledger_entry"("account_id", "created_at" DESC, "transaction_id" DESC);
CREATE INDEX "ledger_transaction_generation" ON "ledger_transaction"("generation_id") WHERE "generation_id" IS NOT NULL;
ALTER TABLE "ledger_transaction" ADD CONSTRAINT "ledger_transaction_reason_length" CHECK (length("reason") BETWEEN 1 AND 500);
ALTER TABLE "ledger_transaction" ADD CONSTRAINT "ledger_transaction_actor_length" CHECK (length("actor") BETWEEN 1 AND 200);

ALTER TABLE "hold" ADD COLUMN "refunded" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "hold" ADD CONSTRAINT "hold_refunded_fits" CHECK ("refunded" BETWEEN 0 AND "captured");
CREATE INDEX "hold_history" ON "hold"("account_id", "created_at" DESC, "generation_id" DESC);
CREATE INDEX "hold_resolved" ON "hold"("account_id", "resolved_at" DESC, "generation_id" DESC) WHERE "resolved_at" IS NOT NULL;

-- A hold is resolved once and never resized; after a capture only its refunds grow.
CREATE OR REPLACE FUNCTION hold_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.generation_id, NEW.amount, NEW.account_id, NEW.created_at) IS DISTINCT FROM (OLD.generation_id, OLD.amount, OLD.account_id, OLD.created_at)
        OR OLD.state <> 'held' AND (NEW.state, NEW.captured, NEW.resolved_at) IS DISTINCT FROM (OLD.state, OLD.captured, OLD.resolved_at)
        OR NEW.refunded < OLD.refunded THEN
        RAISE EXCEPTION 'hold of % is resolved once and never resized', OLD.generation_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE INDEX "generation_in_flight" ON "generation"("tenant_id", "account_id") WHERE "completed_at" IS NULL;
CREATE INDEX "generation_cancels" ON "generation"("tenant_id", "cancel_requested_at") WHERE "cancel_requested_at" IS NOT NULL;

-- What the provider bills: decimal, in its own unit, an estimate until it is final.
ALTER TABLE "submission" ALTER COLUMN "cost_amount" TYPE DECIMAL(30, 10)
    USING CASE WHEN "cost_amount" ~ '^\d{1,12}(\.\d{1,10})?$' THEN "cost_amount"::numeric END;
UPDATE "submission" SET "cost_unit" = NULL, "cost_final" = NULL WHERE "cost_amount" IS NULL;
ALTER TABLE "submission" ADD COLUMN "cost_source" TEXT, ADD COLUMN "cost_at" TIMESTAMPTZ(3);
UPDATE "submission" SET "cost_source" = 'observation', "cost_at" = "updated_at", "cost_final" = coalesce("cost_final", false) WHERE "cost_amount" IS NOT NULL;
ALTER TABLE "submission" ADD CONSTRAINT "submission_cost_complete" CHECK (
    ("cost_amount" IS NULL) = ("cost_unit" IS NULL) AND ("cost_amount" IS NULL) = ("cost_final" IS NULL)
    AND ("cost_amount" IS NULL) = ("cost_source" IS NULL) AND ("cost_amount" IS NULL) = ("cost_at" IS NULL));
ALTER TABLE "submission" ADD CONSTRAINT "submission_cost_not_negative" CHECK ("cost_amount" >= 0 AND "cost_amount" < 'NaN');
ALTER TABLE "submission" ADD CONSTRAINT "submission_cost_source_known" CHECK ("cost_source" IN ('catalogue', 'submit', 'observation', 'operator'));
CREATE INDEX "submission_spend" ON "submission"("provider", "first_sent_at");

-- A job that succeeded when its generation had ended without it, or had gone on with another one: what it cost stands at its submission.
CREATE TABLE "late_success" (
    "submission_id" TEXT NOT NULL,
    "generation_id" TEXT NOT NULL,
    "observed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "late_success_pkey" PRIMARY KEY ("submission_id")
);
CREATE INDEX "late_success_observed_at_idx" ON "late_success"("observed_at");

-- The seconds that were priced, beside those of the file.
ALTER TABLE "output" ADD COLUMN "priced_seconds" DOUBLE PRECISION;
CREATE INDEX "output_duration_differs" ON "output"("stored_at") WHERE abs("duration_seconds" - "priced_seconds") > 0.5;

-- Limits of a tenant as a whole ('tenant'), of each of its accounts ('each_account') or of one ('account:<id>'); null = none.
CREATE TABLE "usage_limit" (
    "tenant_id" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "generations_in_flight" INTEGER,
    "credits_per_day" BIGINT,
    "requests_per_minute" INTEGER,
    "cancels_per_day" INTEGER,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "usage_limit_pkey" PRIMARY KEY ("tenant_id", "scope"),
    CONSTRAINT "usage_limit_scope_known" CHECK ("scope" IN ('tenant', 'each_account') OR "scope" LIKE 'account:acc\_%'),
    CONSTRAINT "usage_limit_not_negative" CHECK ("generations_in_flight" >= 0 AND "credits_per_day" >= 0 AND "requests_per_minute" >= 1 AND "cancels_per_day" >= 0)
);

-- Requests of the present minute, one row a scope.
CREATE TABLE "request_window" (
    "tenant_id" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "window_start" TIMESTAMPTZ(3) NOT NULL,
    "count" INTEGER NOT NULL,
    CONSTRAINT "request_window_pkey" PRIMARY KEY ("tenant_id", "scope")
);

-- What may be spent at a provider in a UTC day, in its own unit.
CREATE TABLE "provider_budget" (
    "provider" TEXT NOT NULL,
    "amount_per_day" DECIMAL(30, 10) NOT NULL,
    "unit" TEXT NOT NULL,
    "reached_at" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "provider_budget_pkey" PRIMARY KEY ("provider"),
    CONSTRAINT "provider_budget_not_negative" CHECK ("amount_per_day" >= 0 AND "amount_per_day" < 'NaN')
);

-- Who did what, and why; never changed.
CREATE TABLE "operator_action" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY NOT NULL,
    "kind" TEXT NOT NULL,
    "tenant_id" TEXT,
    "generation_id" TEXT,
    "actor" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "operator_action_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "operator_action_kind_known" CHECK ("kind" IN ('refund', 'resolve', 'usage_limit', 'provider_budget')),
    CONSTRAINT "operator_action_actor_length" CHECK (length("actor") BETWEEN 1 AND 200),
    CONSTRAINT "operator_action_reason_length" CHECK (length("reason") BETWEEN 1 AND 500)
);
CREATE INDEX "operator_action_generation_id_id_idx" ON "operator_action"("generation_id", "id");
CREATE TRIGGER "operator_action_append_only" BEFORE UPDATE OR DELETE ON "operator_action" FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER "late_success_append_only" BEFORE UPDATE OR DELETE ON "late_success" FOR EACH ROW EXECUTE FUNCTION refuse_change();

ALTER TABLE "late_success" ADD CONSTRAINT "late_success_submission_id_fkey" FOREIGN KEY ("submission_id") REFERENCES "submission"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "late_success" ADD CONSTRAINT "late_success_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "usage_limit" ADD CONSTRAINT "usage_limit_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "request_window" ADD CONSTRAINT "request_window_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "operator_action" ADD CONSTRAINT "operator_action_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenant"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "operator_action" ADD CONSTRAINT "operator_action_generation_id_fkey" FOREIGN KEY ("generation_id") REFERENCES "generation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
