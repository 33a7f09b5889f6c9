/**
 * Simulator of fal's queue as its documentation and its SDK show it (providers.md §5). There is no failed or cancelled
 * status: COMPLETED may carry an error, and the result replays the model's HTTP error. A cancelled request ends with the
 * documented error type `client_cancelled` (how fal shows it is an assumption). Callbacks are signed with the key pair of the
 * first secret, for the account FAL_SIMULATOR_USER.
 */
import { createHash, sign } from 'node:crypto';
import { answerCancel, answerObserve } from './answers.ts';
import { ed25519Keys } from './ed25519.ts';
import { readSubmit, requestPath, submitPath } from './fal-request.ts';
import { outputUrls } from './files.ts';
import { hasKey, sendAnswer, sendJson, textIn, type Answer } from './http.ts';
import { isEnded, isExpired, type Job } from './jobs.ts';
import { MEDIA } from './media/kinds.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatorContext } from './protocol.ts';
import { answerSubmit, sendApiError } from './submit.ts';

/** The account's id in callbacks; what PROVIDER_FAL_USER_ID has to be. */
export const FAL_SIMULATOR_USER = 'github|simulator';

const ERRORS: Readonly<Record<ApiError['kind'], readonly [status: number, type: string, text: string]>> = {
  unauthorized: [401, '', 'Authentication is required to access this application.'],
  no_such_route: [404, '', 'Not Found'],
  no_such_job: [404, '', 'Request not found'],
  unsupported_media_type: [415, '', 'Unsupported media type'],
  invalid: [422, 'value_error', 'Field required'],
  content_rejected: [422, 'content_policy_violation', 'The content was flagged by a content checker.'],
  rate_limited: [429, '', 'Too many requests'],
  server_error: [503, 'internal_error', 'An unexpected internal error occurred.'],
  refused: [422, 'value_error', 'Refused by a fault.'],
  key_reuse: [400, '', 'Not at this provider.'],
  key_in_progress: [400, '', 'Not at this provider.'],
  duplicate_id: [400, '', 'Not at this provider.'],
};
/** The kinds that a model words: a list of typed errors. All others are fal's own: a text, and a type. */
const OF_THE_MODEL: ReadonlySet<ApiError['kind']> = new Set(['invalid', 'content_rejected', 'refused']);

function typedError(type: string, msg: string) {
  return { detail: [{ loc: ['body', 'prompt'], msg, type, url: `https://docs.fal.ai/errors/#${type}` }] };
}

function error({ kind, status, code, message }: ApiError): Answer {
  const [usualStatus, usualType, usualText] = ERRORS[kind];
  const type = code ?? usualType;
  const text = message ?? usualText;
  const own = { detail: text, ...(type === '' ? {} : { error_type: type }) };
  return { status: status ?? usualStatus, body: OF_THE_MODEL.has(kind) ? typedError(type, text) : own };
}

/** How a request ended that has no output. */
function problemOf({ state, errorCode }: Job): { readonly status: number; readonly type: string } | null {
  if (state === 'cancelled') return { status: 499, type: 'client_cancelled' };
  return state === 'failed' ? { status: 500, type: errorCode ?? 'runner_server_error' } : null;
}

function urlsOf(job: Job, baseUrl: string) {
  const url = `${baseUrl}/${String(job.extra?.['app'])}/requests/${job.id}`;
  return { response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

/** The state of a request; a moderated one is COMPLETED like any other, only its result tells. */
function stateOf(job: Job, baseUrl: string, status?: string) {
  const shown = isEnded(job.state) ? 'COMPLETED' : job.state === 'queued' ? 'IN_QUEUE' : 'IN_PROGRESS';
  const problem = problemOf(job);
  const failed = problem === null ? {} : { error: 'The request failed.', error_type: problem.type };
  const metrics = { inference_time: ((job.completedAtMs ?? 0) - (job.startedAtMs ?? 0)) / 1_000 };
  return {
    status: status ?? shown,
    request_id: job.id,
    ...urlsOf(job, baseUrl),
    ...(shown === 'IN_QUEUE' ? { queue_position: 0 } : { logs: [] }),
    ...(shown === 'COMPLETED' ? { metrics, ...failed } : {}),
  };
}

function outputOf(job: Job, baseUrl: string): unknown {
  if (job.output === 'null') return null;
  const { type, extension } = MEDIA[job.media];
  const files = outputUrls(baseUrl, job).map((url, n) => ({
    url,
    content_type: type,
    file_name: `${n}.${extension}`,
  }));
  if (job.media === 'image') {
    return { images: files, seed: 7, prompt: job.prompt, has_nsfw_concepts: files.map(() => false) };
  }
  return files.length === 0 ? {} : { [job.media]: files[0], seed: 7 };
}

/** `GET …/requests/{id}`: the model's output, or its error with the status that the model gave. */
function resultOf(job: Job, baseUrl: string): Answer {
  if (!isEnded(job.state)) return { status: 400, body: { detail: 'Request is still in progress' } };
  if (job.state === 'moderated') return error({ kind: 'content_rejected' });
  const problem = problemOf(job);
  if (problem !== null) {
    return { status: problem.status, body: { detail: 'The request failed.', error_type: problem.type } };
  }
  return isExpired(job) ? error({ kind: 'no_such_job' }) : { status: 200, body: outputOf(job, baseUrl) };
}

/** fal signs request id, account, time and the digest of the body, a line each; the signature is hex. */
function callbackHeaders(
  body: Buffer,
  job: Job,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const digest = createHash('sha256').update(body).digest('hex');
  const message = Buffer.from([job.id, FAL_SIMULATOR_USER, timestamp, digest].join('\n'));
  return {
    'x-fal-webhook-request-id': job.id,
    'x-fal-webhook-user-id': FAL_SIMULATOR_USER,
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': sign(null, message, ed25519Keys(secrets[0] ?? '').privateKey).toString('hex'),
  };
}

function create(context: SimulatorContext): Protocol {
  const { jobs } = context;
  const jobJson = (job: Job, status?: string) => stateOf(job, context.baseUrl, status);
  /** 202 while it waits or runs, 200 at the end. */
  const show = (job: Job, status?: string): Answer => ({
    status: isEnded(job.state) ? 200 : 202,
    body: jobJson(job, status),
  });

  return {
    handlePublic(exchange) {
      if (exchange.url.pathname !== '/.well-known/jwks.json') return false;
      sendJson(exchange, 200, { keys: context.secrets.map((secret) => ed25519Keys(secret).jwk) });
      return true;
    },
    handle(exchange) {
      const { method, url } = exchange;
      const about = requestPath(url.pathname);
      if (about !== null) {
        const found = jobs.get(about.id);
        const job = found?.extra?.['app'] === about.app ? found : undefined;
        if (method === 'GET' && about.action === 'status') return answerObserve(exchange, context, job, show);
        if (method === 'GET' && about.action === 'result') {
          const answer = job === undefined ? error({ kind: 'no_such_job' }) : resultOf(job, context.baseUrl);
          const id = { 'x-fal-request-id': about.id };
          return sendAnswer(exchange, { ...answer, headers: id });
        }
        if (method === 'PUT' && about.action === 'cancel') {
          if (job === undefined) return sendJson(exchange, 404, { status: 'NOT_FOUND' });
          let answer: Answer = { status: 400, body: { status: 'ALREADY_COMPLETED' } };
          return answerCancel(exchange, context, job, {
            end: (open) => {
              answer =
                open.state === 'queued'
                  ? { status: 200, body: { status: 'OK' } }
                  : { status: 202, body: { status: 'CANCELLATION_REQUESTED' } };
              jobs.stop(open);
            },
            show: () => answer,
          });
        }
      }
      const path = method === 'POST' && about === null ? submitPath(url.pathname) : null;
      if (path === null) return sendApiError(exchange, context, { kind: 'no_such_route' });
      return answerSubmit(exchange, context, {
        read: () => readSubmit(exchange, path),
        accepted: (job) => ({
          status: 200,
          body: {
            status: 'IN_QUEUE',
            request_id: job.id,
            gateway_request_id: job.id,
            queue_position: 0,
            ...urlsOf(job, context.baseUrl),
          },
        }),
        withoutId: { status: 200, body: { status: 'IN_QUEUE', queue_position: 0 } },
      });
    },
    jobJson,
    announces: (job) => isEnded(job.state),
    event(job, type, id = job.id) {
      const { status, body: payload } = resultOf(job, context.baseUrl);
      const ok = status === 200;
      const failure = ok ? {} : { error: `Unexpected status code: ${status}` };
      const shown = type ?? (ok ? 'OK' : 'ERROR');
      const event = { request_id: job.id, gateway_request_id: job.id, status: shown, payload, ...failure };
      return { id, type: shown, body: Buffer.from(JSON.stringify(event)) };
    },
    callbackHeaders: ({ body }, job, secrets, atMs) => callbackHeaders(body, job, secrets, atMs),
  };
}

export const falSimulator: ProviderSimulator = {
  name: 'fal',
  defaults: {
    outputTtlMs: 3_600_000,
    // Ten tries within two hours.
    callbackRetryMs: [
      5_000, 15_000, 60_000, 180_000, 420_000, 900_000, 1_200_000, 1_500_000, 1_800_000, 1_120_000,
    ],
    callbackTimeoutMs: 15_000,
  },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys, 'Key'),
  promptOf: (exchange) => textIn(exchange, 'prompt') || textIn(exchange, 'text'),
  error,
  adapterSettings: (url) => ({ USER_ID: FAL_SIMULATOR_USER, JWKS_URL: `${url}/.well-known/jwks.json` }),
  create,
};
