/** Luma's simulator: Luma Agents, version 2026-04-01, as luma-agents 0.5.0 and its error handling page show it. */
import { randomUUID } from 'node:crypto';
import { answerObserve } from './answers.ts';
import { outputUrls, refreshLinks } from './files.ts';
import { hasKey, textIn, type Answer } from './http.ts';
import type { Job, JobState } from './jobs.ts';
import { readLumaSubmit } from './luma-requests.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError } from './submit.ts';

const VERSION = { 'x-api-version': '2026-04-01' };

/** No job of Luma is ever cancelled. */
const STATE: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'failed',
};

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, detail: string]>> = {
  unauthorized: [401, 'Missing or invalid API key'],
  no_such_route: [404, 'Not Found'],
  no_such_job: [404, 'Generation not found'],
  unsupported_media_type: [415, 'Unsupported media type'],
  invalid: [400, 'Invalid request'],
  // Not documented at submit; the words are those of a job's failure_reason.
  content_rejected: [400, 'The prompt was flagged by our content moderation system.'],
  rate_limited: [429, 'Rate limit exceeded'],
  server_error: [502, 'Upstream service unavailable'],
  refused: [400, 'Invalid request'],
  key_reuse: [400, 'Invalid request'],
  key_in_progress: [409, 'Conflict'],
  duplicate_id: [409, 'Conflict'],
};

/** `{detail}`: a text for people, and no code. */
function error({ kind, status, code, message }: ApiError): Answer {
  const [usualStatus, detail] = ERRORS[kind];
  return {
    status: status ?? usualStatus,
    headers: { ...VERSION, 'x-request-id': randomUUID() },
    body: { detail: message ?? code ?? detail },
  };
}

/** What ended it without output: the code, and a text for people. */
function failureOf(job: Job): readonly [code: string | null, reason: string | null] {
  if (job.state === 'moderated') {
    return ['content_moderated', 'Generation output was flagged by our content moderation system.'];
  }
  return job.errorCode === null ? [null, null] : [job.errorCode, 'Generation failed'];
}

/** A generation as Luma shows it. */
function generation(job: Job, baseUrl: string, state = STATE[job.state]) {
  const [code, reason] = failureOf(job);
  const gone = job.state === 'succeeded' && job.output === 'null';
  return {
    id: job.id,
    type: job.media,
    state,
    model: job.model,
    created_at: new Date(job.createdAtMs).toISOString(),
    output: gone ? null : outputUrls(baseUrl, job).map((url) => ({ type: job.media, url })),
    failure_reason: reason,
    failure_code: code,
  };
}

function create(context: SimulatorContext): Protocol {
  const { jobs, options } = context;
  const jobJson = (job: Job, state?: string) => generation(job, context.baseUrl, state);
  const answer = (status: number, body: unknown): Answer => ({ status, body, headers: VERSION });
  const show = (job: Job, state?: string): Answer => {
    refreshLinks(job, options.outputTtlMs);
    return answer(200, jobJson(job, state));
  };

  return {
    handle(exchange) {
      const { method, url } = exchange;
      const [, id] = /^\/v1\/generations\/([^/]+)$/.exec(url.pathname) ?? [];
      if (id !== undefined && method === 'GET') return answerObserve(exchange, context, jobs.get(id), show);
      if (url.pathname === '/v1/generations' && method === 'POST') {
        return answerSubmit(exchange, context, {
          read: () => readLumaSubmit(exchange),
          accepted: (job) => answer(201, jobJson({ ...job, state: 'queued', errorCode: null })),
          withoutId: answer(201, { state: 'queued' }),
        });
      }
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: () => false,
    event: (job, type = STATE[job.state], id = randomUUID()) => ({ id, type, body: Buffer.alloc(0) }),
    callbackHeaders: () => ({}),
  };
}

export const lumaSimulator: ProviderSimulator = {
  name: 'luma',
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'prompt'),
  error,
  create,
};
