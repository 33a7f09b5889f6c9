CREATE INDEX "callback_job" ON "callback"("provider_job_id", "id") WHERE "provider_job_id" IS NOT NULL;
