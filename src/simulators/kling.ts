/** Kling's simulator: generation 3.0 as its own pages show it (text-to-video, image-to-video, callbacks, error-codes). */
import { createHmac, randomInt, randomUUID } from 'node:crypto';
import { answerObserve, pageOf } from './answers.ts';
import { outputUrls } from './files.ts';
import { hasKey, jsonBody, sendAnswer, textIn, type Answer, type Exchange } from './http.ts';
import type { Job, JobState } from './jobs.ts';
import { klingRequest, listRequest } from './kling-requests.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const DAY_MS = 86_400_000;
const OUTPUT_TTL_MS = 30 * DAY_MS;
const UNITS_PER_SECOND = 0.6;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  // Kling has no cancel; only `POST /_sim/jobs/{id}` can bring a job here.
  cancelled: 'failed',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: number, message: string]>> = {
  unauthorized: [401, 1002, 'Authorization is invalid'],
  no_such_route: [404, 1202, 'The requested method is invalid'],
  no_such_job: [200, 0, 'SUCCEED'],
  unsupported_media_type: [400, 1200, 'Invalid request parameters'],
  invalid: [400, 1201, 'Invalid parameters'],
  content_rejected: [400, 1301, "Trigger the platform's content security policy"],
  rate_limited: [429, 1302, 'Too many requests'],
  server_error: [503, 5001, 'Server temporarily unavailable'],
  refused: [400, 1201, 'Invalid parameters'],
  key_reuse: [400, 1201, 'Invalid parameters'],
  key_in_progress: [400, 1201, 'Invalid parameters'],
  // The code is not documented; the text follows "must be unique within a single user account".
  duplicate_id: [400, 1201, 'external_task_id must be unique within a single user account'],
};
const SERVER_CODES: Readonly<Record<number, number>> = { 500: 5000, 503: 5001, 504: 5002 };

const envelope = (code: number, message: string, data?: unknown) => ({
  code,
  message,
  request_id: randomUUID(),
  ...(data === undefined ? {} : { data }),
});
const success = (data: unknown): Answer => ({ status: 200, body: envelope(0, 'SUCCEED', data) });

/** Kling's envelope; the code counts, not the HTTP status. A task that is not there is an empty list. */
function error({ kind, status, code, message }: ApiError): Answer {
  const [usualStatus, usualCode, usualMessage] = ERRORS[kind];
  if (kind === 'no_such_job') return success([]);
  const named = code !== undefined && /^\d{1,6}$/.test(code) ? Number(code) : undefined;
  const served = kind === 'server_error' && status !== undefined ? SERVER_CODES[status] : undefined;
  const body = envelope(named ?? served ?? usualCode, message ?? usualMessage);
  return { status: status ?? usualStatus, body };
}

/** 18 digits, as Kling's ids are. */
const newId = () => `8${randomInt(1e8, 1e9)}${randomInt(1e7, 1e8)}`;

function messageOf(job: Job): string {
  if (job.state === 'moderated') return 'Failure to pass the risk control system';
  return job.state === 'failed' ? `The generation failed: ${job.errorCode}` : '';
}

/** A task as Kling shows it: milliseconds; outputs are cleared 30 days after `update_time`. */
function klingTask(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const links = outputUrls(baseUrl, job);
  const seconds = String(job.durationSeconds);
  const endedMs = job.expiresAtMs === null ? job.completedAtMs : job.expiresAtMs - OUTPUT_TTL_MS;
  const charge = {
    charge_type: 'unit',
    amount: (job.durationSeconds * UNITS_PER_SECOND).toFixed(2),
    package_type: 'video',
  };
  return {
    id: job.id,
    status,
    message: messageOf(job),
    create_time: job.createdAtMs,
    update_time: endedMs ?? job.startedAtMs ?? job.createdAtMs,
    ...(job.externalId === null ? {} : { external_id: job.externalId }),
    outputs:
      job.output === 'null'
        ? null
        : links.map((url, n) => ({ type: 'video', id: `${job.id}${n}`, url, duration: seconds })),
    billing: job.state === 'succeeded' ? [charge] : [],
  };
}

/** Standard Webhooks headers, one `v1` per secret; the key is base64 after `whsec_`. */
export function signKling(
  id: string,
  body: Buffer,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** `POST /text-to-video/{model}` and `/image-to-video/{model}`. */
function submission(
  exchange: Exchange,
  { jobs, baseUrl }: SimulatorContext,
  method: string,
  model: string,
): Submission {
  const shown = (job: Job) => {
    const { id, create_time, update_time, ...task } = klingTask(job, baseUrl, STATUS.queued);
    const external = 'external_id' in task ? { external_id: task.external_id } : {};
    return { id, status: STATUS.queued, create_time, update_time, ...external };
  };
  return {
    read() {
      if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
        return { error: { kind: 'unsupported_media_type' } };
      }
      const request = klingRequest(method, jsonBody(exchange));
      if ('problem' in request) return { error: { kind: 'invalid', message: request.problem } };
      const { prompt, durationSeconds, callbackUrl, externalId, imageUrl } = request;
      if (externalId !== null && jobs.accepted().some((job) => job.externalId === externalId)) {
        return { error: { kind: 'duplicate_id' } };
      }
      return {
        job: {
          id: newId(),
          model,
          prompt,
          media: 'video',
          outputCount: 1,
          durationSeconds,
          webhookUrl: callbackUrl,
          idempotencyKey: null,
          externalId,
          inputUrl: imageUrl,
        },
      };
    },
    accepted: (job) => success(shown(job)),
    withoutId: success({ status: STATUS.queued }),
  };
}

/** `GET /tasks?task_ids=a,b` or `?external_task_ids=…`, never both. */
function queryTasks(exchange: Exchange, context: SimulatorContext, jobJson: Protocol['jobJson']): void {
  const { jobs, journal } = context;
  const query = exchange.url.searchParams;
  const own = query.get('task_ids');
  const external = query.get('external_task_ids');
  if ((own === null) === (external === null)) {
    return sendApiError(exchange, context, {
      kind: 'invalid',
      message: 'Give task_ids or external_task_ids',
    });
  }
  const wanted = (own ?? external ?? '').split(',');
  if (own !== null && wanted.length === 1) {
    return answerObserve(exchange, context, jobs.get(own), (job, status) => success([jobJson(job, status)]));
  }
  journal.count(own === null ? 'finds' : 'observes');
  const found = jobs.all().filter((job) => wanted.includes((own === null ? job.externalId : job.id) ?? ''));
  return sendAnswer(exchange, success(found.map((job) => jobJson(job))));
}

/** `POST /tasks`, newest first; the cursor is the last task of the page before. */
function listTasks(exchange: Exchange, context: SimulatorContext, jobJson: Protocol['jobJson']): void {
  context.journal.count('lists');
  const request = listRequest.safeParse(jsonBody(exchange));
  if (!request.success) return sendApiError(exchange, context, { kind: 'invalid' });
  const { cursor, limit, start_time: start, end_time: end, filters } = request.data;
  const since = start ?? Date.now() - 30 * DAY_MS;
  const statuses = filters.filter(({ key }) => key === 'status').flatMap(({ values }) => values);
  const fitting = context.jobs
    .all()
    .filter(
      ({ createdAtMs }) => cursor !== null || (createdAtMs >= since && createdAtMs <= (end ?? Infinity)),
    )
    .filter(({ state }) => statuses.length === 0 || statuses.includes(STATUS[state]));
  const found = pageOf(fitting, cursor, limit);
  if (found === null)
    return sendApiError(exchange, context, { kind: 'invalid', message: 'cursor is invalid' });
  const result = found.page.map((job) => jobJson(job));
  sendAnswer(
    exchange,
    success({
      result,
      count: result.length,
      has_more: found.next !== null,
      ...(found.next === null ? {} : { next_cursor: found.next }),
    }),
  );
}

function create(context: SimulatorContext): Protocol {
  const jobJson = (job: Job, status?: string) => klingTask(job, context.baseUrl, status);
  // Those it was started with are nobody's: Kling has none until one is made.
  const signs = () => context.secrets !== context.options.webhookSecrets;
  return {
    handle(exchange) {
      const { method, url } = exchange;
      const [, kind, model] =
        /^\/(text-to-video|image-to-video)\/(kling-[a-z0-9.-]{1,60})$/.exec(url.pathname) ?? [];
      if (method === 'POST' && kind !== undefined && model !== undefined)
        return answerSubmit(exchange, context, submission(exchange, context, kind, model));
      if (method === 'GET' && url.pathname === '/tasks') return queryTasks(exchange, context, jobJson);
      if (method === 'POST' && url.pathname === '/tasks') return listTasks(exchange, context, jobJson);
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: () => true,
    event(job, type = STATUS[job.state], id = String(randomInt(1e12, 1e14))) {
      return { id, type, body: Buffer.from(JSON.stringify(jobJson(job, type))) };
    },
    callbackHeaders: ({ id, body }, _job, secrets, atMs) =>
      signs() ? signKling(id, body, secrets, atMs) : {},
  };
}

/** Signs its callbacks from `POST /_sim/secrets` on, as Kling does once a webhook secret is made in its console. */
export const klingSimulator: ProviderSimulator = {
  name: 'kling',
  defaults: { outputTtlMs: OUTPUT_TTL_MS },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'prompt') || textIn(exchange, 'contents', 0, 'text'),
  error,
  create,
};
