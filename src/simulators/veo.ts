/**
 * Veo's simulator: the Gemini API, v1beta, as its pages and @google/genai 2.18.0 show it (providers.md §9). Assumed: an
 * operation is shown on after its files are gone, what the claims of a webhook's token are (all of the event), and
 * `data.id`, the operation's name. A webhook of the project is made with POST /v1beta/webhooks. Files need the key.
 */
import { randomUUID } from 'node:crypto';
import { answerObserve } from './answers.ts';
import { serveFile } from './files.ts';
import { hasKey, sendJson, textIn, type Answer, type Exchange } from './http.ts';
import type { Job } from './jobs.ts';
import type { ApiError, Protocol, ProviderSimulator, SimulatedEvent, SimulatorContext } from './protocol.ts';
import { rs256Keys, rs256Token } from './rs256.ts';
import { standardWebhookHeaders } from './standard-webhooks.ts';
import { answerSubmit, sendApiError } from './submit.ts';
import { readVeoSubmit, readWebhook } from './veo-requests.ts';

/** The `aud` of its webhooks' tokens; what PROVIDER_VEO_WEBHOOK_AUDIENCE has to be. */
export const VEO_SIMULATOR_AUDIENCE = 'projects/simulator';

const ROUTE = /^\/v1(?:alpha|beta)?\/(.+)$/;
const TOKEN_LIFE_SECONDS = 3_600;
const RESPONSE = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse';

const ERRORS: Readonly<Record<ApiError['kind'], readonly [code: number, status: string, message: string]>> = {
  unauthorized: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  no_such_route: [404, 'NOT_FOUND', 'The requested URL was not found on this server.'],
  no_such_job: [404, 'NOT_FOUND', 'Operation not found.'],
  unsupported_media_type: [400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.'],
  invalid: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  content_rejected: [
    400,
    'INVALID_ARGUMENT',
    'The prompt contains words that violate the usage guidelines. Try rephrasing it.',
  ],
  rate_limited: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'],
  server_error: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  refused: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  key_reuse: [400, 'INVALID_ARGUMENT', 'Not at this provider.'],
  key_in_progress: [409, 'ABORTED', 'Not at this provider.'],
  duplicate_id: [409, 'ALREADY_EXISTS', 'Not at this provider.'],
};

/** Typed messages beside an error: why a key is refused, when to come again. */
function detailsOf({ kind, retryAfter }: ApiError): readonly object[] {
  if (kind === 'unauthorized') {
    return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }];
  }
  if (retryAfter === undefined) return [];
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }];
}

function error(problem: ApiError): Answer {
  const [usualCode, usualStatus, usualMessage] = ERRORS[problem.kind];
  const code = problem.status ?? usualCode;
  const status = problem.code ?? usualStatus;
  const details = detailsOf(problem);
  const message = problem.message ?? usualMessage;
  const body = { code, message, status, ...(details.length === 0 ? {} : { details }) };
  return { status: code, body: { error: body } };
}

/** A file's id holds its job's: Google's are letters and digits, and so is this. */
const fileId = (job: Job, n: number): string => `${Buffer.from(job.id).toString('hex')}${n}`;

/** The path in the framework of the file behind `files/{id}:download`; null for any other id. */
function filePath(id: string): string | null {
  const [, hex = '', n = ''] = /^((?:[0-9a-f]{2})+)([0-9])$/.exec(id) ?? [];
  return hex === '' ? null : `/files/${encodeURIComponent(Buffer.from(hex, 'hex').toString())}/${n}.mp4`;
}

const fileUri = (job: Job, n: number, baseUrl: string): string =>
  `${baseUrl}/v1beta/files/${fileId(job, n)}:download?alt=media`;

function responseOf(job: Job, baseUrl: string): object {
  if (job.state === 'moderated') {
    const reason = 'Veo could not generate videos based on the prompt provided. Support codes: 42237218';
    return { raiMediaFilteredCount: job.outputCount, raiMediaFilteredReasons: [reason] };
  }
  if (job.output === 'null') return {};
  const made = job.output === 'empty' ? 0 : job.outputCount;
  const generatedSamples = Array.from({ length: made }, (_, n) => ({
    video: { uri: fileUri(job, n, baseUrl) },
  }));
  return { generatedSamples };
}

/** An operation; a number of google.rpc.Code tells how it failed. `status` stands where `done` would. */
function operationOf(job: Job, baseUrl: string, status?: string): object {
  const { id: name, state } = job;
  if (status !== undefined) return { name, done: status };
  switch (state) {
    case 'queued':
    case 'running':
      return { name };
    case 'failed':
      return { name, done: true, error: { code: 13, message: `Internal error: ${job.errorCode}` } };
    case 'cancelled':
      return { name, done: true, error: { code: 1, message: 'The operation was cancelled.' } };
    case 'succeeded':
    case 'moderated':
      return {
        name,
        done: true,
        response: { '@type': RESPONSE, generateVideoResponse: responseOf(job, baseUrl) },
      };
  }
}

/** A token that is the event itself, for a webhook of the request; Standard Webhooks for the one of the project. */
function callbackHeaders(
  { id, body }: SimulatedEvent,
  job: Job,
  secrets: readonly string[],
  atMs: number,
): Readonly<Record<string, string>> {
  if (job.extra?.['dynamic'] !== true) return standardWebhookHeaders(id, body, secrets, atMs);
  const iat = Math.floor(atMs / 1_000);
  const claims = {
    ...(JSON.parse(body.toString()) as Record<string, unknown>),
    iss: 'https://generativelanguage.googleapis.com',
    aud: VEO_SIMULATOR_AUDIENCE,
    iat,
    exp: iat + TOKEN_LIFE_SECONDS,
    jti: id,
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': String(iat),
    'webhook-signature': rs256Token(claims, secrets[0] ?? ''),
  };
}

/** `POST /v1beta/webhooks`: one webhook of the project; its secret is shown this once. */
function createWebhook(exchange: Exchange, context: SimulatorContext): string | null {
  const webhook = readWebhook(exchange);
  if (webhook === null) {
    sendApiError(exchange, context, { kind: 'invalid' });
    return null;
  }
  sendJson(exchange, 200, {
    id: randomUUID(),
    uri: webhook.uri,
    subscribed_events: ['video.generated'],
    state: 'enabled',
    new_signing_secret: context.secrets[0],
  });
  return webhook.uri;
}

function create(context: SimulatorContext): Protocol {
  const { jobs } = context;
  let staticUri: string | null = null;
  const jobJson = (job: Job, status?: string) => operationOf(job, context.baseUrl, status);
  const show = (job: Job, status?: string): Answer => ({ status: 200, body: jobJson(job, status) });

  return {
    handlePublic(exchange) {
      if (exchange.url.pathname !== '/.well-known/jwks.json') return false;
      sendJson(exchange, 200, { keys: context.secrets.map((secret) => rs256Keys(secret).jwk) });
      return true;
    },
    handle(exchange) {
      const { method, url } = exchange;
      const [, path = ''] = ROUTE.exec(url.pathname) ?? [];
      const [, model] = /^models\/([\w.-]+):predictLongRunning$/.exec(path) ?? [];
      if (method === 'POST' && model !== undefined) {
        return answerSubmit(exchange, context, {
          read: () => readVeoSubmit(exchange, model, staticUri),
          accepted: ({ id: name }) => ({ status: 200, body: { name } }),
          withoutId: { status: 200, body: {} },
        });
      }
      if (method === 'GET' && /^models\/[\w.-]+\/operations\/[\w.-]+$/.test(path)) {
        return answerObserve(exchange, context, jobs.get(path), show);
      }
      const [, id = ''] = /^files\/([0-9a-z]+):download$/.exec(path) ?? [];
      const file = url.searchParams.get('alt') === 'media' ? filePath(id) : null;
      if (method === 'GET' && file !== null) {
        return serveFile({ ...exchange, url: new URL(file, context.baseUrl) }, context);
      }
      if (method === 'POST' && path === 'webhooks') {
        staticUri = createWebhook(exchange, context) ?? staticUri;
        return;
      }
      return sendApiError(exchange, context, { kind: 'no_such_route' });
    },
    jobJson,
    // Only a success is told.
    announces: ({ state, output }) => state === 'succeeded' && output === 'link',
    event(job, type = 'video.generated', id = `evt_${randomUUID()}`) {
      const userMetadata = job.extra?.['userMetadata'];
      const event = {
        type,
        version: 'v1',
        timestamp: new Date(job.completedAtMs ?? job.createdAtMs).toISOString(),
        data: {
          id: job.id,
          output_file_uri: fileUri(job, 0, context.baseUrl),
          file_name: `files/${fileId(job, 0)}`,
        },
        ...(userMetadata === undefined ? {} : { user_metadata: userMetadata }),
      };
      return { id, type, body: Buffer.from(JSON.stringify(event)) };
    },
    callbackHeaders,
    reset() {
      staticUri = null;
    },
  };
}

export const veoSimulator: ProviderSimulator = {
  name: 'veo',
  defaults: {
    outputTtlMs: 2 * 86_400_000,
    webhookSecrets: [`whsec_${Buffer.from('secret of the simulator').toString('base64')}`],
    // Exponential, for 24 hours.
    callbackRetryMs: [1_000, 4_000, 16_000, 64_000, 256_000, 1_024_000, 4_096_000, 16_384_000],
    callbackTimeoutMs: 5_000,
  },
  isAuthorized: (exchange, apiKeys) => hasKey(exchange, apiKeys, '', 'x-goog-api-key'),
  promptOf: (exchange) => textIn(exchange, 'instances', 0, 'prompt'),
  error,
  adapterSettings: (url) => ({
    WEBHOOK_AUDIENCE: VEO_SIMULATOR_AUDIENCE,
    JWKS_URL: `${url}/.well-known/jwks.json`,
  }),
  filesNeedKey: true,
  create,
};
