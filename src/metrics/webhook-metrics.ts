import { Counter, Registry } from 'prom-client';
import { DISABLED_REASONS, WEBHOOK_OUTCOMES, type DisabledReason, type WebhookOutcome } from './labels.ts';

/** What this process has counted of the webhooks that it sent to tenants. */
export const webhookMetrics = new Registry();

const registers = [webhookMetrics];
const attempts = new Counter({
  name: 'darkroom_webhook_attempts_total',
  help: 'Attempts to deliver a webhook: delivered (2xx), failed (tried again), ended (4xx where the endpoint wants no more of it), gone (410), unsent (no secret or body; never left us).',
  labelNames: ['outcome'],
  registers,
});
const disabled = new Counter({
  name: 'darkroom_webhook_endpoints_disabled_total',
  help: 'Endpoints that this process has disabled: gone (answered 410), failing (nothing delivered for days).',
  labelNames: ['reason'],
  registers,
});

/** What is counted of one attempt. */
export interface CountedAttempt {
  readonly outcome: Exclude<WebhookOutcome, 'unsent'>;
  readonly problem: string | null;
  readonly disabled: DisabledReason | null;
}

const UNSENT = new Set<string | null>(['secret_unavailable', 'body_unavailable']);

/** Counts one attempt, and the endpoint that it disabled. */
export function countWebhookAttempt(attempt: CountedAttempt): void {
  attempts.inc({ outcome: UNSENT.has(attempt.problem) ? 'unsent' : attempt.outcome });
  if (attempt.disabled !== null) disabled.inc({ reason: attempt.disabled });
}

/** Every series from 0 on: a counter that appears with its first event shows no increase. */
export function presetWebhookMetrics(): void {
  for (const outcome of WEBHOOK_OUTCOMES) attempts.inc({ outcome }, 0);
  for (const reason of DISABLED_REASONS) disabled.inc({ reason }, 0);
}
