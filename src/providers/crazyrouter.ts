/**
 * Crazyrouter, unified video format: the article (providers.md §1) and the vendor's pages docs.crazyrouter.com/en/video/
 * unified, …/openai-video-alias-query, …/reference/status-codes, all read and none called. Where they are silent, a
 * setting (PROVIDER_CRAZYROUTER_…); check each with `darkroom provider smoke crazyrouter`:
 *   idempotency       IDEMPOTENCY, none (default) or replay: the header Idempotency-Key is sent in any case, but no page
 *                     says what it does, so a lost answer stays unknown
 *   query             QUERY_PATH, default /v1/video/query?id={id}; NOT_FOUND_CODES, default task_not_exist
 *   status strings    STATUS_RUNNING, default processing and queued, pending, running, in_progress; STATUS_SUCCEEDED,
 *                     default completed, succeeded; STATUS_FAILED, default failed, expired; STATUS_CANCELLED, default
 *                     cancelled, canceled. The pages name processing, completed and failed
 *   result            OUTPUT_KEYS, default video_url and what differs "by model": video(s), url(s), output(s)
 *   hosts of outputs  OUTPUT_HOSTS, default the API's host and *.crazyrouter.com; results may lie at the upstream
 *   webhooks          none are documented, so all is polled; CALLBACK_MEMBER names the member of the body for our URL
 *                     where your account has them, SIGNATURE_HEADER and SIGNATURE_ENCODING (hex, base64) an HMAC-SHA256 of
 *                     the raw body, without SIGNATURE_HEADER only the token in the URL counts
 *   cancel, list, cost, life of links   not documented: not offered, not known
 * Outputs are fetched without a key. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { CRAZYROUTER_SUBMIT_ANSWERS } from './crazyrouter-answers.ts';
import { buildCrazyrouterSubmit, CRAZYROUTER_FIELDS } from './crazyrouter-body.ts';
import { verifyCrazyrouterCallback } from './crazyrouter-callback.ts';
import { crazyrouterObservation, type CrazyrouterReading } from './crazyrouter-observation.ts';
import { crazyrouterAccepted, crazyrouterError, crazyrouterTask } from './crazyrouter-schemas.ts';
import { defineProvider, headerName, hostList, memberNames, pathWithId, words } from './definition.ts';
import { bearerCall, observed, type JobReader } from './json-api.ts';
import { safeCode } from './json-answer.ts';
import type { RawHmacScheme } from './raw-hmac.ts';
import { readSubmitAnswer, type SubmitReader } from './submit-answers.ts';
import { methodsOf } from './submit-body.ts';

/** Settings of the Crazyrouter adapter; see the head of this file. */
export interface CrazyrouterConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly idempotency?: 'none' | 'replay' | undefined;
  readonly queryPath?: string | undefined;
  readonly notFoundCodes?: readonly string[] | undefined;
  readonly reading?: { readonly [K in keyof CrazyrouterReading]?: readonly string[] | undefined };
  readonly outputHosts?: readonly string[] | undefined;
  readonly callbackMember?: string | undefined;
  readonly signature?: RawHmacScheme | null | undefined;
  /** The clock, for `Retry-After` dates. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://crazyrouter.com';
const QUERY_PATH = '/v1/video/query?id={id}';
const OUTPUT_KEYS = ['video_url', 'video_urls', 'video', 'videos', 'url', 'urls', 'output', 'outputs'];

const SUBMIT: SubmitReader = {
  rules: CRAZYROUTER_SUBMIT_ANSWERS,
  accepted(body) {
    const task = crazyrouterAccepted.safeParse(body).data;
    return task === undefined ? null : { handle: { jobId: task.id }, status: safeCode(task.status) };
  },
  error: crazyrouterError,
};

function readingOf(given: CrazyrouterConfig['reading'] = {}): CrazyrouterReading {
  return {
    running: given.running ?? ['processing', 'queued', 'pending', 'running', 'in_progress'],
    succeeded: given.succeeded ?? ['completed', 'succeeded'],
    failed: given.failed ?? ['failed', 'expired'],
    cancelled: given.cancelled ?? ['cancelled', 'canceled'],
    outputKeys: given.outputKeys ?? OUTPUT_KEYS,
  };
}

function createReader(reading: CrazyrouterReading, notFoundCodes: readonly string[]): JobReader {
  return {
    observation(body, handle) {
      const task = crazyrouterTask.safeParse(body).data;
      return task?.id === handle.jobId ? crazyrouterObservation(task, reading) : null;
    },
    isNoSuchJob: (_status, body) => notFoundCodes.includes(crazyrouterError(body).code ?? ''),
  };
}

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname === 'crazyrouter.com' ? [root.hostname, '*.crazyrouter.com'] : [root.hostname];
}

/**
 * The Crazyrouter adapter: polling only and no idempotency unless configured, no cancel.
 * Throws only for settings or arguments that cannot be right (base URL, idempotency key, unknown input field).
 */
export function createCrazyrouterProvider(config: CrazyrouterConfig): Provider {
  const { root, prefix } = apiRoot('crazyrouter', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const queryPath = config.queryPath ?? QUERY_PATH;
  const reading = readingOf(config.reading);
  const reader = createReader(reading, config.notFoundCodes ?? ['task_not_exist']);
  const callbackMember = config.callbackMember ?? null;
  const signature = config.signature ?? null;

  return {
    name: 'crazyrouter',
    capabilities: {
      idempotency: config.idempotency ?? 'none',
      callbacks: callbackMember === null ? 'none' : signature === null ? 'unsigned' : 'signed',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: 0,
    },
    methods: methodsOf(CRAZYROUTER_FIELDS),
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: (job) => buildCrazyrouterSubmit(job, callbackMember),

    async submit(request, idempotencyKey, options) {
      if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
        throw new Error('Crazyrouter is sent an idempotency key of 1 to 255 visible ASCII characters');
      }
      const headers = { 'content-type': request.contentType, 'idempotency-key': idempotencyKey };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, SUBMIT, nowMs());
    },

    async observe(handle, options) {
      const path = queryPath.replace('{id}', () => encodeURIComponent(handle.jobId));
      return observed(await call('GET', path, options), handle, reader, nowMs());
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    verifyCallback: (headers, rawBody, secrets) =>
      callbackMember === null
        ? { ok: false, reason: 'unverified' }
        : verifyCrazyrouterCallback(headers, rawBody, secrets, { signature, reading }),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Crazyrouter in the registry. */
export const crazyrouter = defineProvider({
  name: 'crazyrouter',
  baseUrl: PUBLIC_URL,
  settings: {
    IDEMPOTENCY: z.enum(['none', 'replay'], 'must be none or replay').optional(),
    QUERY_PATH: pathWithId.optional(),
    NOT_FOUND_CODES: words.optional(),
    STATUS_RUNNING: words.optional(),
    STATUS_SUCCEEDED: words.optional(),
    STATUS_FAILED: words.optional(),
    STATUS_CANCELLED: words.optional(),
    OUTPUT_KEYS: memberNames.optional(),
    OUTPUT_HOSTS: hostList.optional(),
    CALLBACK_MEMBER: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be a member name, for example callback_url')
      .optional(),
    SIGNATURE_HEADER: headerName.optional(),
    SIGNATURE_ENCODING: z.enum(['hex', 'base64'], 'must be hex or base64').default('hex'),
  },
  webhookSecret: ({ CALLBACK_MEMBER: member, SIGNATURE_HEADER: header }) =>
    member === undefined || header === undefined ? 'none' : 'required',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createCrazyrouterProvider({
      http,
      baseUrl,
      nowMs,
      idempotency: settings.IDEMPOTENCY,
      queryPath: settings.QUERY_PATH,
      notFoundCodes: settings.NOT_FOUND_CODES,
      reading: {
        running: settings.STATUS_RUNNING,
        succeeded: settings.STATUS_SUCCEEDED,
        failed: settings.STATUS_FAILED,
        cancelled: settings.STATUS_CANCELLED,
        outputKeys: settings.OUTPUT_KEYS,
      },
      outputHosts: settings.OUTPUT_HOSTS,
      callbackMember: settings.CALLBACK_MEMBER,
      signature:
        settings.SIGNATURE_HEADER === undefined
          ? null
          : { header: settings.SIGNATURE_HEADER, encoding: settings.SIGNATURE_ENCODING },
    }),
});
