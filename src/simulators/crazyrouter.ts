/**
 * Crazyrouter's simulator: the unified video format of its pages (providers.md §1). It keeps no idempotency keys, which is
 * the worst that its silence allows, and knows a `callback_url` for adapters that are configured to send one.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { answerObserve } from './answers.ts';
import { outputUrls } from './files.ts';
import { hasKey, jsonBody, textIn, type Answer, type Exchange } from './http.ts';
import { isEnded, seconds, type Job, type JobState } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const DEFAULT_DURATION_SECONDS = 5;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'processing',
  running: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'cancelled',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: string, type: string]>> = {
  unauthorized: [401, 'invalid_api_key', 'authentication_error'],
  no_such_route: [404, 'not_found', 'invalid_request_error'],
  no_such_job: [400, 'task_not_exist', 'task_error'],
  unsupported_media_type: [415, 'unsupported_media_type', 'invalid_request_error'],
  invalid: [400, 'invalid_request', 'invalid_request_error'],
  content_rejected: [400, 'sensitive_words_detected', 'invalid_request_error'],
  rate_limited: [429, 'rate_limit_exceeded', 'rate_limit_error'],
  server_error: [502, 'bad_response', 'upstream_error'],
  refused: [400, 'invalid_request', 'invalid_request_error'],
  key_reuse: [400, 'invalid_request', 'invalid_request_error'],
  key_in_progress: [400, 'invalid_request', 'invalid_request_error'],
  duplicate_id: [400, 'invalid_request', 'invalid_request_error'],
};

/** The task routes say `{code, message, data}`, all others `{error: {message, type, code}}`. */
function error({ kind, status, code, type, message = 'Something is wrong.' }: ApiError): Answer {
  const [usualStatus, usualCode, usualType] = ERRORS[kind];
  if (kind === 'no_such_job') {
    return { status: usualStatus, body: { code: usualCode, message: usualCode, data: null } };
  }
  const envelope = { message, type: type ?? usualType, code: code ?? usualCode };
  return { status: status ?? usualStatus, body: { error: envelope } };
}

const createRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1).max(4_000),
  duration: z.int().min(1).max(60).optional(),
  aspect_ratio: z.string().optional(),
  size: z.string().optional(),
  images: z.array(z.url()).min(1).optional(),
  callback_url: z.url({ protocol: /^https?$/ }).optional(),
});

/** A task as the query shows it. The link stays when it is over: how long it lives is not documented. */
function taskJson(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const [url] = outputUrls(baseUrl, { ...job, expiresAtMs: null });
  const code = job.state === 'moderated' ? 'content_policy_violation' : job.errorCode;
  const result =
    job.output === 'null' ? { video_url: null } : job.output === 'empty' ? {} : { video_url: url };
  return {
    id: job.id,
    status,
    status_update_time: seconds(job.completedAtMs ?? job.startedAtMs ?? job.createdAtMs),
    ...(job.state === 'succeeded' ? result : {}),
    ...(code === null ? {} : { error: { code, message: 'The task failed.' } }),
  };
}

/** `POST /v1/video/create`. */
function submission(exchange: Exchange, jobJson: Protocol['jobJson']): Submission {
  const key = exchange.headers['idempotency-key'];
  return {
    read() {
      const request = createRequest.safeParse(jsonBody(exchange));
      if (!request.success)
        return { error: { kind: 'invalid', message: request.error.issues[0]?.message ?? '' } };
      const { model, prompt, duration, callback_url: callbackUrl } = request.data;
      return {
        job: {
          id: `video_task_${randomUUID().replaceAll('-', '')}`,
          model,
          prompt,
          media: 'video',
          outputCount: 1,
          durationSeconds: duration ?? DEFAULT_DURATION_SECONDS,
          webhookUrl: callbackUrl ?? null,
          idempotencyKey: typeof key === 'string' ? key : null,
          externalId: null,
        },
      };
    },
    accepted: (job) => ({ status: 200, body: jobJson({ ...job, state: 'queued', errorCode: null }) }),
    withoutId: { status: 200, body: { status: 'processing' } },
  };
}

function create(context: SimulatorContext): Protocol {
  const jobJson = (job: Job, status?: string) => taskJson(job, context.baseUrl, status);
  return {
    handle(exchange) {
      const { method, url } = exchange;
      if (url.pathname === '/v1/video/query' && method === 'GET') {
        const job = context.jobs.get(url.searchParams.get('id') ?? '');
        return answerObserve(exchange, context, job, (found, status) => ({
          status: 200,
          body: jobJson(found, status),
        }));
      }
      if (url.pathname === '/v1/video/create' && method === 'POST')
        return answerSubmit(exchange, context, submission(exchange, jobJson));
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type = STATUS[job.state], id = randomUUID()) {
      return { id, type, body: Buffer.from(JSON.stringify(jobJson(job, type))) };
    },
    callbackHeaders: ({ body }, _job, [secret = '']) => ({
      'x-signature': createHmac('sha256', secret).update(body).digest('hex'),
    }),
  };
}

export const crazyrouterSimulator: ProviderSimulator = {
  name: 'crazyrouter',
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'prompt'),
  error,
  create,
};
