export { createClient } from './client.ts';
export type { ClientOptions, Created, DarkroomClient } from './client.ts';
export type { Download } from './download.ts';
export { ConnectionError, DarkroomError, WaitTimeoutError, WebhookVerificationError } from './errors.ts';
export type { paths } from './schema.ts';
export type { CreateGeneration, Generation, GenerationEvent, Input, Quote, WebhookEvent } from './types.ts';
export { verifyWebhook } from './verify-webhook.ts';
export type { WebhookMessage } from './verify-webhook.ts';
export type { WaitOptions } from './wait.ts';
