/**
 * Replicate, HTTP API v1 (providers.md §4). It offers nothing against a lost answer but its list, which shows the webhook
 * URL. Not given by its documentation, so a setting or an assumption here; check each with `darkroom provider smoke replicate`:
 *   names of input         `params.$fields` of a route, defaults in replicate-input.ts
 *   rejected content       `contentErrors`, a pattern for the free text of `error` and `detail`; default "(E005)", "flagged as sensitive", "NSFW content"
 *   hosts of outputs       `outputHosts`, default replicate.delivery and its subdomains, and the API's own host
 *   how long data is kept  `dataTtlMs`, default 1 h after the end
 *   key for downloads      sent to the API's own origin and to replicate.delivery over https, as its reference asks
 *   cancel of an ended job any answer that shows no prediction is followed by a look
 *   wrong version or model 422 or 404; the title of the error envelope tells the first from bad input
 * Nothing is ever sent twice by this file.
 */
import type { CallOptions, CancelAnswer, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import { matchesHosts } from '../net/hosts.ts';
import type { OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, hostList, milliseconds, pattern } from './definition.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { readReplicateSubmit, replicateRetryAfterMs } from './replicate-answers.ts';
import { verifyReplicateCallback } from './replicate-callback.ts';
import { buildReplicateSubmit, REPLICATE_METHODS } from './replicate-input.ts';
import { replicateObservation, type ReplicateReading } from './replicate-observation.ts';
import { replicateError, replicatePage, replicatePrediction } from './replicate-schemas.ts';
import { timeLeft } from './time-left.ts';

/** Settings of the Replicate adapter; `baseUrl` with or without the trailing `/v1`. */
export interface ReplicateConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  readonly contentErrors?: RegExp | undefined;
  readonly dataTtlMs?: number | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

type Answered = Extract<OutboundAnswer, { readonly kind: 'answer' }>;
type Unavailable = Extract<Observation, { kind: 'unavailable' }>;

const PUBLIC_URL = 'https://api.replicate.com';
const CONTENT_ERRORS = /\(E005\)|flagged as sensitive|NSFW content/i;
const DATA_TTL_MS = 3_600_000;
/**
 * Its reference asks for `data:` URIs up to 256 kB (predictions.create, "Files should be passed as HTTP URLs or data
 * URLs"); a little less, since its list echoes the inputs of up to 100 predictions within MAX_PAGE_BYTES.
 */
const INLINE_INPUT_BYTES = 180_000;
const DELIVERY_HOSTS = ['replicate.delivery', '*.replicate.delivery'];
/** Logs are part of every prediction, and a page has 100 of them. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_PAGE_BYTES = 32 * 1024 * 1024;

function unavailable(answer: OutboundAnswer, nowMs: number): Unavailable {
  if (answer.kind !== 'answer') {
    return { kind: 'unavailable', reason: answer.reason, denied: false, retryAfterMs: null };
  }
  return {
    kind: 'unavailable',
    reason: answer.status >= 200 && answer.status < 300 ? 'unreadable_answer' : `http_${answer.status}`,
    denied: [401, 402, 403].includes(answer.status),
    retryAfterMs: replicateRetryAfterMs(answer, nowMs),
  };
}

/** A prediction's present state from a 2xx; null when it is unreadable or about another one. */
function stateIn(
  answer: Answered,
  handle: ProviderHandle,
  reading: ReplicateReading,
  nowMs: number,
): Observation | null {
  if (answer.status < 200 || answer.status > 299) return null;
  const prediction = replicatePrediction.safeParse(parseJsonBytes(answer.body));
  if (!prediction.success || prediction.data.id !== handle.jobId) return null;
  return replicateObservation(prediction.data, reading, nowMs);
}

/** A 404 counts as Replicate's own only with its error envelope: a proxy's page says nothing about the job. */
function saysNoSuchJob(answer: Answered): boolean {
  return answer.status === 404 && replicateError.safeParse(parseJsonBytes(answer.body)).success;
}

/** The cursor of the next page; only that is taken from the URL, so that the key goes to no other host. */
function cursorOf(next: string | null | undefined): string | null {
  if (next === undefined || next === null || !URL.canParse(next)) return null;
  return new URL(next).searchParams.get('cursor');
}

/**
 * The Replicate adapter: no idempotency, Standard Webhooks, cancel that may be billed, a list with our callback URLs.
 * Throws only for settings or arguments that cannot be right (base URL, providerModel, unknown input field).
 */
export function createReplicateProvider(config: ReplicateConfig): Provider {
  const { root, prefix } = apiRoot('replicate', config.baseUrl, PUBLIC_URL);
  const nowMs = config.nowMs ?? Date.now;
  const outputHosts = config.outputHosts ?? [...DELIVERY_HOSTS, root.hostname];
  const reading: ReplicateReading = {
    outputHosts,
    contentErrors: config.contentErrors ?? CONTENT_ERRORS,
    dataTtlMs: config.dataTtlMs ?? DATA_TTL_MS,
  };
  const call = (
    method: 'GET' | 'POST',
    path: string,
    { credential, timeoutMs }: CallOptions,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
    maxAnswerBytes = MAX_ANSWER_BYTES,
  ): Promise<OutboundAnswer> =>
    config.http.request({
      method,
      url: `${prefix}${path}`,
      timeoutMs,
      maxAnswerBytes,
      ...more,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${credential.apiKey}`,
        ...more.headers,
      },
    });

  async function observe(handle: ProviderHandle, options: CallOptions): Promise<Observation> {
    const answer = await call('GET', `/v1/predictions/${encodeURIComponent(handle.jobId)}`, options);
    if (answer.kind === 'answer') {
      if (saysNoSuchJob(answer)) return { kind: 'not_found' };
      const observation = stateIn(answer, handle, reading, nowMs());
      if (observation !== null) return observation;
    }
    return unavailable(answer, nowMs());
  }

  return {
    name: 'replicate',
    capabilities: {
      idempotency: 'none',
      callbacks: 'signed',
      cancel: 'may_bill',
      list: true,
      cost: 'estimate',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    methods: REPLICATE_METHODS,
    outputHosts,
    buildSubmit: buildReplicateSubmit,

    async submit({ method, path, contentType, body }, _idempotencyKey, options) {
      const answer = await call(method, path, options, { headers: { 'content-type': contentType }, body });
      return readReplicateSubmit(answer, reading.contentErrors, nowMs());
    },

    observe,

    async cancel(handle, options): Promise<CancelAnswer> {
      const left = timeLeft(options);
      const answer = await call(
        'POST',
        `/v1/predictions/${encodeURIComponent(handle.jobId)}/cancel`,
        options,
      );
      const observation = answer.kind === 'answer' ? stateIn(answer, handle, reading, nowMs()) : null;
      if (observation !== null) return { kind: 'answered', observation };
      if (answer.kind === 'answer' && [400, 409, 422].includes(answer.status)) {
        const seen = await observe(handle, left());
        if (seen.kind !== 'unavailable' && seen.kind !== 'not_found' && seen.kind !== 'running') {
          return { kind: 'answered', observation: seen };
        }
      }
      return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
    },

    /** Pages have 100 predictions, whatever `limit` says. */
    async list({ after }, options) {
      const query = after === null ? '' : `?cursor=${encodeURIComponent(after)}`;
      const answer = await call('GET', `/v1/predictions${query}`, options, {}, MAX_PAGE_BYTES);
      const page =
        answer.kind === 'answer' && answer.status === 200
          ? replicatePage.safeParse(parseJsonBytes(answer.body)).data
          : undefined;
      if (page === undefined) return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
      const jobs = page.results.map(({ id, status, webhook }) => ({
        handle: { jobId: id },
        status: safeCode(status),
        callbackUrl: webhook ?? null,
        externalId: null,
      }));
      return { kind: 'page', jobs, nextCursor: cursorOf(page.next) };
    },

    verifyCallback: verifyReplicateCallback,
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth(url, credential) {
      const own =
        url.origin === root.origin || (url.protocol === 'https:' && matchesHosts(url, DELIVERY_HOSTS));
      return own ? { authorization: `Bearer ${credential.apiKey}` } : {};
    },
  };
}

export const replicate = defineProvider({
  name: 'replicate',
  baseUrl: PUBLIC_URL,
  settings: {
    OUTPUT_HOSTS: hostList.optional(),
    CONTENT_ERRORS: pattern.optional(),
    DATA_TTL_MS: milliseconds.optional(),
  },
  webhookSecret: 'required',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createReplicateProvider({
      http,
      baseUrl,
      nowMs,
      outputHosts: settings.OUTPUT_HOSTS,
      contentErrors: settings.CONTENT_ERRORS,
      dataTtlMs: settings.DATA_TTL_MS,
    }),
});
