/** MiniMax's simulator: video generation version 2 as its own pages show it (create, query, delete, error codes). */
import { randomInt, randomUUID } from 'node:crypto';
import { answerCancel, answerObserve } from './answers.ts';
import { outputUrls, refreshLinks } from './files.ts';
import { hasKey, jsonBody, textIn, type Answer, type Exchange } from './http.ts';
import { seconds, type Job, type JobState } from './jobs.ts';
import { MinimaxChallenges } from './minimax-challenge.ts';
import { minimaxRequest } from './minimax-requests.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError, type Submission } from './submit.ts';

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'cancelled',
};

const BAD_REQUEST = 'bad_request_error';
const ERRORS: Readonly<
  Record<ApiError['kind'], readonly [status: number, type: string, message: string, code: number]>
> = {
  unauthorized: [401, 'authorized_error', 'login fail: Please carry the API secret key', 1004],
  no_such_route: [404, 'not_found_error', 'page not found', 2013],
  no_such_job: [400, BAD_REQUEST, 'invalid params, invalid task_id', 2013],
  unsupported_media_type: [400, BAD_REQUEST, 'invalid params, binding: expr_path=', 2013],
  invalid: [400, BAD_REQUEST, 'invalid params', 2013],
  content_rejected: [422, 'unprocessable_entity_error', 'video description contains sensitive content', 1026],
  rate_limited: [429, 'rate_limit_error', 'rate limit, please retry later', 1002],
  server_error: [500, 'server_error', 'internal error', 1000],
  refused: [400, BAD_REQUEST, 'invalid params', 2013],
  // There is no idempotency key and no external id.
  key_reuse: [400, BAD_REQUEST, 'invalid params', 2013],
  key_in_progress: [400, BAD_REQUEST, 'invalid params', 2013],
  duplicate_id: [400, BAD_REQUEST, 'invalid params', 2013],
};

/** `{type, error: {type, message, http_code}, request_id}`; the code stands at the end of the message. */
function error({ kind, status, code, type, message }: ApiError): Answer {
  const [usualStatus, usualType, text, usualCode] = ERRORS[kind];
  const named = code !== undefined && /^\d{1,6}$/.test(code) ? code : String(usualCode);
  const answered = status ?? usualStatus;
  const overloaded = kind === 'server_error' && answered === 529;
  const said = message === undefined ? text : `${text}, ${message}`;
  return {
    status: answered,
    body: {
      type: 'error',
      error: {
        type: type ?? (overloaded ? 'overloaded_error' : usualType),
        message: `${said} (${named})`,
        http_code: String(answered),
      },
      request_id: randomUUID().replaceAll('-', ''),
    },
  };
}

/** 15 digits, as MiniMax's ids are. */
const newId = () => `4${randomInt(1e7, 1e8)}${randomInt(1e5, 1e6)}`;

/** What the states add to a task: usage is told of a success only, an error of a failure. */
function outcomeOf(job: Job, baseUrl: string) {
  const [url = ''] = outputUrls(baseUrl, job);
  const usage = {
    total_seconds: job.durationSeconds,
    input_seconds: 0,
    output_seconds: job.durationSeconds,
    input_image_count: job.extra?.['images'],
  };
  switch (job.state) {
    case 'succeeded':
      return { content: job.output === 'null' ? null : { url }, usage };
    case 'failed':
      return { error: { code: job.errorCode, message: 'The task failed.' }, usage: {} };
    case 'moderated':
      return { error: { code: '1027', message: 'video contains sensitive content' }, usage: {} };
    case 'queued':
    case 'running':
    case 'cancelled':
      return {};
  }
}

function minimaxTask(job: Job, baseUrl: string, status = STATUS[job.state]) {
  return {
    id: job.id,
    model: job.model,
    status,
    created_at: seconds(job.createdAtMs),
    updated_at: seconds(job.completedAtMs ?? job.startedAtMs ?? job.createdAtMs),
    ...outcomeOf(job, baseUrl),
    resolution: job.extra?.['resolution'],
    duration: job.durationSeconds,
    ratio: job.extra?.['ratio'],
    task_type: 'generation',
    modality: 'video',
  };
}

/** `POST /v2/video_generation`. */
function submission(exchange: Exchange): Submission {
  return {
    read() {
      if (exchange.headers['content-type']?.split(';')[0]?.trim() !== 'application/json') {
        return { error: { kind: 'unsupported_media_type' } };
      }
      const request = minimaxRequest(jsonBody(exchange));
      if ('problem' in request) return { error: { kind: 'invalid', message: request.problem } };
      const { model, prompt, durationSeconds, resolution, ratio, callbackUrl, images, imageUrl } = request;
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
          externalId: null,
          inputUrl: imageUrl,
          extra: { resolution, ratio, images },
        },
      };
    },
    accepted: (job) => ({ status: 200, body: { task_id: job.id } }),
    withoutId: { status: 200, body: {} },
  };
}

/** `DELETE /v2/video_generation/{id}`: cancels a queued task, removes one that has ended, refuses the others. */
function cancelTask(exchange: Exchange, context: SimulatorContext, job: Job | undefined): void {
  const { jobs } = context;
  const wasCancelled = job?.state === 'cancelled';
  const done = ({ id }: Job, action: string): Answer => ({
    status: 200,
    body: { task_id: id, action, status: action },
  });
  answerCancel(exchange, context, job, {
    end(open) {
      if (open.state === 'queued') jobs.stop(open);
    },
    show(found) {
      if (found.state === 'running' || wasCancelled) {
        return error({ kind: 'invalid', message: `task is ${found.state}` });
      }
      if (found.state === 'cancelled') return done(found, 'cancelled');
      found.deleted = true;
      return done(found, 'deleted');
    },
  });
}

function create(context: SimulatorContext): Protocol {
  const { jobs, options } = context;
  const challenges = new MinimaxChallenges(options.callbackTimeoutMs);
  const jobJson = (job: Job, status?: string) => ({ task: minimaxTask(job, context.baseUrl, status) });
  const show = (job: Job, status?: string): Answer => {
    refreshLinks(job, options.outputTtlMs);
    return { status: 200, body: jobJson(job, status) };
  };
  return {
    handle(exchange) {
      const { method, url } = exchange;
      const [, query, id] = /^\/v2\/(query\/)?video_generation(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
      const route = `${method} ${query ?? ''}`;
      if (id !== undefined && route === 'GET query/')
        return answerObserve(exchange, context, jobs.get(id), show);
      if (id !== undefined && route === 'DELETE ') return cancelTask(exchange, context, jobs.get(id));
      if (url.pathname === '/v2/video_generation' && method === 'POST')
        return answerSubmit(exchange, context, submission(exchange));
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    announces: () => true,
    event(job, type = STATUS[job.state], id = randomUUID()) {
      return { id, type, body: Buffer.from(JSON.stringify(jobJson(job, type))) };
    },
    mayCall: (url) => challenges.mayCall(url),
    callbackHeaders: () => ({}),
    reset: () => challenges.clear(),
  };
}

/** Checks a callback URL before its first event, as MiniMax does; nothing is signed. */
export const minimaxSimulator: ProviderSimulator = {
  name: 'minimax',
  defaults: { outputTtlMs: 3_600_000 },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'content', 0, 'text') || textIn(exchange, 'content', 1, 'text'),
  error,
  create,
};
