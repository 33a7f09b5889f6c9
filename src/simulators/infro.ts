import { setTimeout as sleep } from 'node:timers/promises';
import type { Protocol, RunningSimulator, SimulatorContext, SimulatorOptions } from './core.ts';
import { startSimulator } from './core.ts';
import { fileUrl } from './files.ts';
import { sendJson, type Exchange } from './http.ts';
import { sendError } from './infro-errors.ts';
import { infroEvent, InfroCallbacks, signInfro } from './infro-events.ts';
import { IdempotencyKeys } from './infro-idempotency.ts';
import { promptOf, submitVideo } from './infro-submit.ts';
import { isEnded, type Job } from './jobs.ts';

const COST_PER_SECOND = 0.05;
const HANG_MS = 120_000;
const MAX_PAGE = 100;
const STATUSES: ReadonlySet<string> = new Set(['queued', 'running', 'succeeded', 'failed', 'canceled']);

const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** A job as INFRO shows it: unix seconds, `output` null after its expiry, a cost on success only. */
function infroJobJson(job: Job, baseUrl: string) {
  const expired = job.expiresAtMs !== null && Date.now() >= job.expiresAtMs;
  const link = {
    url: fileUrl(baseUrl, job),
    expires_at: seconds(job.expiresAtMs),
    content_type: 'video/mp4',
  };
  const output = job.output === 'link' ? link : job.output === 'empty' ? {} : null;
  return {
    id: job.id,
    object: 'job',
    model: job.model,
    status: job.status,
    created_at: seconds(job.createdAtMs),
    started_at: seconds(job.startedAtMs),
    completed_at: seconds(job.completedAtMs),
    expires_at: seconds(job.expiresAtMs),
    output: job.status === 'succeeded' && !expired ? output : null,
    error: job.errorCode === null ? null : { code: job.errorCode, message: 'The render failed.' },
    usage: {
      cost: job.status === 'succeeded' ? Math.round(job.durationSeconds * COST_PER_SECOND * 100) / 100 : null,
    },
  };
}

function observeJob(exchange: Exchange, context: SimulatorContext, job: Job | undefined): void {
  context.journal.count('observes');
  if (job === undefined) return noSuchJob(exchange);
  job.journal.observes++;
  const json = infroJobJson(job, context.baseUrl);
  const fault = context.faults.take(
    job.prompt,
    'observe_5xx',
    'observe_404',
    'observe_hang',
    'unknown_status',
  );
  switch (fault?.kind) {
    case undefined:
      return sendJson(exchange, 200, json);
    case 'observe_5xx':
      return sendError(exchange, fault.status, 'internal_error', 'Something went wrong.', 'api_error');
    case 'observe_404':
      return noSuchJob(exchange);
    case 'observe_hang':
      setTimeout(() => exchange.response.destroy(), HANG_MS).unref();
      return;
    case 'unknown_status':
      return sendJson(exchange, 200, { ...json, status: fault.status });
  }
}

/** Ends the tracking only: the render goes on, and its end still shows in the journal. */
function cancelJob(exchange: Exchange, context: SimulatorContext, job: Job | undefined): void {
  context.journal.count('cancels');
  if (job === undefined) return noSuchJob(exchange);
  job.journal.cancels++;
  const fault = context.faults.take(job.prompt, 'cancel_5xx', 'cancel_succeeded');
  if (fault?.kind === 'cancel_5xx') {
    return sendError(exchange, fault.status, 'internal_error', 'Something went wrong.', 'api_error');
  }
  if (fault?.kind === 'cancel_succeeded') context.jobs.finish(job);
  if (!isEnded(job.status)) context.jobs.end(job, 'canceled');
  sendJson(exchange, 200, infroJobJson(job, context.baseUrl));
}

function noSuchJob(exchange: Exchange): void {
  sendError(exchange, 404, 'job_not_found', 'There is no such job.', 'not_found_error');
}

function listJobs(exchange: Exchange, { jobs, journal, baseUrl }: SimulatorContext): void {
  journal.count('lists');
  const query = exchange.url.searchParams;
  const limit = Number(query.get('limit') ?? 20);
  const statuses = query.getAll('status');
  const after = query.get('after');
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE || !statuses.every((s) => STATUSES.has(s))) {
    return sendError(exchange, 400, 'invalid_parameter', 'Parameter limit or status is invalid.');
  }
  const fitting = jobs.all().filter((job) => statuses.length === 0 || statuses.includes(job.status));
  const start = after === null ? 0 : fitting.findIndex((job) => job.id === after) + 1;
  if (after !== null && start === 0) return sendError(exchange, 400, 'invalid_cursor', 'Unknown cursor.');
  const page = fitting.slice(start, start + limit);
  const hasMore = start + limit < fitting.length;
  sendJson(exchange, 200, {
    data: page.map((job) => infroJobJson(job, baseUrl)),
    has_more: hasMore,
    next_cursor: hasMore ? page.at(-1)?.id : null,
  });
}

function createProtocol(context: SimulatorContext): Protocol {
  const { faults, jobs, journal, options } = context;
  const keys = new IdempotencyKeys(options.idempotencyTtlMs);
  const jobJson = (job: Job) => infroJobJson(job, context.baseUrl);
  const event: Protocol['event'] = (job, type, id) => infroEvent(jobJson, job, type, id);
  const callbacks = new InfroCallbacks(context, event);
  const submitHooks = {
    keys,
    jobJson,
    onAccepted: (job: Job) => callbacks.forge(job),
    firstCallback: (job: Job) =>
      Promise.race([
        callbacks.firstAttempt(job),
        sleep(options.callbackTimeoutMs, undefined, { ref: false }),
      ]),
  };

  return {
    handle(exchange) {
      const { method, url, headers } = exchange;
      const authorized = options.apiKeys.some((key) => headers.authorization === `Bearer ${key}`);
      const key = headers['idempotency-key'];
      const prompt = method === 'POST' ? promptOf(exchange) : '';
      journal.request({
        method,
        path: url.pathname,
        authorized,
        idempotency_key: typeof key === 'string' ? key : null,
        prompt: prompt === '' ? null : prompt,
      });
      if (!authorized) {
        journal.count('unauthorized');
        return sendError(exchange, 401, 'invalid_api_key', 'Unknown API key.', 'authentication_error');
      }
      const [, id, action] = /^\/v1\/jobs\/([^/]+)(\/cancel)?$/.exec(url.pathname) ?? [];
      const job = id === undefined ? undefined : jobs.get(id);
      if (id !== undefined && method === 'GET' && action === undefined)
        return observeJob(exchange, context, job);
      if (id !== undefined && method === 'POST' && action !== undefined)
        return cancelJob(exchange, context, job);
      if (url.pathname === '/v1/videos' && method === 'POST')
        return submitVideo(exchange, context, submitHooks);
      if (url.pathname === '/v1/jobs' && method === 'GET') return listJobs(exchange, context);
      return sendError(exchange, 404, 'not_found', 'There is no such route.', 'not_found_error');
    },
    jobJson,
    event,
    sign: signInfro,
    onEnded: (job) => callbacks.announce(job),
    reset: () => {
      keys.clear();
      faults.clear();
    },
  };
}

/** Starts INFRO's simulator on 127.0.0.1; every option has a default (help.ts). */
export function startInfroSimulator(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  return startSimulator('infro', options, createProtocol);
}
