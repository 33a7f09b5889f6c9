import type { Logger } from 'pino';
import type { AttemptReport } from '../services/deliver-webhook.ts';

/** Statuses by which a receiver speaks to the sender, not of a mistake in its set-up. */
const SPOKEN = new Set([410, 429]);

/** Says what somebody should look at: lost secrets, bodies that can't be made, endpoints disabled, unexpected 4xx. */
export function logAttempt(log: Pick<Logger, 'info' | 'warn' | 'error'>, report: AttemptReport): void {
  const { deliveryId: delivery, endpointId: endpoint, attempt, status, problem, disabled } = report;
  const facts = { delivery, endpoint, attempt };
  if (report.secretsLost > 0)
    log.error(facts, 'a webhook secret can not be opened: put its key back into KEYRING, or rotate it');
  else if (problem === 'secret_unavailable') log.error(facts, 'a webhook has no secret to be signed with');
  if (problem === 'body_unavailable') log.error(facts, 'the body of a webhook can not be made');
  if (status !== null && status >= 400 && status < 500 && !SPOKEN.has(status))
    log.warn({ ...facts, status }, 'a webhook receiver refuses');
  if (disabled !== null) log.warn({ endpoint, reason: disabled }, 'a webhook endpoint was disabled');
  if (report.state === 'failed' && report.outcome === 'failed')
    log.warn({ ...facts, status, problem }, 'a webhook was given up after its last attempt');
}
