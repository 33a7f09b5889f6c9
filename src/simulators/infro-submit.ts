import { setTimeout as sleep } from 'node:timers/promises';
import type { SimulatorContext } from './core.ts';
import { jsonBody, reset, sendBytes, type Exchange } from './http.ts';
import { sendError, validationError, videoRequest } from './infro-errors.ts';
import type { IdempotencyKeys, StoredAnswer } from './infro-idempotency.ts';
import type { Job } from './jobs.ts';

const DEFAULT_DURATION_SECONDS = 5;

/** What submit needs of the protocol around it. */
export interface SubmitHooks {
  readonly keys: IdempotencyKeys;
  jobJson(job: Job): unknown;
  onAccepted(job: Job): void;
  /** Resolves when the first callback of the job was answered, if one is on its way. */
  firstCallback(job: Job): Promise<void>;
}

/** The prompt of any body, so that faults can match even on a bad request. */
export function promptOf(exchange: Exchange): string {
  const body = jsonBody(exchange);
  if (typeof body !== 'object' || body === null || !('prompt' in body)) return '';
  return typeof body.prompt === 'string' ? body.prompt : '';
}

/** Faults of a gateway in front of the API: nothing is accepted. @returns true when it answered. */
function gatewayFault(exchange: Exchange, { faults }: SimulatorContext, prompt: string): boolean {
  const fault = faults.take(prompt, 'reset_before_accept', 'status_429', 'status_5xx', 'refuse', 'html');
  if (fault === undefined) return false;
  switch (fault.kind) {
    case 'reset_before_accept':
      reset(exchange);
      break;
    case 'status_429': {
      const { retry_after: retryAfter } = fault;
      const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      sendError(exchange, 429, 'rate_limit_exceeded', 'Too many requests.', 'rate_limit_error', headers);
      break;
    }
    case 'status_5xx':
      sendError(exchange, fault.status, 'internal_error', 'Something went wrong.', 'api_error');
      break;
    case 'refuse':
      sendError(exchange, fault.status, fault.code, 'Refused by a fault.', fault.type);
      break;
    case 'html':
      sendBytes(exchange, fault.status, 'text/html', Buffer.from('<html><body>Bad gateway</body></html>'));
      break;
  }
  return true;
}

/** Sends the 202, or what a fault makes of it; `first` is false for a replay. */
function sendAccepted(
  exchange: Exchange,
  { faults }: SimulatorContext,
  prompt: string,
  answer: StoredAnswer,
  first: boolean,
): void {
  const lost = first ? (['answer_lost_then_ok'] as const) : [];
  const fault = faults.take(prompt, 'reset_after_accept', 'status_5xx_after_accept', 'missing_id', ...lost);
  switch (fault?.kind) {
    case undefined:
      return sendBytes(exchange, answer.status, 'application/json', answer.bytes);
    case 'reset_after_accept':
    case 'answer_lost_then_ok':
      return reset(exchange);
    case 'status_5xx_after_accept':
      return sendError(exchange, fault.status, 'internal_error', 'Something went wrong.', 'api_error');
    case 'missing_id':
      return sendBytes(exchange, 202, 'application/json', Buffer.from('{"status":"queued"}'));
  }
}

async function accept(
  exchange: Exchange,
  context: SimulatorContext,
  hooks: SubmitHooks,
  key: string | null,
): Promise<void> {
  const request = videoRequest.safeParse(jsonBody(exchange));
  if (!request.success) {
    const { code, message } = validationError(request.error);
    return sendError(exchange, 400, code, message);
  }
  const entry = key === null ? null : hooks.keys.begin(key, exchange.body);
  const { model, prompt, duration_seconds, webhook } = request.data;
  const job = context.jobs.accept({
    model,
    prompt,
    durationSeconds: duration_seconds ?? DEFAULT_DURATION_SECONDS,
    webhookUrl: webhook?.url ?? null,
    idempotencyKey: key,
    requestBody: exchange.body.toString('utf8'),
  });
  // The first answer always says `queued`, also when a fault has rendered the job already.
  const accepted = Buffer.from(
    JSON.stringify({ ...(hooks.jobJson(job) as object), status: 'queued', output: null }),
  );
  const answer = { status: 202, bytes: accepted, jobId: job.id };
  hooks.onAccepted(job);
  await hooks.firstCallback(job);
  const slow = context.faults.take(prompt, 'slow_submit');
  if (slow !== undefined) await sleep(slow.ms, undefined, { ref: false });
  entry?.store(answer);
  return sendAccepted(exchange, context, prompt, answer, true);
}

/** `POST /v1/videos`. */
export async function submitVideo(
  exchange: Exchange,
  context: SimulatorContext,
  hooks: SubmitHooks,
): Promise<void> {
  const prompt = promptOf(exchange);
  context.journal.count('submits');
  if (gatewayFault(exchange, context, prompt)) return;
  if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
    return sendError(exchange, 415, 'unsupported_media_type', 'Send application/json.');
  }
  const header = exchange.headers['idempotency-key'];
  const key = typeof header === 'string' && header !== '' ? header : null;
  if (key === null) return accept(exchange, context, hooks, null);
  if (key.length > 255) {
    return sendError(
      exchange,
      400,
      'idempotency_key_invalid',
      'Idempotency-Key has more than 255 characters.',
    );
  }
  const verdict = hooks.keys.check(key, exchange.body);
  switch (verdict.kind) {
    case 'new':
      return accept(exchange, context, hooks, key);
    case 'reuse':
      return sendError(exchange, 400, 'idempotency_key_reuse', 'This key was used with another body.');
    case 'in_progress':
      return sendError(exchange, 400, 'idempotency_key_in_progress', 'The first request is still running.');
    case 'replay': {
      context.journal.count('replayed');
      const job = context.jobs.get(verdict.answer.jobId);
      if (job !== undefined) job.journal.submits++;
      return sendAccepted(exchange, context, prompt, verdict.answer, false);
    }
  }
}
