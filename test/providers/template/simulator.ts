/** Tidewater's simulator: API v1. */
// [change] the pages that it follows; what they leave open is as the adapter assumes
import { createHmac, randomUUID } from 'node:crypto'; // [signed]
// [unsigned, none] import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { answerObserve } from '../../../src/simulators/answers.ts';
import { outputUrls } from '../../../src/simulators/files.ts';
import { hasKey, jsonBody, textIn, type Answer, type Exchange } from '../../../src/simulators/http.ts';
import { isEnded, isExpired, seconds, type Job, type JobState } from '../../../src/simulators/jobs.ts';
import type {
  ApiError,
  Protocol,
  ProviderSimulator,
  SimulatorContext,
} from '../../../src/simulators/protocol.ts';
import { answerSubmit, sendApiError, type Submission } from '../../../src/simulators/submit.ts';

const DEFAULT_DURATION_SECONDS = 5;
/** Credits of a second. */
const CREDITS = 4;

// [change] its word for each state of a job
const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  cancelled: 'cancelled',
};

// [change] the body of a submit, strictly as documented
const createRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1).max(4_000),
  duration: z.int().min(1).max(60).optional(),
  webhook_url: z.url({ protocol: /^https?$/ }).optional(), // [signed, unsigned]
});

// [change] its words for each kind of error; kinds that it can't have say anything
const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, code: string]>> = {
  unauthorized: [401, 'invalid_api_key'],
  no_such_route: [404, 'not_found'],
  no_such_job: [404, 'job_not_found'],
  unsupported_media_type: [415, 'unsupported_media_type'],
  invalid: [400, 'invalid_parameter'],
  content_rejected: [400, 'content_policy_violation'],
  rate_limited: [429, 'rate_limit_exceeded'],
  server_error: [503, 'internal_error'],
  refused: [400, 'invalid_parameter'],
  key_reuse: [400, 'invalid_parameter'],
  key_in_progress: [409, 'conflict'],
  duplicate_id: [409, 'conflict'],
};

/** The error envelope. */
function error({ kind, status, code, message = 'Something is wrong.' }: ApiError): Answer {
  const [usualStatus, usualCode] = ERRORS[kind];
  return { status: status ?? usualStatus, body: { error: { code: code ?? usualCode, message } } };
}

/** What the job made: null once it is over, or where a fault says so. */
function outputOf(job: Job, baseUrl: string): readonly string[] | null {
  return job.state !== 'succeeded' || job.output === 'null' || isExpired(job)
    ? null
    : outputUrls(baseUrl, job);
}

/** What it is billed: nothing before it has ended, nor for a job without output. */
// [change] what it bills, and when it tells that
function costOf({ state, durationSeconds }: Job): number | null {
  if (!isEnded(state)) return null;
  return state === 'succeeded' ? durationSeconds * CREDITS : 0;
}

/** A job as it is shown. */
// [change] the members of a job
function tidewaterJob(job: Job, baseUrl: string, status = STATUS[job.state]) {
  const code = job.state === 'moderated' ? 'content_policy_violation' : job.errorCode;
  return {
    id: job.id,
    status,
    created_at: seconds(job.createdAtMs),
    expires_at: seconds(job.expiresAtMs),
    output: outputOf(job, baseUrl),
    cost: costOf(job),
    error: code === null ? null : { code, message: 'The job failed.' },
  };
}

/** `POST /v1/jobs`. */
function submission(exchange: Exchange, jobJson: Protocol['jobJson']): Submission {
  return {
    read() {
      const request = createRequest.safeParse(jsonBody(exchange));
      if (!request.success) {
        return { error: { kind: 'invalid', message: request.error.issues[0]?.message ?? '' } };
      }
      const { model, prompt, duration, webhook_url: webhookUrl } = request.data; // [signed, unsigned]
      // [none] const { model, prompt, duration } = request.data;
      return {
        job: {
          id: `job_${randomUUID().replaceAll('-', '')}`,
          model,
          prompt,
          media: 'video',
          outputCount: 1,
          durationSeconds: duration ?? DEFAULT_DURATION_SECONDS,
          webhookUrl: webhookUrl ?? null, // [signed, unsigned]
          // [none] webhookUrl: null,
          idempotencyKey: null,
          externalId: null,
        },
      };
    },
    accepted: (job) => ({ status: 201, body: jobJson({ ...job, state: 'queued', errorCode: null }) }),
    withoutId: { status: 201, body: { status: 'queued' } },
  };
}

function create(context: SimulatorContext): Protocol {
  const jobJson = (job: Job, status?: string) => tidewaterJob(job, context.baseUrl, status);
  return {
    // [change] its routes; a cancel is answered by answerCancel (answers.ts)
    handle(exchange) {
      const { method, url } = exchange;
      const [, id] = /^\/v1\/jobs\/([^/]+)$/.exec(url.pathname) ?? [];
      if (id !== undefined && method === 'GET') {
        return answerObserve(exchange, context, context.jobs.get(id), (job, status) => ({
          status: 200,
          body: jobJson(job, status),
        }));
      }
      if (url.pathname === '/v1/jobs' && method === 'POST') {
        return answerSubmit(exchange, context, submission(exchange, jobJson));
      }
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    // <signed, unsigned>
    // [change] which states it announces, and how
    announces: (job) => isEnded(job.state),
    // </signed, unsigned>
    // [none] announces: () => false,
    event(job, type = STATUS[job.state], id = randomUUID()) {
      return { id, type, body: Buffer.from(JSON.stringify(jobJson(job, type))) };
    },
    // <signed>
    callbackHeaders({ body }, _job, secrets, atMs) {
      const t = Math.floor(atMs / 1_000);
      const digest = (secret: string) =>
        createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
      return {
        'tidewater-signature': [`t=${t}`, ...secrets.map((secret) => `v1=${digest(secret)}`)].join(','),
      };
    },
    // </signed>
    // [unsigned, none] callbackHeaders: () => ({}),
  };
}

export const tidewaterSimulator: ProviderSimulator = {
  name: 'tidewater',
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys),
  promptOf: (exchange) => textIn(exchange, 'prompt'),
  error,
  create,
};
