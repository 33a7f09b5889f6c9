/**
 * INFRO, API v1 (providers.md §2). Not given by its documentation, so a setting or an assumption here; check each with
 * `darkroom provider smoke infro`:
 *   cancel path           `cancelPath`, default POST /v1/jobs/{id}/cancel; null = no cancel is offered
 *   URL inside `output`   `outputKeys`, default a string, or url(s), video(s), file(s) in it
 *   `expires_at`          on the job or inside `output`, unix seconds
 *   hosts of outputs      `outputHosts`, default the API's host, and *.infro.io for the public API
 *   unit of `usage.cost`  `costUnit`, default USD
 *   error envelope        `error.type` beside the documented `error.code`; content and validation codes
 *   429                   Retry-After, if sent
 * Outputs are fetched without a key. Nothing is ever sent twice by this file.
 */
import type { CallOptions, CancelAnswer, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import type { OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { canonicalJson } from '../domain/json.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import { verifyInfroCallback } from './infro-callback.ts';
import { observationOf, type InfroReading } from './infro-observation.ts';
import { infroError, infroInput, infroJob, infroPage } from './infro-schemas.ts';
import { readInfroSubmit } from './infro-submit-answer.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';

/** Settings of the INFRO adapter; `baseUrl` with or without the trailing `/v1`. */
export interface InfroConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  readonly cancelPath?: string | null | undefined;
  readonly outputKeys?: readonly string[] | undefined;
  readonly costUnit?: string | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

type Answered = Extract<OutboundAnswer, { readonly kind: 'answer' }>;
type Call = (
  method: 'GET' | 'POST',
  path: string,
  options: CallOptions,
  headers?: Readonly<Record<string, string>>,
  body?: string,
) => Promise<OutboundAnswer>;

const DEFAULT_CANCEL_PATH = '/v1/jobs/{id}/cancel';
const DEFAULT_OUTPUT_KEYS = ['url', 'urls', 'video', 'videos', 'file', 'files'];
const MAX_PAGE = 100;

/** The API's origin (and prefix); an Error when it is no http(s) URL. */
function apiRoot(baseUrl: string): URL {
  const text = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new Error(
      'INFRO base URL is not an http(s) URL: set PROVIDER_INFRO_BASE_URL, e.g. https://api.infro.io',
    );
  }
  return new URL(text);
}

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.infro.io') ? [root.hostname, '*.infro.io'] : [root.hostname];
}

function unavailable(answer: OutboundAnswer, nowMs: number): Extract<Observation, { kind: 'unavailable' }> {
  if (answer.kind !== 'answer') {
    return { kind: 'unavailable', reason: answer.reason, denied: false, retryAfterMs: null };
  }
  return {
    kind: 'unavailable',
    reason: answer.status >= 200 && answer.status < 300 ? 'unreadable_answer' : `http_${answer.status}`,
    denied: [401, 402, 403].includes(answer.status),
    retryAfterMs: parseRetryAfterMs(answer.headers['retry-after'], nowMs),
  };
}

/** A job's present state from a 2xx; null when it is unreadable or about another job. */
function jobObservation(
  answer: Answered,
  handle: ProviderHandle,
  reading: InfroReading,
  nowMs: number,
): Observation | null {
  if (answer.status < 200 || answer.status > 299) return null;
  const job = infroJob.safeParse(parseJsonBytes(answer.body));
  return job.success && job.data.id === handle.jobId ? observationOf(job.data, reading, nowMs) : null;
}

/** A 404 counts as INFRO's own only with its error envelope: a proxy's page says nothing about the job. */
function saysNoSuchJob(answer: Answered): boolean {
  return answer.status === 404 && infroError.safeParse(parseJsonBytes(answer.body)).success;
}

function createCall(http: OutboundHttp, root: URL): Call {
  const prefix = root.href.replace(/\/$/, '');
  return (method, path, options, headers = {}, body) =>
    http.request({
      method,
      url: `${prefix}${path}`,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${options.credential.apiKey}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: options.timeoutMs,
    });
}

/**
 * The INFRO adapter: `replay` idempotency (24 h), signed callbacks, cancel that only stops the tracking, list.
 * Throws only for settings or arguments that cannot be right (base URL, idempotency key, unknown input member).
 */
export function createInfroProvider(config: InfroConfig): Provider {
  const root = apiRoot(config.baseUrl);
  const call = createCall(config.http, root);
  const nowMs = config.nowMs ?? Date.now;
  const cancelPath = config.cancelPath === undefined ? DEFAULT_CANCEL_PATH : config.cancelPath;
  const reading = {
    outputKeys: config.outputKeys ?? DEFAULT_OUTPUT_KEYS,
    costUnit: config.costUnit ?? 'USD',
  };

  return {
    name: 'infro',
    capabilities: {
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: cancelPath === null ? 'unsupported' : 'stops_tracking',
      list: true,
    },
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),

    buildSubmit({ providerModel, input, callbackUrl }) {
      const fields = infroInput.parse(input);
      const webhook = callbackUrl === null ? {} : { webhook: { url: callbackUrl } };
      const { prompt, duration_seconds } = fields;
      const duration = duration_seconds === undefined ? {} : { duration_seconds };
      return {
        method: 'POST',
        path: '/v1/videos',
        contentType: 'application/json',
        body: canonicalJson({ model: providerModel, prompt, ...duration, ...webhook }),
      };
    },

    async submit(request, idempotencyKey, options) {
      if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
        throw new Error('INFRO takes an idempotency key of 1 to 255 visible ASCII characters');
      }
      const headers = { 'content-type': request.contentType, 'idempotency-key': idempotencyKey };
      return readInfroSubmit(
        await call(request.method, request.path, options, headers, request.body),
        nowMs(),
      );
    },

    async observe(handle, options): Promise<Observation> {
      const answer = await call('GET', `/v1/jobs/${encodeURIComponent(handle.jobId)}`, options);
      if (answer.kind === 'answer') {
        if (saysNoSuchJob(answer)) return { kind: 'not_found' };
        const observation = jobObservation(answer, handle, reading, nowMs());
        if (observation !== null) return observation;
      }
      return unavailable(answer, nowMs());
    },

    async cancel(handle, options): Promise<CancelAnswer> {
      if (cancelPath === null) return { kind: 'unsupported' };
      const path = cancelPath.replace('{id}', () => encodeURIComponent(handle.jobId));
      const answer = await call('POST', path, options);
      const observation = answer.kind === 'answer' ? jobObservation(answer, handle, reading, nowMs()) : null;
      if (observation !== null) return { kind: 'answered', observation };
      return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
    },

    async list(window, options) {
      const query = new URLSearchParams({ limit: String(Math.min(MAX_PAGE, Math.max(1, window.limit))) });
      if (window.after !== null) query.set('after', window.after);
      const answer = await call('GET', `/v1/jobs?${query.toString()}`, options);
      const page =
        answer.kind === 'answer' && answer.status === 200
          ? infroPage.safeParse(parseJsonBytes(answer.body)).data
          : undefined;
      if (page === undefined) return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
      const jobs = page.data.map((job) => ({ handle: { jobId: job.id }, status: safeCode(job.status) }));
      return { kind: 'page', jobs, nextCursor: page.has_more ? (page.next_cursor ?? null) : null };
    },

    verifyCallback: verifyInfroCallback,
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}
