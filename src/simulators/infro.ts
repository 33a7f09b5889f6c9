/** INFRO's simulator: API v1 as its documentation shows it (providers.md §2), and as src/providers/infro.ts assumes. */
import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { answerCancel, answerObserve, pageOf } from './answers.ts';
import { outputUrls } from './files.ts';
import { hasKey, jsonBody, sendJson, textIn, type Answer, type Exchange } from './http.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { isEnded, isExpired, seconds, type Job, type JobState } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const COST_PER_SECOND = 0.05;
const DEFAULT_DURATION_SECONDS = 5;
const MAX_PAGE = 100;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'canceled',
};

/** The body of `POST /v1/videos`. */
const videoRequest = z.strictObject({
  model: z.string().regex(/^m-[a-z0-9-]{1,60}$/),
  prompt: z.string().min(1).max(4_000),
  duration_seconds: z.int().min(1).max(60).optional(),
  webhook: z.strictObject({ url: z.url({ protocol: /^https?$/ }) }).optional(),
});

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: string, type: string]>> = {
  unauthorized: [401, 'invalid_api_key', 'authentication_error'],
  no_such_route: [404, 'not_found', 'not_found_error'],
  no_such_job: [404, 'job_not_found', 'not_found_error'],
  unsupported_media_type: [415, 'unsupported_media_type', 'invalid_request_error'],
  invalid: [400, 'invalid_parameter', 'invalid_request_error'],
  content_rejected: [400, 'content_policy_violation', 'invalid_request_error'],
  rate_limited: [429, 'rate_limit_exceeded', 'rate_limit_error'],
  server_error: [503, 'internal_error', 'api_error'],
  refused: [400, 'invalid_parameter', 'invalid_request_error'],
  key_reuse: [400, 'idempotency_key_reuse', 'invalid_request_error'],
  key_in_progress: [400, 'idempotency_key_in_progress', 'invalid_request_error'],
  duplicate_id: [409, 'duplicate', 'invalid_request_error'],
};

/** INFRO's error envelope; branch on `error.code`, not on the status. */
function error({ kind, status, code, type, message = 'Something is wrong.' }: ApiError): Answer {
  const [usualStatus, usualCode, usualType] = ERRORS[kind];
  const envelope = { type: type ?? usualType, code: code ?? usualCode, message };
  return { status: status ?? usualStatus, body: { error: envelope } };
}

/** The first thing wrong with a body, as INFRO would name it. */
function validationError({ issues: [issue] }: z.ZodError): ApiError {
  const member = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys') {
    const message = `Unknown parameter: ${issue.keys.join(', ')}.`;
    return { kind: 'invalid', code: 'unknown_parameter', message };
  }
  if (member === 'model') {
    return { kind: 'invalid', code: 'model_not_found', message: 'This model does not exist.' };
  }
  return { kind: 'invalid', message: `Parameter ${member || 'body'} is missing or invalid.` };
}

function errorOf(job: Job): string | null {
  return job.state === 'moderated' ? 'content_policy_violation' : job.errorCode;
}

/** A job as INFRO shows it: unix seconds, `output` null after its expiry, a cost on success only. */
function infroJob(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const [url] = outputUrls(baseUrl, job);
  const expiresAt = seconds(job.expiresAtMs);
  const empty = job.state === 'succeeded' && job.output === 'empty' && !isExpired(job) ? {} : null;
  const code = errorOf(job);
  return {
    id: job.id,
    object: 'job',
    model: job.model,
    status,
    created_at: seconds(job.createdAtMs),
    started_at: seconds(job.startedAtMs),
    completed_at: seconds(job.completedAtMs),
    expires_at: expiresAt,
    output: url === undefined ? empty : { url, expires_at: expiresAt, content_type: 'video/mp4' },
    error: code === null ? null : { code, message: 'The render failed.' },
    usage: {
      cost: job.state === 'succeeded' ? Math.round(job.durationSeconds * COST_PER_SECOND * 100) / 100 : null,
    },
  };
}

/** `INFRO-Signature`: one v1 per active secret, over `"{t}." + body`, keyed with the whole secret string. */
export function signInfro(
  body: Buffer,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  const t = Math.floor(atMs / 1_000);
  const signed = Buffer.concat([Buffer.from(`${t}.`), body]);
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`,
  );
  return { 'infro-signature': [`t=${t}`, ...signatures].join(',') };
}

/** `POST /v1/videos`. */
function submission(exchange: Exchange, keys: IdempotencyKeys, jobJson: Protocol['jobJson']): Submission {
  const header = exchange.headers['idempotency-key'];
  const key = typeof header === 'string' && header !== '' ? header : null;
  return {
    idempotency: { keys, key },
    read() {
      if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
        return { error: { kind: 'unsupported_media_type' } };
      }
      if (key !== null && key.length > 255) {
        return {
          error: { kind: 'invalid', code: 'idempotency_key_invalid', message: 'The key is too long.' },
        };
      }
      const request = videoRequest.safeParse(jsonBody(exchange));
      if (!request.success) return { error: validationError(request.error) };
      const { model, prompt, duration_seconds, webhook } = request.data;
      return {
        job: {
          id: `job_${randomUUID().replaceAll('-', '')}`,
          model,
          prompt,
          media: 'video',
          outputCount: 1,
          durationSeconds: duration_seconds ?? DEFAULT_DURATION_SECONDS,
          webhookUrl: webhook?.url ?? null,
          idempotencyKey: key,
          externalId: null,
        },
      };
    },
    accepted: (job) => ({
      status: 202,
      body: { ...(jobJson(job, 'queued') as object), output: null },
    }),
    withoutId: { status: 202, body: { status: 'queued' } },
  };
}

/** `GET /v1/jobs?status=…&limit=…&after=…`, newest first. */
function listJobs(exchange: Exchange, context: SimulatorContext, jobJson: Protocol['jobJson']): void {
  context.journal.count('lists');
  const query = exchange.url.searchParams;
  const limit = Number(query.get('limit') ?? 20);
  const statuses = query.getAll('status');
  const known = new Set(Object.values(STATUS));
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE || !statuses.every((s) => known.has(s))) {
    return sendApiError(exchange, context, {
      kind: 'invalid',
      message: 'Parameter limit or status is invalid.',
    });
  }
  const fitting = context.jobs
    .all()
    .filter((job) => statuses.length === 0 || statuses.includes(STATUS[job.state]));
  const found = pageOf(fitting, query.get('after'), limit);
  if (found === null) return sendApiError(exchange, context, { kind: 'invalid', code: 'invalid_cursor' });
  const { page, next } = found;
  sendJson(exchange, 200, {
    data: page.map((job) => jobJson(job)),
    has_more: next !== null,
    next_cursor: next,
  });
}

function create(context: SimulatorContext): Protocol {
  const { jobs } = context;
  const keys = new IdempotencyKeys(context.options.idempotencyTtlMs);
  const jobJson = (job: Job, status?: string) => infroJob(job, context.baseUrl, status);
  const show = (job: Job, status?: string): Answer => ({ status: 200, body: jobJson(job, status) });

  return {
    handle(exchange) {
      const { method, url } = exchange;
      const [, id, action] = /^\/v1\/jobs\/([^/]+)(\/cancel)?$/.exec(url.pathname) ?? [];
      const job = id === undefined ? undefined : jobs.get(id);
      if (id !== undefined && method === 'GET' && action === undefined)
        return answerObserve(exchange, context, job, show);
      // It ends the tracking only: the render goes on, and its end still shows in the journal.
      if (id !== undefined && method === 'POST' && action !== undefined)
        return answerCancel(exchange, context, job, { end: (open) => jobs.end(open, 'cancelled'), show });
      if (url.pathname === '/v1/videos' && method === 'POST')
        return answerSubmit(exchange, context, submission(exchange, keys, jobJson));
      if (url.pathname === '/v1/jobs' && method === 'GET') return listJobs(exchange, context, jobJson);
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type = `job.${STATUS[job.state]}`, id = `evt_${randomUUID().replaceAll('-', '')}`) {
      const event = { id, type, created_at: Math.floor(Date.now() / 1_000), data: jobJson(job) };
      return { id, type, body: Buffer.from(JSON.stringify(event)) };
    },
    callbackHeaders: ({ body }, _job, secrets, atMs) => signInfro(body, secrets, atMs),
    reset: () => keys.clear(),
  };
}

export const infroSimulator: ProviderSimulator = {
  name: 'infro',
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'prompt'),
  error,
  create,
};
