CREATE INDEX "webhook_delivery_not_delivered" ON "webhook_delivery"("tenant_id", "state", "created_at" DESC, "id" DESC)
    WHERE "state" IN ('failed', 'held', 'cancelled');
