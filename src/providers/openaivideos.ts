/**
 * The OpenAI-Videos shape that aggregators speak (providers.md §8; openai-node 7.59.0, resources/videos; pages of New API,
 * LiteLLM, OpenRouter, Inworld, AnyFast, all read and none called). OpenAI's own API ended on 2026-09-24, so there is no
 * address of ours: PROVIDER_OPENAIVIDEOS_BASE_URL has to be set. Where they differ, a setting (PROVIDER_OPENAIVIDEOS_…);
 * check each with `darkroom provider smoke openaivideos`:
 *   key               AUTH_SCHEME, default Bearer; another word (Inworld: Basic), or none = the bare key
 *   submit            SUBMIT_FORMAT, multipart (default, as OpenAI) or json; SUBMIT_PATH, default /v1/videos
 *   names of fields   `params.$fields` of a route (model-fields.ts); defaults prompt, model, seconds (text), size
 *   size              from resolution and aspect_ratio by the table of openaivideos-body.ts; one alone is 720p, or 16:9
 *   image             INPUT_REFERENCE, object ({image_url}, a URL or `data:` URI; in a form input_reference[image_url]) or
 *                     text (the URL). As a file it can not be sent: frozen bytes are text. Servers limit text fields of
 *                     forms (Starlette and busboy: 1 MiB), so a form carries 700 kB inline, JSON 5 MB
 *   look              QUERY_PATH, default /v1/videos/{id}; NOT_FOUND_CODES, default task_not_exist (New API), beside any
 *                     404 with an error envelope
 *   status strings    STATUS_RUNNING, default queued, in_progress; STATUS_SUCCEEDED, default completed; STATUS_FAILED,
 *                     default failed; STATUS_CANCELLED, none. OpenRouter adds pending, cancelled, expired
 *   rejected content  CONTENT_CODES, default content_filter, beside the usual ones (moderation_blocked …)
 *   file              CONTENT_PATH, default /v1/videos/{id}/content, with the key; or OUTPUT_KEYS, the members with its URL
 *                     (video_url; metadata,url; urls; output,videos,url). OUTPUT_HOSTS, default the API's host: where such
 *                     URLs lie, and where CONTENT_PATH redirects to (a bucket, a CDN); it replaces the default, so name
 *                     the API's host, too. What CONTENT_PATH answers is taken as the file: JSON with a URL in it is none,
 *                     then use OUTPUT_KEYS. The life of the file is `expires_at`, of such a URL also `url_expires_at`; not
 *                     given, or before the job was made = not known
 *   lost answers      IDEMPOTENCY, none (default) or replay: sends Idempotency-Key, where your aggregator replays it
 *   refusals          RETRIES_UPSTREAMS, true (default): it may ask another upstream after one whose answer was lost, and show
 *                     that one's refusal, so only New API's own words refuse, all else is unknown; false: it never does
 *   callbacks         none; WEBHOOKS=standard: Standard Webhooks (video.completed, video.failed, data.id), signed with
 *                     WEBHOOK_SECRET (whsec_…), to the endpoint /callbacks/openaivideos that you register there. With
 *                     CALLBACK_MEMBER our URL goes into each submit; without WEBHOOKS they count as unsigned
 *   cost              COST_UNIT, the unit of `usage.cost` (OpenRouter: USD), read at every end; without it none is read
 * There is no cancel, and DELETE destroys a finished video, so it is never called; the list shows nothing of ours. The key
 * goes to the API's own origin only, a redirect drops it. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { costUnit, defineProvider, hostList, memberNames, pathWithId, words, yesOrNo } from './definition.ts';
import { bearerCall, observed, type JobReader } from './json-api.ts';
import { safeCode } from './json-answer.ts';
import { videosSubmitAnswers } from './openaivideos-answers.ts';
import { buildVideosSubmit, VIDEOS_METHODS, type VideosBody } from './openaivideos-body.ts';
import { verifyVideosCallback } from './openaivideos-callback.ts';
import { videosObservation, type VideosReading } from './openaivideos-observation.ts';
import { isVideosError, video, videoAccepted, videosError } from './openaivideos-schemas.ts';
import { readSubmitAnswer, type SubmitReader } from './submit-answers.ts';

const NAME = 'openaivideos';
/** Nobody's: a reminder that the address is the user's to set. */
const NO_URL = 'https://aggregator.invalid';
const INLINE_BYTES = { multipart: 700_000, json: 5_000_000 };

const member = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be a member name, for example callback_url')
  .optional();
const submitPath = z.string().regex(/^\/[A-Za-z0-9_./-]{1,200}$/, 'must be a path, for example /v1/videos');

/** The settings of an adapter; see the head of this file. */
const settings = {
  AUTH_SCHEME: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,31}$/, 'must be a word like Bearer or Basic, or none')
    .default('Bearer'),
  SUBMIT_FORMAT: z.enum(['multipart', 'json'], 'must be multipart or json').default('multipart'),
  SUBMIT_PATH: submitPath.default('/v1/videos'),
  QUERY_PATH: pathWithId.default('/v1/videos/{id}'),
  CONTENT_PATH: pathWithId.default('/v1/videos/{id}/content'),
  INPUT_REFERENCE: z.enum(['object', 'text'], 'must be object or text').default('object'),
  NOT_FOUND_CODES: words.default(['task_not_exist']),
  STATUS_RUNNING: words.default(['queued', 'in_progress']),
  STATUS_SUCCEEDED: words.default(['completed']),
  STATUS_FAILED: words.default(['failed']),
  STATUS_CANCELLED: words.default([]),
  CONTENT_CODES: words.default(['content_filter']),
  OUTPUT_KEYS: memberNames.optional(),
  OUTPUT_HOSTS: hostList.optional(),
  IDEMPOTENCY: z.enum(['none', 'replay'], 'must be none or replay').default('none'),
  RETRIES_UPSTREAMS: yesOrNo.default(true),
  WEBHOOKS: z.enum(['none', 'standard'], 'must be none or standard').default('none'),
  CALLBACK_MEMBER: member,
  COST_UNIT: costUnit.optional(),
};
type Settings = z.output<z.ZodObject<typeof settings>>;

interface VideosConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly settings: Settings;
  /** The clock, for `Retry-After` dates and the end of files. */
  readonly nowMs?: (() => number) | undefined;
}

function submitReader({ CONTENT_CODES, RETRIES_UPSTREAMS }: Settings): SubmitReader {
  return {
    rules: videosSubmitAnswers(CONTENT_CODES, RETRIES_UPSTREAMS),
    accepted(body) {
      const job = videoAccepted.safeParse(body).data;
      return job === undefined ? null : { handle: { jobId: job.id }, status: safeCode(job.status) };
    },
    error: videosError,
  };
}

function jobReader(reading: VideosReading, notFoundCodes: readonly string[], nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const job = video.safeParse(body).data;
      return job?.id === handle.jobId ? videosObservation(job, reading, nowMs()) : null;
    },
    isNoSuchJob: (status, body) =>
      (status === 404 && isVideosError(body)) ||
      // A job that is shown is there, whatever its own error is.
      (notFoundCodes.includes(videosError(body).code ?? '') && !video.safeParse(body).success),
  };
}

/** Polling only and no idempotency unless configured, no cancel. @throws for a base URL that is none */
function createVideosProvider({ http, baseUrl, settings: set, nowMs = Date.now }: VideosConfig): Provider {
  const { root, prefix } = apiRoot(NAME, baseUrl, 'https://api.your-aggregator.example');
  const at = (path: string, jobId: string) => path.replace('{id}', () => encodeURIComponent(jobId));
  const authorization = ({ apiKey }: { readonly apiKey: string }) => ({
    authorization: set.AUTH_SCHEME === 'none' ? apiKey : `${set.AUTH_SCHEME} ${apiKey}`,
  });
  const call = bearerCall(http, prefix);
  const reading: VideosReading = {
    running: set.STATUS_RUNNING,
    succeeded: set.STATUS_SUCCEEDED,
    failed: set.STATUS_FAILED,
    cancelled: set.STATUS_CANCELLED,
    contentCodes: set.CONTENT_CODES,
    outputKeys: set.OUTPUT_KEYS ?? null,
    contentUrl: (jobId) => `${prefix}${at(set.CONTENT_PATH, jobId)}`,
    costUnit: set.COST_UNIT ?? null,
  };
  const body: VideosBody = {
    format: set.SUBMIT_FORMAT,
    path: set.SUBMIT_PATH,
    inputReference: set.INPUT_REFERENCE,
    callbackMember: set.CALLBACK_MEMBER ?? null,
  };
  const reader = jobReader(reading, set.NOT_FOUND_CODES, nowMs);
  const submitted = submitReader(set);
  const signed = set.WEBHOOKS === 'standard';
  const unsigned = set.CALLBACK_MEMBER !== undefined && !signed;
  const replays = set.IDEMPOTENCY === 'replay';

  return {
    name: NAME,
    capabilities: {
      idempotency: set.IDEMPOTENCY,
      callbacks: signed ? 'signed' : unsigned ? 'unsigned' : 'none',
      cancel: 'unsupported',
      list: false,
      cost: set.COST_UNIT === undefined ? 'none' : 'final',
      inlineInputBytes: set.INPUT_REFERENCE === 'object' ? INLINE_BYTES[set.SUBMIT_FORMAT] : 0,
    },
    methods: VIDEOS_METHODS,
    outputHosts: set.OUTPUT_HOSTS ?? [root.hostname],
    buildSubmit: (job) => buildVideosSubmit(job, body),

    async submit(request, idempotencyKey, options) {
      const headers = {
        ...authorization(options.credential),
        'content-type': request.contentType,
        ...(replays ? { 'idempotency-key': idempotencyKey } : {}),
      };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, submitted, nowMs());
    },

    async observe(handle, options) {
      const path = at(set.QUERY_PATH, handle.jobId);
      const answer = await call('GET', path, options, authorization(options.credential));
      return observed(answer, handle, reader, nowMs());
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    verifyCallback: (headers, rawBody, secrets, atMs) =>
      signed || unsigned
        ? verifyVideosCallback(headers, rawBody, secrets, atMs, { signed, reading })
        : { ok: false, reason: 'unverified' },
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: (url, credential) => (url.origin === root.origin ? authorization(credential) : {}),
  };
}

/** The OpenAI-Videos shape in the registry, for the one aggregator at BASE_URL. */
export const openaivideos = defineProvider({
  name: NAME,
  baseUrl: NO_URL,
  needsBaseUrl: true,
  settings,
  webhookSecret: ({ WEBHOOKS }) => (WEBHOOKS === 'standard' ? 'required' : 'none'),
  create: createVideosProvider,
});
