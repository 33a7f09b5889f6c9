-- What operators do and what the sweep keeps in mind.

ALTER TABLE "operator_action" DROP CONSTRAINT "operator_action_kind_known";
ALTER TABLE "operator_action" ADD CONSTRAINT "operator_action_kind_known"
    CHECK ("kind" IN ('refund', 'resolve', 'usage_limit', 'provider_budget', 'erase', 'retention', 'rotate_links',
        'wake', 'observe', 'cancel', 'retry_storing', 'attach_job', 'not_accepted', 'redeliver', 'pause', 'resume', 'recover',
        'create_tenant', 'create_key', 'revoke_key', 'enable_endpoint'));

-- What takes no new submits until it is resumed by hand.
CREATE TABLE "pause" (
    "kind" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "pause_pkey" PRIMARY KEY ("kind", "target"),
    CONSTRAINT "pause_kind_known" CHECK ("kind" IN ('provider', 'model', 'tenant'))
);

-- How far a pass of the sweep has come, so that it never begins from the start.
CREATE TABLE "sweep_mark" (
    "name" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3),
    "place" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sweep_mark_pkey" PRIMARY KEY ("name")
);

-- A job that a provider has and no row of ours names: its generation or submission went with a restore. Its cost is ours.
CREATE TABLE "stray_job" (
    "provider" TEXT NOT NULL,
    "credential" TEXT NOT NULL,
    "provider_job_id" TEXT NOT NULL,
    "submission_id" TEXT,
    "found_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "stray_job_pkey" PRIMARY KEY ("provider", "credential", "provider_job_id"),
    CONSTRAINT "stray_job_found_by_known" CHECK ("found_by" IN ('list', 'history', 'callback'))
);

CREATE INDEX "generation_open" ON "generation"("id") WHERE "completed_at" IS NULL;
CREATE INDEX "generation_updated" ON "generation"("updated_at");
CREATE INDEX "generation_unknown" ON "generation"("id") WHERE "stage" = 'submission_unknown';
