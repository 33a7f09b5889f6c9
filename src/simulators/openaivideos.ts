/**
 * The simulator of the OpenAI-Videos shape: OpenAI's Videos API as openai-node 7.59.0 knows it (providers.md §8), forms and
 * JSON. Without a public address nothing announces an end by itself: `POST /_sim/callback` sends the event of an account's
 * endpoint. As `aggregator` it adds what those add: `video_url`, `callback_url`, replayed idempotency keys. As `retrying` a
 * fault that answers with 5xx is its first upstream's, and what it shows is the second's 429.
 */
import { randomUUID } from 'node:crypto';
import { answerObserve, pageOf } from './answers.ts';
import { outputUrls, serveFile } from './files.ts';
import { hasKey, sendJson, type Answer, type Exchange } from './http.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { isEnded, seconds, type Job, type JobState } from './jobs.ts';
import { MEDIA } from './media/kinds.ts';
import { readVideosSubmit, videosBody, type VideosShape } from './openaivideos-request.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { standardWebhookHeaders } from './standard-webhooks.ts';
import { answerSubmit, sendApiError } from './submit.ts';

const PAGE = 20;
const MAX_PAGE = 100;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'cancelled',
};
const PROGRESS: Readonly<Record<JobState, number>> = {
  queued: 0,
  running: 50,
  succeeded: 100,
  failed: 50,
  moderated: 50,
  cancelled: 50,
};

type Wording = readonly [status: number, code: string | null, type: string];
const REQUEST = 'invalid_request_error';
const ERRORS: Readonly<Record<ApiError['kind'], Wording>> = {
  unauthorized: [401, 'invalid_api_key', REQUEST],
  no_such_route: [404, null, REQUEST],
  no_such_job: [404, null, REQUEST],
  unsupported_media_type: [415, 'unsupported_media_type', REQUEST],
  invalid: [400, 'invalid_value', REQUEST],
  content_rejected: [400, 'moderation_blocked', 'video_generation_user_error'],
  rate_limited: [429, 'rate_limit_exceeded', 'requests'],
  server_error: [500, null, 'server_error'],
  refused: [400, 'invalid_value', REQUEST],
  key_reuse: [400, 'idempotency_key_reuse', REQUEST],
  key_in_progress: [409, 'idempotency_key_in_progress', REQUEST],
  duplicate_id: [400, 'invalid_value', REQUEST],
};

/** `{error: {message, type, param, code}}`, always. */
function error({ kind, status, code, type, message = 'Something is wrong.' }: ApiError): Answer {
  const [usualStatus, usualCode, usualType] = ERRORS[kind];
  const envelope = { message, type: type ?? usualType, param: null, code: code ?? usualCode };
  return { status: status ?? usualStatus, body: { error: envelope } };
}

/** New API's error of a task, once all its upstreams were asked: the last one's status, none of its words. */
const LAST_UPSTREAM: Answer = {
  status: 429,
  body: { code: 'fail_to_fetch_task', message: 'All upstreams of this group are busy.', data: null },
};

function errorOf({ state, errorCode }: Job): { readonly code: string; readonly message: string } | null {
  if (state === 'moderated') {
    return { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' };
  }
  return state === 'failed' ? { code: errorCode ?? 'render_error', message: 'The video failed.' } : null;
}

/** The link of an aggregator; it stays when it is over. */
function linkOf(job: Job, baseUrl: string): object {
  if (job.state !== 'succeeded' || job.output === 'empty') return {};
  const [url = null] = outputUrls(baseUrl, { ...job, expiresAtMs: null });
  return { video_url: url };
}

function videoJson(job: Job, { baseUrl }: SimulatorContext, shape: VideosShape, status = STATUS[job.state]) {
  return {
    id: job.id,
    object: 'video',
    created_at: seconds(job.createdAtMs),
    status,
    completed_at: job.state === 'succeeded' ? seconds(job.completedAtMs) : null,
    error: errorOf(job),
    expires_at: seconds(job.expiresAtMs),
    model: job.model,
    progress: PROGRESS[job.state],
    prompt: job.prompt,
    remixed_from_video_id: null,
    seconds: String(job.durationSeconds),
    size: job.extra?.['size'],
    ...(shape === 'aggregator' ? linkOf(job, baseUrl) : {}),
  };
}

/** `GET …/content`: the file itself, with the faults of links. Other variants are pictures. */
function sendContent(
  exchange: Exchange,
  context: SimulatorContext,
  job: Job | undefined,
): void | Promise<void> {
  if (job === undefined) return sendApiError(exchange, context, { kind: 'no_such_job' });
  const variant = exchange.url.searchParams.get('variant') ?? 'video';
  const { extension } = MEDIA[job.media];
  if (variant !== 'video')
    return sendApiError(exchange, context, { kind: 'invalid', message: 'No such variant.' });
  const url = new URL(`/files/${job.id}/0.${extension}`, exchange.url);
  return serveFile({ ...exchange, url }, context);
}

/** `DELETE`: a finished video and its file are gone for good; an open one stays. */
function deleteVideo(exchange: Exchange, context: SimulatorContext, job: Job | undefined): void {
  if (job === undefined) return sendApiError(exchange, context, { kind: 'no_such_job' });
  if (!isEnded(job.state)) {
    return sendApiError(exchange, context, { kind: 'invalid', message: 'The video is not finished.' });
  }
  job.deleted = true;
  sendJson(exchange, 200, { id: job.id, object: 'video.deleted', deleted: true });
}

/** `GET /v1/videos?after=&limit=&order=`, newest first; nothing of ours is in it but the prompt. */
function listVideos(exchange: Exchange, context: SimulatorContext, jobJson: Protocol['jobJson']): void {
  context.journal.count('lists');
  const query = exchange.url.searchParams;
  const limit = Number(query.get('limit') ?? PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
    return sendApiError(exchange, context, { kind: 'invalid', message: "Invalid value for 'limit'." });
  }
  const all = query.get('order') === 'asc' ? context.jobs.all().toReversed() : context.jobs.all();
  const found = pageOf(all, query.get('after'), limit);
  if (found === null) return sendApiError(exchange, context, { kind: 'no_such_job' });
  const { page, next } = found;
  sendJson(exchange, 200, {
    object: 'list',
    data: page.map((job) => jobJson(job)),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: next !== null,
  });
}

function create(context: SimulatorContext, shape: VideosShape): Protocol {
  const keys = new IdempotencyKeys(context.options.idempotencyTtlMs);
  const jobJson = (job: Job, status?: string) => videoJson(job, context, shape, status);
  const show = (job: Job, status?: string): Answer => ({ status: 200, body: jobJson(job, status) });

  function submit(exchange: Exchange): void | Promise<void> {
    const key = exchange.headers['idempotency-key'];
    return answerSubmit(exchange, context, {
      read: () => readVideosSubmit(exchange, shape),
      accepted: (job) => show({ ...job, state: 'queued', expiresAtMs: null, errorCode: null }),
      withoutId: { status: 200, body: { object: 'video', status: 'queued', progress: 0 } },
      idempotency:
        shape !== 'aggregator'
          ? undefined
          : { keys, key: typeof key === 'string' && key !== '' ? key : null },
    });
  }

  return {
    handle(exchange) {
      const { method, url } = exchange;
      if (url.pathname === '/v1/videos' && method === 'POST') return submit(exchange);
      if (url.pathname === '/v1/videos' && method === 'GET') return listVideos(exchange, context, jobJson);
      const [, id, content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(url.pathname) ?? [];
      const job = id === undefined ? undefined : context.jobs.get(id);
      if (id !== undefined && content !== undefined && method === 'GET')
        return sendContent(exchange, context, job);
      if (id !== undefined && content === undefined && method === 'GET') {
        return answerObserve(exchange, context, job, show);
      }
      if (id !== undefined && content === undefined && method === 'DELETE')
        return deleteVideo(exchange, context, job);
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type = STATUS[job.state], id = `evt_${randomUUID().replaceAll('-', '')}`) {
      const event = {
        id,
        object: 'event',
        created_at: seconds(Date.now()),
        type: type.includes('.') ? type : `video.${type}`,
        data: { id: job.id },
      };
      return { id, type: event.type, body: Buffer.from(JSON.stringify(event)) };
    },
    callbackHeaders: ({ id, body }, _job, secrets, atMs) => standardWebhookHeaders(id, body, secrets, atMs),
    reset: () => keys.clear(),
  };
}

/** The simulator of one shape. */
export function videosSimulator(shape: VideosShape): ProviderSimulator {
  return {
    name: 'openaivideos',
    isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
    promptOf(exchange) {
      const body = videosBody(exchange);
      const prompt = typeof body === 'object' && body !== null && 'prompt' in body ? body.prompt : '';
      return typeof prompt === 'string' ? prompt : '';
    },
    error: (problem) =>
      shape === 'retrying' && problem.kind === 'server_error' ? LAST_UPSTREAM : error(problem),
    // OpenAI has no upstreams: what it refuses is refused.
    ...(shape === 'openai' ? { adapterSettings: () => ({ RETRIES_UPSTREAMS: 'false' }) } : {}),
    create: (context) => create(context, shape),
  };
}

export const openaivideosSimulator = videosSimulator('openai');
