/**
 * The queue of fal.ai (providers.md §5). It offers nothing against a lost answer: no key, no lookup, no list. Not given by
 * its documentation, so a setting or an assumption here; check each with `darkroom provider smoke fal`:
 *   names of input        `params.$fields` of a route, defaults in fal-input.ts
 *   URLs inside a result  `outputKeys`, default video(s), image(s), audio(s), file(s), output(s), url(s), audio_file, audio_url,
 *                         video_url; not image_url, which is the name of an input
 *   hosts of outputs      `outputHosts`, default fal.media and its subdomains, and the queue's own host if it is not fal's
 *   how long a result is kept `resultTtlMs` 1 h, `largeResultTtlMs` 6 min from 10 kB on; the media live longer, but are
 *                         found only through the result
 *   flagged images        `has_nsfw_concepts` true = blackened, never delivered
 *   key set               `jwksUrl`, default https://rest.fal.ai/.well-known/jwks.json, or /.well-known/jwks.json of a base
 *                         URL that is not fal's
 *   our user ids          `userIds`: the keys sign for all customers of fal, so without them callbacks are not asked for
 *   404 of the result     of a COMPLETED request: fal has removed it
 *   files inline          `data:` URIs up to 3 MB, used without PUBLIC_URL only
 *   cancel                OK = taken from the queue; CANCELLATION_REQUESTED = it may still run to its end
 * fal itself may run a request again after 5xx, which it does not bill. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, CancelAnswer, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer, OutboundHttp, OutboundRequest } from '../net/types.ts';
import { defineProvider, hostList, httpUrl, memberNames, milliseconds } from './definition.ts';
import { readFalSubmit } from './fal-answers.ts';
import { verifyFalCallback } from './fal-callback.ts';
import { falProblemIn } from './fal-errors.ts';
import { buildFalSubmit, FAL_METHODS } from './fal-input.ts';
import { falKeys } from './fal-keys.ts';
import { falFailedStatus, falResult, falWaiting, type FalReading } from './fal-observation.ts';
import { falCancel, falStatus } from './fal-schemas.ts';
import { FAL_QUEUE_URL, falHandle, falRoot, falUrl, type FalRoot } from './fal-urls.ts';
import { parseJsonBytes } from './json-answer.ts';
import { timeLeft } from './time-left.ts';

/** Settings of the fal adapter. */
export interface FalConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  /** Our accounts' ids at fal, as its callbacks name them; none = polling only. */
  readonly userIds?: readonly string[] | undefined;
  readonly jwksUrl?: string | undefined;
  readonly outputHosts?: readonly string[] | undefined;
  readonly outputKeys?: readonly string[] | undefined;
  readonly resultTtlMs?: number | undefined;
  readonly largeResultTtlMs?: number | undefined;
  /** The clock, for `Retry-After` dates and the life of results. */
  readonly nowMs?: (() => number) | undefined;
}

type Answered = Extract<OutboundAnswer, { readonly kind: 'answer' }>;
type Unavailable = Extract<Observation, { kind: 'unavailable' }>;

/**
 * "Some models also accept data URIs" (https://docs.fal.ai/documentation/model-apis/fal-cdn), without a limit: of moderate
 * size, and a model that takes none refuses it.
 */
const INLINE_INPUT_BYTES = 3_000_000;
const FAL_JWKS_URL = 'https://rest.fal.ai/.well-known/jwks.json';
const OUTPUT_KEYS =
  'video videos image images audio audios audio_file audio_url video_url file files url urls output outputs'.split(
    ' ',
  );
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const isFal = ({ hostname }: FalRoot): boolean => hostname === 'fal.run' || hostname.endsWith('.fal.run');

function unavailable(answer: OutboundAnswer, nowMs: number): Unavailable {
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

/** A 404 counts as fal's own only with its error envelope: a proxy's page says nothing about the job. */
function saysNoSuchRequest(answer: Answered): boolean {
  return answer.status === 404 && falProblemIn(parseJsonBytes(answer.body)) !== null;
}

/**
 * The fal adapter: no idempotency, callbacks (where our user ids are known) signed by fal-wide keys, cancel that may be billed, no list.
 * Throws only for settings or arguments that cannot be right (base URL, providerModel, unknown input field).
 */
export function createFalProvider(config: FalConfig): Provider {
  const root = falRoot(config.baseUrl);
  const nowMs = config.nowMs ?? Date.now;
  const ownJwksUrl = `${root.origin}${root.prefix}/.well-known/jwks.json`;
  const keys = falKeys(config.http, config.jwksUrl ?? (isFal(root) ? FAL_JWKS_URL : ownJwksUrl));
  const userIds = config.userIds ?? [];
  const mediaHosts = ['fal.media', '*.fal.media', ...(isFal(root) ? [] : [root.hostname])];
  const reading: FalReading = {
    outputKeys: config.outputKeys ?? OUTPUT_KEYS,
    resultTtlMs: config.resultTtlMs ?? 3_600_000,
    largeResultTtlMs: config.largeResultTtlMs ?? 360_000,
  };
  const call = (
    method: OutboundRequest['method'],
    url: string,
    { credential, timeoutMs }: CallOptions,
    more: Pick<OutboundRequest, 'headers' | 'body'> = { headers: {} },
  ): Promise<OutboundAnswer> =>
    config.http.request({
      method,
      url,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      ...more,
      headers: { accept: 'application/json', authorization: `Key ${credential.apiKey}`, ...more.headers },
    });

  async function observe(handle: ProviderHandle, options: CallOptions): Promise<Observation> {
    const left = timeLeft(options);
    const answer = await call('GET', falUrl(root, handle, 'status'), left());
    if (answer.kind !== 'answer') return unavailable(answer, nowMs());
    if (saysNoSuchRequest(answer)) return { kind: 'not_found' };
    const parsed = answer.status === 200 || answer.status === 202 ? parseJsonBytes(answer.body) : undefined;
    const status = falStatus.safeParse(parsed).data;
    if (status === undefined || (status.request_id ?? handle.jobId) !== handle.jobId) {
      return unavailable(answer, nowMs());
    }
    const waiting = falWaiting(status);
    if (waiting !== null) return waiting;
    const result = await call('GET', falUrl(root, handle, 'response'), left());
    const observation =
      result.kind === 'answer' ? falResult(result, reading, nowMs()) : unavailable(result, nowMs());
    return falFailedStatus(status, observation) ?? observation;
  }

  return {
    name: 'fal',
    capabilities: {
      idempotency: 'none',
      callbacks: userIds.length === 0 ? 'none' : 'signed',
      cancel: 'may_bill',
      list: false,
      cost: 'none',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    methods: FAL_METHODS,
    outputHosts: config.outputHosts ?? mediaHosts,
    buildSubmit: buildFalSubmit,

    async submit({ method, path, contentType, body }, _idempotencyKey, options) {
      const headers = { 'content-type': contentType };
      const answer = await call(method, `${root.origin}${root.prefix}${path}`, options, { headers, body });
      return readFalSubmit(answer, path, root, nowMs());
    },

    observe,

    async cancel(handle, options): Promise<CancelAnswer> {
      const left = timeLeft(options);
      const answer = await call('PUT', falUrl(root, handle, 'cancel'), left());
      if (answer.kind !== 'answer') return { kind: 'unavailable', reason: answer.reason };
      const status = falCancel.safeParse(parseJsonBytes(answer.body)).data?.status ?? null;
      const taken = status !== null && answer.status >= 200 && answer.status < 300;
      if (taken && status === 'OK') {
        return { kind: 'answered', observation: { kind: 'cancelled', status: 'OK' } };
      }
      // All other answers leave open what became of the request, so it is looked at again.
      if (!taken && status !== 'ALREADY_COMPLETED' && status !== 'NOT_FOUND') {
        return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
      }
      const observation = await observe(handle, left());
      if (taken) {
        const asked = {
          kind: 'running',
          status: 'CANCELLATION_REQUESTED',
          progress: null,
          unknownStatus: false,
        } as const;
        return { kind: 'answered', observation: observation.kind === 'unavailable' ? asked : observation };
      }
      if (observation.kind === 'not_found' || observation.kind === 'running') {
        return { kind: 'unavailable', reason: `http_${answer.status}` };
      }
      return observation.kind === 'unavailable'
        ? { kind: 'unavailable', reason: observation.reason }
        : { kind: 'answered', observation };
    },

    verifyCallback: (headers, rawBody, _secrets, atMs) =>
      verifyFalCallback(keys, headers, rawBody, userIds, atMs),
    handleFromJobId: (jobId, { path }) => falHandle(root, jobId, path),
    downloadAuth: () => ({}),
  };
}

const userIdList = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine(
    (ids) => ids.every((id) => /^[\x21-\x7e]{1,255}$/.test(id)),
    'must be the user id(s) of your accounts at fal, separated by commas: X-Fal-Webhook-User-Id of a callback shows it',
  );

export const fal = defineProvider({
  name: 'fal',
  baseUrl: FAL_QUEUE_URL,
  settings: {
    USER_ID: userIdList.optional(),
    JWKS_URL: httpUrl(FAL_JWKS_URL).optional(),
    OUTPUT_HOSTS: hostList.optional(),
    OUTPUT_KEYS: memberNames.optional(),
    RESULT_TTL_MS: milliseconds.optional(),
    LARGE_RESULT_TTL_MS: milliseconds.optional(),
  },
  webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createFalProvider({
      http,
      baseUrl,
      nowMs,
      userIds: settings.USER_ID,
      jwksUrl: settings.JWKS_URL,
      outputHosts: settings.OUTPUT_HOSTS,
      outputKeys: settings.OUTPUT_KEYS,
      resultTtlMs: settings.RESULT_TTL_MS,
      largeResultTtlMs: settings.LARGE_RESULT_TTL_MS,
    }),
});
