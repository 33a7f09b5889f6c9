-- What was asked for by name, state or model read whole tables; now each is a range of an index. Those of generations hold ended
-- rows only: an open one is written many times, and each write would pay for them.
-- One table a migration (see the next two): holding the lock of one while it waits for another would deadlock with callbacks.

CREATE INDEX "generation_ended_state" ON "generation"("tenant_id", "state", "created_at" DESC, "id" DESC) WHERE "completed_at" IS NOT NULL;
CREATE INDEX "generation_ended_account" ON "generation"("account_id", "state", "created_at" DESC, "id" DESC) WHERE "completed_at" IS NOT NULL;
CREATE INDEX "generation_ended_model" ON "generation"("tenant_id", "model", "created_at" DESC, "id" DESC) WHERE "completed_at" IS NOT NULL;
