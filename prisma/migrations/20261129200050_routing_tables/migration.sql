-- Whether a provider takes submits: shut by failures in a row, tried again by one submit at a time.
CREATE TABLE "provider_circuit" (
    "provider" TEXT NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failed_at" TIMESTAMPTZ(3),
    "open_until" TIMESTAMPTZ(3),
    "openings" INTEGER NOT NULL DEFAULT 0,
    "probe_until" TIMESTAMPTZ(3),
    CONSTRAINT "provider_circuit_pkey" PRIMARY KEY ("provider")
);

-- A callback without our token is matched by the job id alone.
CREATE INDEX "submission_job_id" ON "submission"("provider_job_id") WHERE "provider_job_id" IS NOT NULL;


-- After the end of a generation its job is looked at again until it is known to have ended.
ALTER TABLE "submission" ADD COLUMN "late_due_at" TIMESTAMPTZ(3), ADD COLUMN "late_count" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX "submission_late" ON "submission"("late_due_at") WHERE "late_due_at" IS NOT NULL;
UPDATE "submission" s SET "late_due_at" = g.completed_at + interval '1 hour' FROM "generation" g
WHERE g.id = s.generation_id AND g.completed_at > now() - interval '2 days' AND s.provider_job_id IS NOT NULL AND s.ended_at IS NULL;
