import { recordDeliveryAttempt } from '../db/index.ts';
import type { ClaimedDelivery, Db, DeliveryAttempt } from '../db/index.ts';
import type { FileLinks } from '../domain/file-links.ts';
import type { Keyring } from '../domain/keyring.ts';
import type { WebhookProblem } from '../domain/webhook-problem.ts';
import { jitteredSchedule, type WebhookTimings } from '../domain/webhook-schedule.ts';
import { openWebhookSecret } from '../domain/webhook-secret.ts';
import { webhookHeaders } from '../domain/webhook-signature.ts';
import type { OutboundHttp } from '../net/index.ts';
import { failedAttempt, judgeWebhookAnswer, type JudgedAttempt } from './judge-webhook-answer.ts';
import { makeWebhookBody } from './make-webhook-body.ts';

export { WEBHOOK_TIMINGS, type WebhookTimings } from '../domain/webhook-schedule.ts';

/** What a delivery needs. */
export interface DeliveryContext {
  readonly db: Db;
  readonly keyring: Keyring;
  readonly links: FileLinks;
  /** Guarded: the URL is a tenant's. */
  readonly http: Pick<OutboundHttp, 'request'>;
  /** `Darkroom/<version>` */
  readonly userAgent: string;
  readonly nowMs: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** How one attempt ended; no URL and nothing that was sent or answered is in it. */
export interface AttemptReport {
  readonly deliveryId: number;
  /** null = the callback_url of a generation. */
  readonly endpointId: string | null;
  /** null = it is about none (a test). */
  readonly generationId: string | null;
  readonly attempt: number;
  readonly durationMs: number;
  readonly outcome: DeliveryAttempt['outcome'];
  readonly status: number | null;
  readonly problem: WebhookProblem | null;
  /** What the delivery is now. */
  readonly state: 'pending' | 'delivered' | 'failed' | 'held' | 'cancelled';
  /** Why this attempt disabled the endpoint; null when it did not. */
  readonly disabled: 'gone' | 'failing' | null;
  /** Secrets that should sign but could not be opened: their key has left KEYRING. */
  readonly secretsLost: number;
}

/** An answer is kept up to here, for its tenant to see. */
const KEPT_ANSWER_BYTES = 20_000;

/**
 * One attempt at a claimed delivery: signed by all secrets that can be opened, sent once, its outcome recorded.
 * @throws the driver's error when the database is away: then the attempt counts as lost, and the lease brings the next
 */
export async function deliverWebhook(
  ctx: DeliveryContext,
  delivery: ClaimedDelivery,
  timings: WebhookTimings,
): Promise<AttemptReport> {
  const { deliveryId, attempt, endpointId } = delivery;
  const opened = delivery.secrets.map((sealed) => openWebhookSecret(ctx.keyring, delivery, sealed));
  const secrets = opened.filter((secret) => secret !== null);
  const startedMs = performance.now();
  const { answer, ...judged } = await attemptOnce(ctx, delivery, secrets, timings.timeoutMs);
  const durationMs = Math.round(performance.now() - startedMs);
  const { state, disabled } = await recordDeliveryAttempt(
    ctx.db,
    {
      ...judged,
      deliveryId,
      attempt,
      durationMs,
      delaysMs: jitteredSchedule(timings.scheduleMs, ctx.random),
      disableAfterMs: timings.disableAfterMs,
    },
    answer,
  );
  const { outcome, status, problem } = judged;
  const secretsLost = opened.length - secrets.length;
  const { generationId } = delivery;
  return {
    deliveryId,
    endpointId,
    generationId,
    attempt,
    durationMs,
    outcome,
    status,
    problem,
    state,
    disabled,
    secretsLost,
  };
}

async function attemptOnce(
  ctx: DeliveryContext,
  delivery: ClaimedDelivery,
  secrets: readonly string[],
  timeoutMs: number,
): Promise<JudgedAttempt> {
  // Unsigned it could not be told from a forgery.
  if (secrets.length === 0) return failedAttempt('secret_unavailable');
  const body = await makeWebhookBody(ctx, delivery);
  if (body === null) return failedAttempt('body_unavailable');
  const { eventId: id, attempt, url, endOn4xx } = delivery;
  const timestamp = Math.floor(ctx.nowMs() / 1_000);
  const answer = await ctx.http.request({
    method: 'POST',
    url,
    headers: webhookHeaders({ id, timestamp, body, secrets }, { attempt, userAgent: ctx.userAgent }),
    body,
    timeoutMs,
    cutAnswerAt: KEPT_ANSWER_BYTES,
  });
  return judgeWebhookAnswer(answer, { endOn4xx, nowMs: ctx.nowMs() });
}
