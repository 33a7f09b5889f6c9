/** Runway's simulator: API version 2024-11-06 as its SDK and its pages show it (tasks, errors, task failures). */
import { randomUUID } from 'node:crypto';
import { answerCancel, answerObserve } from './answers.ts';
import { outputUrls, refreshLinks } from './files.ts';
import { hasKey, jsonBody, textIn, type Answer, type Exchange } from './http.ts';
import { isEnded, type Job, type JobState } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { runwayRequest } from './runway-requests.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const API_VERSION = '2024-11-06';
const DOC_URL = 'https://docs.dev.runwayml.com/api';

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  moderated: 'FAILED',
  cancelled: 'CANCELLED',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, error: string]>> = {
  unauthorized: [401, 'The API key that was provided is not valid.'],
  no_such_route: [404, 'This endpoint does not exist.'],
  no_such_job: [404, 'Task not found.'],
  unsupported_media_type: [415, 'Send application/json.'],
  invalid: [400, 'Validation of body failed'],
  content_rejected: [400, 'The input was flagged by our content moderation system.'],
  rate_limited: [429, 'You have reached your daily limit of generations.'],
  server_error: [503, 'The service is under heavy load.'],
  refused: [400, 'Validation of body failed'],
  key_reuse: [400, 'Validation of body failed'],
  key_in_progress: [409, 'Conflict'],
  duplicate_id: [409, 'Conflict'],
};

/** `{error, issues?, docUrl}`: a text for people; what is wrong with a body is in the issues. */
function error({ kind, status, code, message }: ApiError): Answer {
  const [usualStatus, text] = ERRORS[kind];
  const named = kind === 'invalid' || kind === 'refused';
  const issues = named
    ? { issues: [{ code: code ?? 'invalid_type', message: message ?? text, path: [] }] }
    : {};
  return { status: status ?? usualStatus, body: { error: text, ...issues, docUrl: DOC_URL } };
}

const creditsOf = (job: Job) => job.durationSeconds * 5;

/** What an ended task has cost: moderated input is not refunded, other failures are. */
function costOf(job: Job): number {
  return job.state === 'succeeded' || job.state === 'moderated' ? creditsOf(job) : 0;
}

/** A task as Runway shows it: what is told depends on its status. */
function runwayTask(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const cost = isEnded(job.state)
    ? { cost: { credits: costOf(job) } }
    : { estimatedCost: { credits: creditsOf(job) } };
  const task = { id: job.id, status, createdAt: new Date(job.createdAtMs).toISOString(), ...cost };
  switch (job.state) {
    case 'running':
      return { ...task, progress: 0.5 };
    case 'succeeded':
      return job.output === 'null' ? task : { ...task, output: outputUrls(baseUrl, job) };
    case 'failed':
      return { ...task, failure: 'The task failed.', failureCode: job.errorCode };
    case 'moderated':
      return { ...task, failure: 'The prompt was moderated.', failureCode: 'SAFETY.INPUT.TEXT' };
    case 'queued':
    case 'cancelled':
      return task;
  }
}

/** `POST /v1/{endpoint}`. */
function submission(exchange: Exchange, endpoint: string): Submission {
  return {
    read() {
      if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
        return { error: { kind: 'unsupported_media_type' } };
      }
      const request = runwayRequest(endpoint, jsonBody(exchange));
      if ('problem' in request) return { error: { kind: 'invalid', message: request.problem } };
      return {
        job: {
          ...request,
          id: randomUUID(),
          webhookUrl: null,
          idempotencyKey: null,
          externalId: null,
        },
      };
    },
    accepted: (job) => ({ status: 200, body: { id: job.id, estimatedCost: { credits: creditsOf(job) } } }),
    withoutId: { status: 200, body: {} },
  };
}

function create(context: SimulatorContext): Protocol {
  const { jobs, options } = context;
  const jobJson = (job: Job, status?: string) => runwayTask(job, context.baseUrl, status);
  const show = (job: Job, status?: string): Answer => {
    refreshLinks(job, options.outputTtlMs);
    return { status: 200, body: jobJson(job, status) };
  };
  // Whatever its state was, a task can't be fetched again after a DELETE, nor can its output.
  const forget = (job: Job): Answer => {
    job.deleted = true;
    return { status: 204, body: Buffer.alloc(0) };
  };

  return {
    handle(exchange) {
      const { method, url, headers } = exchange;
      if (headers['x-runway-version'] !== API_VERSION) {
        return sendApiError(exchange, context, { kind: 'invalid', message: 'X-Runway-Version is missing.' });
      }
      const [, id] = /^\/v1\/tasks\/([^/]+)$/.exec(url.pathname) ?? [];
      if (id !== undefined && method === 'GET') return answerObserve(exchange, context, jobs.get(id), show);
      if (id !== undefined && method === 'DELETE') {
        return answerCancel(exchange, context, jobs.get(id), {
          end: (open) => jobs.stop(open),
          show: forget,
        });
      }
      const [, endpoint] =
        /^\/v1\/(text_to_video|image_to_video|text_to_image|text_to_speech)$/.exec(url.pathname) ?? [];
      if (endpoint !== undefined && method === 'POST')
        return answerSubmit(exchange, context, submission(exchange, endpoint));
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: () => false,
    event: (job, type = STATUS[job.state], id = randomUUID()) => ({ id, type, body: Buffer.alloc(0) }),
    callbackHeaders: () => ({}),
  };
}

export const runwaySimulator: ProviderSimulator = {
  name: 'runway',
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'promptText'),
  error,
  create,
};
