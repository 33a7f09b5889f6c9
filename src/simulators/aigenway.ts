/** Aigenway's simulator: API v1 as its pages and src/providers/aigenway.ts have it (providers.md §3). */
import { createHmac, randomInt, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { answerObserve } from './answers.ts';
import { outputUrls } from './files.ts';
import { hasKey, jsonBody, sendAnswer, textIn, type Answer, type Exchange } from './http.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { isEnded, type Job, type JobState } from './jobs.ts';
import { MEDIA, type MediaKind } from './media/kinds.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const DAY_MS = 86_400_000;
const UNITS_PER_SECOND = 5_000_000;
const DEFAULT_DURATION_SECONDS = 5;
const KEY = /^[A-Za-z0-9_:-]{1,255}$/;

/** What `GET /v1/methods?provider=` shows, by the upstream's name: the article's example and the Kling guide's models. */
const MODELS: Readonly<Record<string, readonly string[]>> = {
  kling: ['kling-v2-master'],
  kling_ai: ['kling-v1-6', 'kling-2.6', 'kling-v3', 'kling-v2-1-master', 'kling-v2-5-turbo'],
};

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'PENDING',
  running: 'PROCESSING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  moderated: 'FAILED',
  cancelled: 'CANCELLED',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: string]>> = {
  unauthorized: [401, 'invalid_api_key'],
  no_such_route: [404, 'invalid_request'],
  no_such_job: [404, 'task_not_found'],
  unsupported_media_type: [415, 'invalid_request'],
  invalid: [422, 'invalid_parameters'],
  content_rejected: [422, 'content_policy_violation'],
  rate_limited: [429, 'rate_limit_exceeded'],
  server_error: [503, 'internal_error'],
  refused: [422, 'invalid_parameters'],
  key_reuse: [422, 'idempotency_key_mismatch'],
  key_in_progress: [409, 'idempotency_key_in_use'],
  duplicate_id: [409, 'conflict'],
};

/** `{success: false, error: {code, message, details?, request_id}}` */
function error({ kind, status, code, message = 'Something is wrong.', retryAfter }: ApiError): Answer {
  const [usualStatus, usualCode] = ERRORS[kind];
  const details = retryAfter === undefined ? {} : { details: { retryAfterSeconds: Number(retryAfter) } };
  const envelope = { code: code ?? usualCode, message, ...details, request_id: `req_${randomUUID()}` };
  return { status: status ?? usualStatus, body: { success: false, error: envelope } };
}

const generationRequest = z.strictObject({
  provider: z.string().min(1),
  model: z.string().min(1),
  method: z.enum(['text_to_video', 'image_to_video', 'text_to_image']),
  params: z.looseObject({
    prompt: z.string().min(1).max(4_000),
    duration: z.int().min(1).max(60).optional(),
    duration_seconds: z.int().min(1).max(60).optional(),
    input_images: z.array(z.url()).min(1).optional(),
  }),
  callback_url: z.url({ protocol: /^https?$/ }).optional(),
});

/** `cm` and 23 characters, as Aigenway's task ids look. */
function newTaskId(): string {
  const characters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return `cm${Array.from({ length: 23 }, () => characters[randomInt(characters.length)]).join('')}`;
}

const isoTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** The files with the first of them repeated; the links are over after `available_until`, the record stays. */
function resultOf(job: Job, baseUrl: string) {
  if (job.state !== 'succeeded' || job.output === 'null') return null;
  const { type } = MEDIA[job.media];
  const shared = { type: job.media, mime_type: type, available_until: isoTime(job.expiresAtMs) };
  if (job.output === 'empty') return { ...shared, url: null, files: [] };
  // The links stay in the record when they are over.
  const urls = outputUrls(baseUrl, { ...job, expiresAtMs: null });
  const files = urls.map((url) => ({ ...shared, url }));
  return { ...files[0], files };
}

function errorOf(job: Job): string | null {
  return job.state === 'moderated' ? 'content_policy_violation' : job.errorCode;
}

const unitsOf = (job: Job): string => String(job.durationSeconds * UNITS_PER_SECOND * job.outputCount);

/** A task as `GET /v1/tasks/{id}` shows it. */
function taskJson(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const code = errorOf(job);
  return {
    id: job.id,
    status,
    mode: 'ASYNC',
    reserved_amount: unitsOf(job),
    result: resultOf(job, baseUrl),
    error_code: code,
    error_message: code === null ? null : 'The task failed.',
    created_at: isoTime(job.createdAtMs),
    started_at: isoTime(job.startedAtMs),
    finished_at: isoTime(job.completedAtMs),
  };
}

/** The webhook's body: another shape of the same task, with a lower-case status. */
function eventJson(job: Job, baseUrl: string, status = STATUS[job.state].toLowerCase()) {
  const code = errorOf(job);
  return {
    event: 'generation.completed',
    task_id: job.id,
    status,
    model: job.model,
    charged_amount: job.state === 'succeeded' ? unitsOf(job) : '0',
    currency: 'USD',
    result: resultOf(job, baseUrl),
    error: code === null ? null : { code, message: 'The task failed.' },
  };
}

/** `POST /v1/generations`. */
function submission(exchange: Exchange, keys: IdempotencyKeys): Submission {
  const header = exchange.headers['idempotency-key'];
  const key = typeof header === 'string' && header !== '' ? header : null;
  const accepted = { success: true, mode: 'async', status: 'PENDING', currency: 'USD', message: 'Accepted.' };
  return {
    idempotency: { keys, key },
    read() {
      // The service answers a malformed key like one that is in use.
      if (key !== null && !KEY.test(key)) return { error: { kind: 'key_in_progress' } };
      const request = generationRequest.safeParse(jsonBody(exchange));
      if (!request.success)
        return { error: { kind: 'invalid', message: request.error.issues[0]?.message ?? '' } };
      const { model, method, params, callback_url: callbackUrl } = request.data;
      const { prompt, duration, duration_seconds: durationSeconds } = params;
      const media: MediaKind = method === 'text_to_image' ? 'image' : 'video';
      return {
        job: {
          id: newTaskId(),
          model,
          prompt,
          media,
          outputCount: 1,
          durationSeconds: duration ?? durationSeconds ?? DEFAULT_DURATION_SECONDS,
          webhookUrl: callbackUrl ?? null,
          idempotencyKey: key,
          externalId: null,
        },
      };
    },
    accepted: (job) => ({
      status: 202,
      body: { ...accepted, task_id: job.id, reserved_amount: unitsOf(job) },
    }),
    withoutId: { status: 202, body: accepted },
  };
}

/** `GET /v1/methods?provider=`: a row for every model and method. */
function methodList(provider: string): Answer {
  const items = (MODELS[provider] ?? []).flatMap((model) =>
    ['text_to_video', 'image_to_video'].map((method) => ({
      provider,
      model,
      method,
      public_name: `${model} ${method}`,
      supports_sync: false,
      supports_async: true,
    })),
  );
  return { status: 200, body: { success: true, items } };
}

function create(context: SimulatorContext): Protocol {
  const keys = new IdempotencyKeys(context.options.idempotencyTtlMs);
  const jobJson = (job: Job, status?: string) => taskJson(job, context.baseUrl, status);
  return {
    handle(exchange) {
      const { method, url } = exchange;
      const [, id] = /^\/v1\/(?:tasks|generations)\/([^/]+)$/.exec(url.pathname) ?? [];
      if (id !== undefined && method === 'GET') {
        return answerObserve(exchange, context, context.jobs.get(id), (job, status) => ({
          status: 200,
          body: { success: true, task: jobJson(job, status) },
        }));
      }
      if (url.pathname === '/v1/methods' && method === 'GET')
        return sendAnswer(exchange, methodList(url.searchParams.get('provider') ?? ''));
      if (url.pathname === '/v1/generations' && method === 'POST')
        return answerSubmit(exchange, context, submission(exchange, keys));
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type, id = randomUUID()) {
      const json = eventJson(job, context.baseUrl, type);
      return { id, type: json.status, body: Buffer.from(JSON.stringify(json)) };
    },
    // One secret signs at a time; a new one replaces the old one at once.
    callbackHeaders: ({ body }, job, [secret = '']) => ({
      'x-aggregator-event': 'generation.completed',
      'x-aggregator-task-id': job.id,
      'x-aggregator-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    }),
    reset: () => keys.clear(),
  };
}

export const aigenwaySimulator: ProviderSimulator = {
  name: 'aigenway',
  defaults: { outputTtlMs: 30 * DAY_MS },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'params', 'prompt'),
  error,
  filesNeedKey: true,
  create,
};
