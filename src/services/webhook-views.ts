import type { DeliveryRow, DeliveryWithAttempts, EndpointRow } from '../db/index.ts';
import { WEBHOOK_PROBLEMS, type WebhookProblem } from '../domain/webhook-problem.ts';
import type {
  WebhookDeliveryDetail,
  WebhookDeliveryView,
  WebhookEndpointView,
} from '../domain/webhook-view.ts';

/** Public ids of deliveries: `whd_` and the row's number. */
export const DELIVERY_ID = /^whd_([1-9]\d{0,17})$/;

/** The number of a delivery's row, or null for a text that is no id of one. */
export function deliveryNumber(id: string): bigint | null {
  const digits = DELIVERY_ID.exec(id)?.[1];
  return digits === undefined ? null : BigInt(digits);
}

/** Names every field by hand; the casts hold because CHECK constraints allow these words only. */
export function viewEndpoint(row: EndpointRow): WebhookEndpointView {
  return {
    id: row.id,
    object: 'webhook_endpoint',
    url: row.url,
    types: row.types as WebhookEndpointView['types'],
    description: row.description,
    end_on_4xx: row.endOn4xx,
    state: row.disabledAt === null ? 'enabled' : 'disabled',
    disabled_reason: row.disabledReason as WebhookEndpointView['disabled_reason'],
    failing_since: row.failingSince?.toISOString() ?? null,
    previous_secret_expires_at: row.secrets[0]?.expiresAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

/** Names every field by hand; the casts hold because CHECK constraints allow these words only. */
export function viewDelivery(row: DeliveryRow): WebhookDeliveryView {
  return {
    id: `whd_${row.id}`,
    object: 'webhook_delivery',
    event_id: row.eventId,
    type: row.event.type as WebhookDeliveryView['type'],
    generation_id: row.event.generationId,
    endpoint_id: row.endpointId,
    state: row.state as WebhookDeliveryView['state'],
    attempts: row.attempts,
    next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
    last_status: row.lastStatus,
    last_problem: row.lastProblem,
    created_at: row.createdAt.toISOString(),
    delivered_at: row.deliveredAt?.toISOString() ?? null,
  };
}

/** A delivery with its attempts. */
export function viewDeliveryDetail(row: DeliveryWithAttempts): WebhookDeliveryDetail {
  return {
    ...viewDelivery(row),
    tries: row.tries.map((attempt) => ({
      attempt: attempt.attempt,
      at: attempt.at.toISOString(),
      duration_ms: attempt.durationMs,
      status: attempt.status,
      problem: attempt.problem,
      advice: adviceFor(attempt.problem),
      answer: Buffer.from(attempt.answer).toString('utf8'),
    })),
  };
}

function adviceFor(problem: string | null): string | null {
  return problem !== null && Object.hasOwn(WEBHOOK_PROBLEMS, problem)
    ? WEBHOOK_PROBLEMS[problem as WebhookProblem]
    : null;
}
