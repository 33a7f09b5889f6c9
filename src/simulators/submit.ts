import { setTimeout as sleep } from 'node:timers/promises';
import { reset, sendAnswer, sendBytes, type Answer, type Exchange } from './http.ts';
import type { IdempotencyKeys } from './idempotency.ts';
import { takeInput } from './inputs.ts';
import type { Job, JobRequest } from './jobs.ts';
import type { ApiError, SimulatorContext } from './protocol.ts';

/** What a submit needs of its protocol. */
export interface Submission {
  /** Reads the request: the job that it asks for, or what is wrong with it. */
  readonly read: () => { readonly job: JobRequest } | { readonly error: ApiError };
  /** The answer to a job just taken; it says "queued" also when a fault has rendered the job already. */
  readonly accepted: (job: Job) => Answer;
  /** The same answer without the job's id. */
  readonly withoutId: Answer;
  /** Where the provider replays keys, and this request has one. */
  readonly idempotency?: { readonly keys: IdempotencyKeys; readonly key: string | null } | undefined;
}

/** Sends the provider's own answer to what is wrong, with `Retry-After` if a time is known. */
export function sendApiError(exchange: Exchange, { provider }: SimulatorContext, error: ApiError): void {
  const answer = provider.error(error);
  const retryAfter = error.retryAfter === undefined ? {} : { 'retry-after': error.retryAfter };
  sendAnswer(exchange, { ...answer, headers: { ...retryAfter, ...answer.headers } });
}

/** Faults of a gateway in front of the API: nothing is accepted. @returns true when it answered */
function gatewayFault(exchange: Exchange, context: SimulatorContext, prompt: string): boolean {
  const fault = context.faults.take(
    prompt,
    ...(['reset_before_accept', 'status_429', 'status_5xx', 'refuse'] as const),
    ...(['refuse_content', 'error_in_200', 'html'] as const),
  );
  switch (fault?.kind) {
    case undefined:
      return false;
    case 'reset_before_accept':
      reset(exchange);
      break;
    case 'status_429': {
      const { retry_after: seconds } = fault;
      const retryAfter = seconds === undefined ? {} : { retryAfter: String(seconds) };
      sendApiError(exchange, context, { kind: 'rate_limited', ...retryAfter });
      break;
    }
    case 'status_5xx':
      sendApiError(exchange, context, { kind: 'server_error', status: fault.status });
      break;
    case 'refuse': {
      const { status, code, type } = fault;
      sendApiError(exchange, context, { kind: 'refused', status, code, type });
      break;
    }
    case 'refuse_content':
      sendApiError(exchange, context, { kind: 'content_rejected' });
      break;
    case 'error_in_200':
      sendErrorIn200(exchange, context);
      break;
    case 'html':
      sendBytes(exchange, fault.status, 'text/html', Buffer.from('<html><body>Bad gateway</body></html>'));
      break;
  }
  return true;
}

/** A server error's body under HTTP 200. */
export function sendErrorIn200(exchange: Exchange, { provider }: SimulatorContext): void {
  sendAnswer(exchange, { ...provider.error({ kind: 'server_error', status: 503 }), status: 200 });
}

/** Sends the answer of an acceptance, or what a fault makes of it; `first` is false for a replay. */
function sendAccepted(
  exchange: Exchange,
  context: SimulatorContext,
  { prompt, answer, withoutId, first }: AcceptedAnswer,
): void {
  const lost = first ? (['answer_lost_then_ok'] as const) : [];
  const kinds = ['reset_after_accept', 'status_5xx_after_accept', 'missing_id'] as const;
  const fault = context.faults.take(prompt, ...kinds, ...lost);
  switch (fault?.kind) {
    case undefined:
      return sendAnswer(exchange, answer);
    case 'reset_after_accept':
    case 'answer_lost_then_ok':
      return reset(exchange);
    case 'status_5xx_after_accept':
      return sendApiError(exchange, context, { kind: 'server_error', status: fault.status });
    case 'missing_id':
      return sendAnswer(exchange, withoutId);
  }
}

interface AcceptedAnswer {
  readonly prompt: string;
  readonly answer: Answer;
  readonly withoutId: Answer;
  readonly first: boolean;
}

/** A provider fetches what it was given in its own time, not before its answer. */
async function readInput(job: Job): Promise<void> {
  if (job.inputUrl !== undefined) job.journal.input = await takeInput(job.inputUrl);
}

async function accept(
  exchange: Exchange,
  context: SimulatorContext,
  { read, accepted, withoutId, idempotency }: Submission,
): Promise<void> {
  const found = read();
  if ('error' in found) return sendApiError(exchange, context, found.error);
  const key = idempotency?.key ?? null;
  const entry = key === null ? undefined : idempotency?.keys.begin(key, exchange.body);
  const job = context.jobs.accept(found.job, exchange.body.toString('utf8'));
  void readInput(job);
  const now = accepted(job);
  const answer =
    now.body instanceof Uint8Array ? now : { ...now, body: Buffer.from(JSON.stringify(now.body)) };
  await Promise.race([
    context.announcer.firstAttempt(job),
    sleep(context.options.callbackTimeoutMs, undefined, { ref: false }),
  ]);
  const slow = context.faults.take(job.prompt, 'slow_submit');
  if (slow !== undefined) await sleep(slow.ms, undefined, { ref: false });
  entry?.store({ answer, jobId: job.id });
  return sendAccepted(exchange, context, { prompt: job.prompt, answer, withoutId, first: true });
}

/** A submit with all its faults: of a gateway before it, of the answer after it; with replays where there are any. */
export function answerSubmit(
  exchange: Exchange,
  context: SimulatorContext,
  submission: Submission,
): void | Promise<void> {
  const prompt = context.provider.promptOf(exchange);
  context.journal.count('submits');
  if (gatewayFault(exchange, context, prompt)) return;
  const { keys, key = null } = submission.idempotency ?? {};
  if (keys === undefined || key === null) return accept(exchange, context, submission);
  const verdict = keys.check(key, exchange.body);
  switch (verdict.kind) {
    case 'new':
      return accept(exchange, context, submission);
    case 'reuse':
      return sendApiError(exchange, context, { kind: 'key_reuse' });
    case 'in_progress':
      return sendApiError(exchange, context, { kind: 'key_in_progress' });
    case 'replay': {
      context.journal.count('replayed');
      const { answer, jobId } = verdict.stored;
      const job = context.jobs.get(jobId);
      if (job !== undefined) job.journal.submits++;
      const { withoutId } = submission;
      return sendAccepted(exchange, context, { prompt, answer, withoutId, first: false });
    }
  }
}
