/**
 * Simulator of Black Forest Labs' API v1 as the sources of src/providers/bfl.ts show it (providers.md §13). A video is on the
 * cluster `/us1`, where its polling URL points, and the plain path does not know it; an image is known at both. A submit
 * with a webhook is answered without a polling URL (AsyncWebhookResponse); its task is known at both too, for nobody could
 * look at it else. All looks are answered with 200. Webhooks are signed with the secret of their own submit; the
 * simulator's secrets sign only where a fault or a crafted callback names them.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { answerObserve } from './answers.ts';
import { bflRequest } from './bfl-requests.ts';
import { outputUrls } from './files.ts';
import { hasKey, jsonBody, textIn, type Answer, type Exchange } from './http.ts';
import { isEnded, isExpired, type Job, type JobState } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'Pending',
  running: 'Pending',
  succeeded: 'Ready',
  failed: 'Error',
  moderated: 'Request Moderated',
  // There is no cancel; a job that the control route has ended so.
  cancelled: 'Error',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: string, text: string]>> = {
  unauthorized: [403, '', 'Not authenticated'],
  no_such_route: [404, '', 'Not Found'],
  no_such_job: [200, '', ''],
  unsupported_media_type: [422, 'json_invalid', 'JSON decode error'],
  invalid: [422, 'missing', 'Field required'],
  content_rejected: [422, 'content_policy_violation', 'The prompt violated content policy'],
  rate_limited: [429, 'rate_limit_exceeded', 'Too many concurrent requests'],
  server_error: [503, '', 'Service temporarily unavailable'],
  refused: [422, 'invalid_request', 'Refused by a fault.'],
  key_reuse: [400, '', 'Not at this provider.'],
  key_in_progress: [400, '', 'Not at this provider.'],
  duplicate_id: [400, '', 'Not at this provider.'],
};

/** `{error, message, retry_after?}` where there is a code, `{detail}` where there is none. */
function error({ kind, status, code, message, retryAfter }: ApiError): Answer {
  if (kind === 'no_such_job')
    return { status: 200, body: { id: null, status: 'Task not found', result: null } };
  const [usualStatus, usualCode, usualText] = ERRORS[kind];
  const word = code ?? usualCode;
  const text = message ?? usualText;
  const wait = retryAfter === undefined ? {} : { retry_after: Number(retryAfter) };
  const body = word === '' ? { detail: text } : { error: word, message: text, ...wait };
  return { status: status ?? usualStatus, body };
}

/** What the answer to a submit tells of the price; a video's is settled with its result. */
const priceOf = ({ media, extra = {} }: Job) =>
  media === 'video'
    ? { cost: null }
    : { cost: extra['credits'], input_mp: extra['inputMp'], output_mp: extra['outputMp'] };

const PLAIN = '/v1/get_result';
const CLUSTER = '/us1';
/** Whether only its cluster knows the task. */
const isOnCluster = ({ media, webhookUrl }: Job): boolean => media === 'video' && webhookUrl === null;

function resultOf(job: Job, baseUrl: string): unknown {
  if (job.state !== 'succeeded' || job.output === 'null') return null;
  const [url] = outputUrls(baseUrl, job);
  const until = new Date(job.expiresAtMs ?? 0).toISOString();
  const sample = url === undefined ? {} : { sample: `${url}?se=${encodeURIComponent(until)}&sig=simulated` };
  return { ...sample, prompt: job.prompt, seed: 7, end_time: (job.completedAtMs ?? 0) / 1_000 };
}

/** A task as `get_result` shows it. */
function taskJson(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const error = job.state === 'failed' ? { error: job.errorCode ?? 'generation_failed' } : {};
  const settled = job.state === 'succeeded' && job.media === 'video' ? { cost: job.extra?.['credits'] } : {};
  const details = job.state === 'moderated' ? { 'Moderation Reasons': ['Safety Filter'] } : null;
  const progress = job.state === 'running' ? { progress: 0.5 } : {};
  return { id: job.id, status, result: resultOf(job, baseUrl), details, ...progress, ...error, ...settled };
}

/** `POST /v1/{model}`. */
function submission(exchange: Exchange, context: SimulatorContext, model: string): Submission {
  return {
    read() {
      if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
        return { error: { kind: 'unsupported_media_type' } };
      }
      const request = bflRequest(model, jsonBody(exchange));
      if (request === null) return { error: { kind: 'no_such_route' } };
      if ('problems' in request) {
        const [first] = request.problems;
        return { error: { kind: 'invalid', code: first?.type, message: first?.loc.join('.') ?? '' } };
      }
      return { job: { ...request, model, id: randomUUID(), idempotencyKey: null, externalId: null } };
    },
    accepted: (job) => ({
      status: 200,
      body:
        job.webhookUrl === null
          ? {
              id: job.id,
              polling_url: `${context.baseUrl}${isOnCluster(job) ? CLUSTER : ''}/v1/get_result?id=${job.id}`,
              ...priceOf(job),
            }
          : { id: job.id, status: 'Pending', webhook_url: job.webhookUrl, ...priceOf(job) },
    }),
    withoutId: { status: 200, body: { status: 'Pending' } },
  };
}

function create(context: SimulatorContext): Protocol {
  const { jobs } = context;
  const jobJson = (job: Job, status?: string) => taskJson(job, context.baseUrl, status);
  return {
    handle(exchange) {
      const { method, url } = exchange;
      if (method === 'GET' && [PLAIN, `${CLUSTER}${PLAIN}`].includes(url.pathname)) {
        const found = jobs.get(url.searchParams.get('id') ?? '');
        // "The specified task ID does not exist or has expired."
        const isGone =
          found === undefined || isExpired(found) || (url.pathname === PLAIN && isOnCluster(found));
        const job = isGone ? undefined : found;
        const show = (shown: Job, status?: string): Answer => ({ status: 200, body: jobJson(shown, status) });
        return answerObserve(exchange, context, job, show);
      }
      const [, model] = /^\/v1\/((?:flux-tools\/)?[a-z0-9][a-z0-9.-]*)$/.exec(url.pathname) ?? [];
      if (method === 'POST' && model !== undefined) {
        return answerSubmit(exchange, context, submission(exchange, context, model));
      }
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type = STATUS[job.state], id = randomUUID()) {
      const json = {
        ...taskJson(job, context.baseUrl, type),
        timestamp: new Date(job.completedAtMs ?? Date.now()).toISOString(),
      };
      return { id, type, body: Buffer.from(JSON.stringify(json)) };
    },
    callbackHeaders({ body }, job, secrets) {
      const own = job.extra?.['webhookSecret'];
      const secret = secrets === context.secrets ? own : secrets[0];
      if (typeof secret !== 'string' || typeof own !== 'string') return {};
      return { 'x-bfl-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
    },
  };
}

export const bflSimulator: ProviderSimulator = {
  name: 'bfl',
  defaults: { outputTtlMs: 600_000, callbackRetryMs: [1_000, 5_000, 30_000], callbackTimeoutMs: 30_000 },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys, '', 'x-key'),
  promptOf: (exchange) => textIn(exchange, 'prompt'),
  error,
  create,
};
