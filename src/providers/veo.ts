/**
 * Google Veo by the Gemini API, version v1beta (providers.md §9; @google/genai 2.18.0; ai.google.dev/gemini-api/docs/video
 * and /webhooks). Google shut its Veo models down there on 2026-10-22 (so docs.apiyi.com and apidog.com say; the SDK
 * 3.3.0 makes no videos there any more): a submit is answered 404 then. Whoever still serves this protocol is a BASE_URL.
 * Not given or not tried by us, so a setting (PROVIDER_VEO_…); check each with `darkroom provider smoke veo`:
 *   webhooks of requests   WEBHOOK_AUDIENCE: the `aud` of their tokens, which no page tells; a `*` at its end is any rest,
 *                          after a part that is yours alone: Google signs for all its customers with the same keys.
 *                          Without it none are asked for
 *   key set                JWKS_URL, default /.well-known/jwks.json of the API; the page names www.googleapis.com, too
 *   claims                 `exp` and `iat` are assumed; the event (`type`, `data.id`) and `jti` are taken where they are there
 *   webhook of the project STATIC_WEBHOOKS=true, with WEBHOOK_SECRET: its URL is /callbacks/veo. `data.id` is assumed to be
 *                          the operation's whole name, else it wakes nobody. There is no event of a failure: all is polled
 *   moderated              a count of filtered videos; at submit and in errors a text: CONTENT_MESSAGE
 *   cost                   none is told. Filtered videos are not billed: booked as 0 in COST_UNIT, default USD; it should be
 *                          the unit of the catalogue's routes
 *   life of links          LINK_LIFE_MS, default two days from a look
 *   hosts of outputs       OUTPUT_HOSTS, default the API's own, *.googleapis.com and *.googleusercontent.com, for redirects
 *   images                 inline only, by their size within the 20 MB of a request
 * Files need the key; it is sent to the API's own origin only, never in a query. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, Observation, Provider } from '../domain/provider.ts';
import type { OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { costUnit, defineProvider, hostList, httpUrl, milliseconds, pattern, yesOrNo } from './definition.ts';
import { parseJsonBytes } from './json-answer.ts';
import { observed, unavailable, type JobReader } from './json-api.ts';
import { rsaKeys } from './jwt.ts';
import { readSubmitAnswer } from './submit-answers.ts';
import { retryDelayMs, saysBadKey, veoSubmitReader } from './veo-answers.ts';
import { buildVeoSubmit, VEO_METHODS } from './veo-body.ts';
import { verifyVeoCallback, type VeoCallbackProofs } from './veo-callback.ts';
import { veoObservation } from './veo-observation.ts';
import { operationPath, veoError, veoOperation } from './veo-schemas.ts';

/** Settings of the Veo adapter; `baseUrl` with or without the version. See the head of this file. */
export interface VeoConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly apiVersion?: string | undefined;
  readonly webhookAudiences?: readonly string[] | undefined;
  readonly staticWebhooks?: boolean | undefined;
  readonly jwksUrl?: string | undefined;
  readonly outputHosts?: readonly string[] | undefined;
  readonly contentMessage?: RegExp | undefined;
  readonly linkLifeMs?: number | undefined;
  readonly costUnit?: string | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://generativelanguage.googleapis.com';
const API_VERSION = 'v1beta';
const LINK_LIFE_MS = 2 * 86_400_000;
const COST_UNIT = 'USD';
const CONTENT_MESSAGE =
  /usage guidelines|responsible ai|prohibited (content|use)|sensitive words|safety (filter|polic|setting)|violat\w{1,16} .{0,200}polic/i;
/** A request has at most 20 MB (Gemini API, file input methods), a third of it is base64's. */
const INLINE_INPUT_BYTES = 14_000_000;
/** Room for a video inside the answer. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const OUTPUT_HOSTS = ['*.googleapis.com', '*.googleusercontent.com'];

/** Whether a token's `aud` is one of ours: exact, or by its beginning where ours ends in `*`. */
function audienceCheck(audiences: readonly string[]): ((audience: string) => boolean) | null {
  if (audiences.length === 0) return null;
  return (audience) =>
    audiences.some((own) => (own.endsWith('*') ? audience.startsWith(own.slice(0, -1)) : own === audience));
}

/** The same as for any JSON API, with what Google says in the body: 400 for a wrong key, RetryInfo. */
function unavailableBy(answer: OutboundAnswer, nowMs: number): Observation {
  const found = unavailable(answer, nowMs);
  const delayMs = answer.kind === 'answer' ? retryDelayMs(parseJsonBytes(answer.body)) : null;
  const denied = found.denied || saysBadKey(answer);
  return { ...found, denied, retryAfterMs: found.retryAfterMs ?? delayMs };
}

/**
 * The Veo adapter: no idempotency, callbacks of successes where they are set up, no cancel, no list, no cost but that of
 * filtered videos, which is none.
 * Throws only for settings or arguments that cannot be right (base URL, model, unknown input field).
 */
export function createVeoProvider(config: VeoConfig): Provider {
  const { http, contentMessage = CONTENT_MESSAGE, linkLifeMs = LINK_LIFE_MS, nowMs = Date.now } = config;
  const version = config.apiVersion ?? API_VERSION;
  const { root, prefix } = apiRoot('veo', config.baseUrl.replace(/\/v1(alpha|beta)\/?$/, ''), PUBLIC_URL);
  const isOurs = audienceCheck(config.webhookAudiences ?? []);
  const proofs: VeoCallbackProofs = {
    isOurs,
    keys: rsaKeys(http, config.jwksUrl ?? `${prefix}/.well-known/jwks.json`),
    isStatic: config.staticWebhooks ?? false,
  };
  const reading = { contentMessage, linkLifeMs, costUnit: config.costUnit ?? COST_UNIT };
  const submitReader = veoSubmitReader(contentMessage);
  const jobReader: JobReader = {
    observation(body, handle) {
      const operation = veoOperation.safeParse(body).data;
      return operation?.name === handle.jobId ? veoObservation(operation, reading, nowMs()) : null;
    },
    isNoSuchJob: (status, body) => status === 404 && veoError.safeParse(body).success,
  };
  const call = (
    method: 'GET' | 'POST',
    path: string,
    { credential, timeoutMs }: CallOptions,
    body?: string,
  ): Promise<OutboundAnswer> =>
    http.request({
      method,
      url: `${prefix}${path}`,
      headers: {
        accept: 'application/json',
        'x-goog-api-key': credential.apiKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });

  return {
    name: 'veo',
    capabilities: {
      idempotency: 'none',
      callbacks: isOurs !== null || proofs.isStatic ? 'signed' : 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    inlineInputsOnly: true,
    methods: VEO_METHODS,
    outputHosts: config.outputHosts ?? [
      root.hostname,
      ...(root.hostname.endsWith('.googleapis.com') ? OUTPUT_HOSTS : []),
    ],
    buildSubmit: (job) => buildVeoSubmit(job, version, isOurs !== null),

    async submit({ method, path, body }, _idempotencyKey, options) {
      return readSubmitAnswer(await call(method, path, options, body), submitReader, nowMs());
    },

    /** A name that is no operation's, which only a person can have given, is never sent anywhere. */
    async observe(handle, options) {
      const path = operationPath(handle.jobId);
      if (path === null) {
        return { kind: 'unavailable', reason: 'bad_job_id', denied: false, retryAfterMs: null };
      }
      const answer = await call('GET', `/${version}/${path}`, options);
      const observation = observed(answer, handle, jobReader, nowMs());
      return observation.kind === 'unavailable' ? unavailableBy(answer, nowMs()) : observation;
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    verifyCallback: (headers, rawBody, secrets, atMs) =>
      verifyVeoCallback(proofs, headers, rawBody, secrets, atMs),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: (url, { apiKey }): Readonly<Record<string, string>> =>
      url.origin === root.origin ? { 'x-goog-api-key': apiKey } : {},
  };
}

/** Parts of an audience that are the same for all of Google's customers. */
const COMMON_PART = /google|generativelanguage|^v\d/i;
/** An id or number of a project; of none in particular is Google's `-`. */
const PROJECT = /^[a-z0-9]/i;

/** Whether no tokens for others fit: an audience as it is, or one with a `*` after a part that only its owner has. */
function isOwnAudience(audience: string): boolean {
  if (!/^[\x21-\x7e]{8,500}$/.test(audience)) return false;
  const [before = '', ...rest] = audience.split('*');
  if (rest.length === 0) return true;
  const parts = before.split('/');
  const isOwn = parts.some((part, at) =>
    parts[at - 1] === 'projects' ? PROJECT.test(part) : /[\d.]/.test(part) && !COMMON_PART.test(part),
  );
  return rest.join('*') === '' && before.endsWith('/') && isOwn;
}

const audienceList = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine(
    (audiences) => audiences.every(isOwnAudience),
    'must be the "aud" of the tokens that Google sends you, separated by commas; a * at the end stands for any rest, and only after a / with a part before it that is yours alone: a project, a host name, or one with a digit, for example projects/123456789012/*',
  );

/** Veo in the registry. */
export const veo = defineProvider({
  name: 'veo',
  baseUrl: PUBLIC_URL,
  settings: {
    API_VERSION: z
      .string()
      .regex(/^v1(alpha|beta)?$/, `must be v1, v1alpha or v1beta, for example ${API_VERSION}`)
      .optional(),
    WEBHOOK_AUDIENCE: audienceList.optional(),
    STATIC_WEBHOOKS: yesOrNo.optional(),
    JWKS_URL: httpUrl(`${PUBLIC_URL}/.well-known/jwks.json`).optional(),
    OUTPUT_HOSTS: hostList.optional(),
    CONTENT_MESSAGE: pattern.optional(),
    LINK_LIFE_MS: milliseconds.optional(),
    COST_UNIT: costUnit.optional(),
  },
  webhookSecret: ({ STATIC_WEBHOOKS }) => (STATIC_WEBHOOKS === true ? 'required' : 'none'),
  create: ({ http, baseUrl, nowMs, settings }) =>
    createVeoProvider({
      http,
      baseUrl,
      nowMs,
      apiVersion: settings.API_VERSION,
      webhookAudiences: settings.WEBHOOK_AUDIENCE,
      staticWebhooks: settings.STATIC_WEBHOOKS,
      jwksUrl: settings.JWKS_URL,
      outputHosts: settings.OUTPUT_HOSTS,
      contentMessage: settings.CONTENT_MESSAGE,
      linkLifeMs: settings.LINK_LIFE_MS,
      costUnit: settings.COST_UNIT,
    }),
});
