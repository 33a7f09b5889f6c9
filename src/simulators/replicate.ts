/**
 * Replicate's simulator: HTTP API v1 as its documentation and its SDK show it (providers.md §4). `aborted` is shown for a
 * cancelled job whose error code is `aborted` (POST /_sim/jobs/{id}). `Prefer: wait` and streams are not offered.
 */
import { randomUUID } from 'node:crypto';
import { answerCancel, answerObserve, pageOf } from './answers.ts';
import { outputUrls } from './files.ts';
import { hasKey, sendJson, textIn, type Answer, type Exchange } from './http.ts';
import { isEnded, isExpired, type Job, type JobState } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { readSubmit, submitPath } from './replicate-request.ts';
import { standardWebhookHeaders } from './standard-webhooks.ts';
import { answerSubmit, sendApiError } from './submit.ts';

const PAGE = 100;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'starting',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'canceled',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, title: string, detail: string]>> = {
  unauthorized: [401, 'Unauthenticated', 'You did not pass a valid authentication token'],
  no_such_route: [404, '', 'The requested resource could not be found.'],
  no_such_job: [404, '', 'The requested resource could not be found.'],
  unsupported_media_type: [415, '', 'Unsupported media type in request.'],
  invalid: [422, 'Input validation failed', '- input is invalid'],
  content_rejected: [422, 'Input validation failed', 'The input was flagged as sensitive. (E005)'],
  rate_limited: [429, '', 'Request was throttled. Your rate limit resets in ~30s.'],
  server_error: [503, 'Service unavailable', 'Something went wrong.'],
  refused: [422, 'Input validation failed', 'Refused by a fault.'],
  key_reuse: [400, '', 'Not at this provider.'],
  key_in_progress: [400, '', 'Not at this provider.'],
  duplicate_id: [400, '', 'Not at this provider.'],
};

/** Replicate's error envelope: `detail` always, `title` often. */
function error({ kind, status, code, message }: ApiError): Answer {
  const [usualStatus, usualTitle, detail] = ERRORS[kind];
  const title = code ?? usualTitle;
  const answered = status ?? usualStatus;
  const body = { ...(title === '' ? {} : { title }), detail: message ?? detail, status: answered };
  return { status: answered, body };
}

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

function errorOf({ state, errorCode }: Job): string | null {
  if (state === 'moderated') {
    return 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)';
  }
  return state === 'failed' ? `Prediction failed: ${errorCode ?? 'render_error'}` : null;
}

/** One file of a video or sound is a text, images are a list: as the models behind it return them. */
function outputOf(job: Job, baseUrl: string): unknown {
  const urls = outputUrls(baseUrl, job);
  if (job.state === 'succeeded' && job.output === 'empty' && !isExpired(job)) return [];
  if (urls.length === 0) return null;
  return job.media === 'image' ? urls : urls[0];
}

function seconds(fromMs: number | null, toMs: number | null): number | undefined {
  return fromMs === null || toMs === null ? undefined : (toMs - fromMs) / 1_000;
}

/** A prediction. After an hour (`outputTtlMs`) input, output, error and logs of a finished one are removed. */
function prediction(job: Job, baseUrl: string, status?: string) {
  const removed = isExpired(job);
  const url = `${baseUrl}/v1/predictions/${job.id}`;
  const shown = job.state === 'cancelled' && job.errorCode === 'aborted' ? 'aborted' : STATUS[job.state];
  return {
    id: job.id,
    model: job.model,
    version: job.extra?.['version'],
    input: removed ? {} : job.extra?.['input'],
    logs: removed || job.state === 'queued' ? null : progressBar(job.state === 'running' ? 50 : 100),
    output: outputOf(job, baseUrl),
    error: removed ? null : errorOf(job),
    data_removed: removed,
    status: status ?? shown,
    source: 'api',
    created_at: iso(job.createdAtMs),
    started_at: iso(job.startedAtMs),
    completed_at: iso(job.completedAtMs),
    metrics: {
      predict_time: seconds(job.startedAtMs, job.completedAtMs),
      total_time: seconds(job.createdAtMs, job.completedAtMs),
    },
    ...(job.webhookUrl === null
      ? {}
      : { webhook: job.webhookUrl, webhook_events_filter: job.extra?.['events'] }),
    urls: { get: url, cancel: `${url}/cancel` },
  };
}

function progressBar(percent: number): string {
  return `Loading\n${String(percent).padStart(3)}%|#####     | ${percent}/100 [00:01<00:01, 9.00it/s]\n`;
}

/** `GET /v1/predictions?cursor=…&created_after=…&created_before=…`, newest first, 100 a page. */
function listPredictions(exchange: Exchange, context: SimulatorContext): void {
  context.journal.count('lists');
  const query = exchange.url.searchParams;
  const cursor = query.get('cursor');
  const after = Date.parse(query.get('created_after') ?? '1970-01-01');
  const before = Date.parse(query.get('created_before') ?? '9999-12-31');
  const jobs = context.jobs.all().filter(({ createdAtMs }) => createdAtMs >= after && createdAtMs < before);
  const last = cursor === null ? null : Buffer.from(cursor, 'base64url').toString('latin1');
  const found = pageOf(jobs, last, PAGE);
  if (found === null)
    return sendApiError(exchange, context, { kind: 'no_such_job', message: 'Invalid cursor' });
  const next =
    found.next === null
      ? null
      : `${context.baseUrl}/v1/predictions?cursor=${Buffer.from(found.next).toString('base64url')}`;
  const results = found.page.map((job) => prediction(job, context.baseUrl));
  sendJson(exchange, 200, { previous: null, next, results });
}

/** Whether the filter of the submit asks for the event of this state. */
function announces({ state, extra }: Job): boolean {
  const events = extra?.['events'] as readonly string[];
  return isEnded(state) ? events.includes('completed') : state === 'running' && events.includes('start');
}

function create(context: SimulatorContext): Protocol {
  const { jobs } = context;
  const jobJson = (job: Job, status?: string) => prediction(job, context.baseUrl, status);
  const show = (job: Job, status?: string): Answer => ({ status: 200, body: jobJson(job, status) });

  return {
    handle(exchange) {
      const { method, url } = exchange;
      const path = method === 'POST' ? submitPath(url.pathname) : null;
      if (path !== null) {
        return answerSubmit(exchange, context, {
          read: () => readSubmit(exchange, path),
          accepted: (job) => {
            const open = { ...job, state: 'queued', startedAtMs: null, completedAtMs: null } as const;
            return { status: 201, body: jobJson(open) };
          },
          withoutId: { status: 201, body: { status: 'starting', output: null, error: null } },
        });
      }
      const [, id, action] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(url.pathname) ?? [];
      const job = id === undefined ? undefined : jobs.get(id);
      if (id !== undefined && method === 'GET' && action === undefined) {
        return answerObserve(exchange, context, job, show);
      }
      if (id !== undefined && method === 'POST' && action !== undefined) {
        return answerCancel(exchange, context, job, { end: (open) => jobs.stop(open), show });
      }
      if (method === 'GET' && url.pathname === '/v1/predictions') return listPredictions(exchange, context);
      if (method === 'GET' && url.pathname === '/v1/webhooks/default/secret') {
        return sendJson(exchange, 200, { key: context.secrets[0] });
      }
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces,
    event(job, type, id = `msg_${randomUUID().replaceAll('-', '')}`) {
      const body = jobJson(job, type);
      return { id, type: body.status, body: Buffer.from(JSON.stringify(body)) };
    },
    callbackHeaders: ({ id, body }, _job, secrets, atMs) => standardWebhookHeaders(id, body, secrets, atMs),
  };
}

export const replicateSimulator: ProviderSimulator = {
  name: 'replicate',
  defaults: {
    outputTtlMs: 3_600_000,
    webhookSecrets: [`whsec_${Buffer.from('secret of the simulator').toString('base64')}`],
    // About a minute after the end, then never again.
    callbackRetryMs: [1_000, 3_000, 8_000, 16_000, 32_000],
    callbackTimeoutMs: 5_000,
  },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'input', 'prompt') || textIn(exchange, 'input', 'text'),
  error,
  create,
};
