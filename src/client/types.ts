import type { components, operations } from './schema.ts';

/** A generation as the API shows it. */
export type Generation = components['schemas']['Generation'];
/** An uploaded file to work from. */
export type Input = components['schemas']['Input'];
/** What `create` takes. */
export type CreateGeneration = operations['createGeneration']['requestBody']['content']['application/json'];
export type Quote = components['schemas']['Quote'];
/** One event of the stream, with its type. */
export type GenerationEvent = components['schemas']['GenerationEvent'] & {
  readonly type: 'created' | 'stage' | 'progress' | 'cancellation' | 'terminal' | 'snapshot';
};

/** A verified webhook. The same `id` may come more than once: act on it once. */
export interface WebhookEvent {
  readonly id: string;
  readonly type:
    | 'generation.succeeded'
    | 'generation.failed'
    | 'generation.cancelled'
    | 'generation.expired'
    | 'generation.updated'
    | 'webhook.test';
  /** When it happened, ISO 8601. */
  readonly timestamp: string;
  readonly version: 1;
  /** The generation; without `input` where that is large; a message for a test. */
  readonly data: Generation;
}
