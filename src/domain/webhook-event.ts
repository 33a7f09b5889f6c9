import type { GenerationView } from './generation-view.ts';
import type { JsonValue } from './json.ts';

/** What an endpoint can ask to hear of. */
export const WEBHOOK_TYPES = [
  'generation.succeeded',
  'generation.failed',
  'generation.cancelled',
  'generation.expired',
  'generation.updated',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** What an endpoint hears of unless it chose otherwise: the ends. */
export const DEFAULT_WEBHOOK_TYPES: readonly WebhookType[] = WEBHOOK_TYPES.slice(0, 4);

/** The type of an event that only tries an endpoint. */
export const TEST_WEBHOOK_TYPE = 'webhook.test';

/** The size that Standard Webhooks 1.0.0 asks for. */
const MAX_BODY_BYTES = 20_000;

export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
}

/** The bytes of an event: JSON of type, timestamp, version, id and data. */
export function webhookBody({ id, type, timestamp }: WebhookEvent, data: JsonValue): string {
  return JSON.stringify({ type, timestamp, version: 1, id, data });
}

/**
 * The bytes of an event of a generation. Where they would be more than 20 kB, `data.input` is left out and
 * `data.input_omitted` is true: the input can be read at `data.poll_url`.
 */
export function generationWebhookBody(event: WebhookEvent, view: GenerationView): string {
  const whole = webhookBody(event, view as unknown as JsonValue);
  if (Buffer.byteLength(whole) <= MAX_BODY_BYTES) return whole;
  const { input: _left, ...rest } = view;
  return webhookBody(event, { ...rest, input_omitted: true } as unknown as JsonValue);
}
