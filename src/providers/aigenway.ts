/**
 * Aigenway, API v1: the article (providers.md §3), the vendor's pages www.aigenway.com/en/docs/{task-lifecycle,webhooks,
 * idempotency,kling}, and its own service code, all read and none called. Where they are silent or disagree, a setting
 * (PROVIDER_AIGENWAY_…) or an assumption; check each with `darkroom provider smoke aigenway`:
 *   signature         SIGNATURE_HEADER, default x-aggregator-signature; SIGNATURE_ENCODING, hex (default) or base64. It is
 *                     `sha256=` and the HMAC-SHA256 of the raw body, keyed with the secret as it stands; no time in it
 *   length of a video `duration` in the article, `duration_seconds` in the Kling guide: a route's `$fields` names it
 *   files             DOWNLOAD_KEY, default true: the pages say that no key is needed, the service asks for one; it is sent
 *                     to the API's own origin only. OUTPUT_HOSTS, default the API's host and *.aigenway.com
 *   status strings    upper case in answers, lower case in webhooks
 *   reserved_amount   100,000,000 units are 1 USD; the charged amount stands in the webhook only
 *   cancel, list      not documented, so not offered; content codes are the usual ones
 * A key is replayed for 24 h; while its first request runs (at most 30 s) it is idempotency_key_in_use. Nothing is ever
 * sent twice by this file.
 */
import { z } from 'zod';
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { AIGENWAY_SUBMIT_ANSWERS } from './aigenway-answers.ts';
import { AIGENWAY_METHODS, buildAigenwaySubmit } from './aigenway-body.ts';
import { verifyAigenwayCallback } from './aigenway-callback.ts';
import { listAigenwayModels } from './aigenway-models.ts';
import { aigenwayCost, aigenwayObservation } from './aigenway-observation.ts';
import { aigenwayAccepted, aigenwayError, aigenwayTask } from './aigenway-schemas.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, headerName, hostList, yesOrNo } from './definition.ts';
import { bearerCall, observed, type JobReader } from './json-api.ts';
import { safeCode } from './json-answer.ts';
import type { RawHmacScheme } from './raw-hmac.ts';
import { readSubmitAnswer, type SubmitReader } from './submit-answers.ts';

/** Settings of the Aigenway adapter; see the head of this file. */
export interface AigenwayConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly signature?: Partial<RawHmacScheme> | undefined;
  readonly outputHosts?: readonly string[] | undefined;
  readonly downloadKey?: boolean | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://api.aigenway.com';
const SIGNATURE: RawHmacScheme = { header: 'x-aggregator-signature', encoding: 'hex' };

const SUBMIT: SubmitReader = {
  rules: AIGENWAY_SUBMIT_ANSWERS,
  accepted(body) {
    const task = aigenwayAccepted.safeParse(body).data;
    if (task === undefined) return null;
    const cost = aigenwayCost(task.reserved_amount);
    return { handle: { jobId: task.task_id }, status: safeCode(task.status), cost };
  },
  error: (body) => ({ code: aigenwayError.safeParse(body).data?.error.code ?? null, type: null }),
  retryAfterMs(body) {
    const seconds = aigenwayError.safeParse(body).data?.error.details?.retryAfterSeconds ?? null;
    return seconds === null ? null : Math.round(Math.min(seconds, 86_400) * 1_000);
  },
};

function createReader(nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const task = aigenwayTask.safeParse(body).data;
      return task?.id === handle.jobId ? aigenwayObservation(task, nowMs()) : null;
    },
    isNoSuchJob: (status, body) => status === 404 && aigenwayError.safeParse(body).success,
  };
}

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.aigenway.com') ? [root.hostname, '*.aigenway.com'] : [root.hostname];
}

/**
 * The Aigenway adapter: `replay` idempotency, callbacks signed over the raw body, no cancel.
 * Throws only for settings or arguments that cannot be right (base URL, idempotency key, route, unknown input field).
 */
export function createAigenwayProvider(config: AigenwayConfig): Provider {
  const { root, prefix } = apiRoot('aigenway', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const reader = createReader(nowMs);
  const signature = { ...SIGNATURE, ...config.signature };
  const downloadKey = config.downloadKey ?? true;

  return {
    name: 'aigenway',
    capabilities: {
      idempotency: 'replay',
      callbacks: 'signed',
      cancel: 'unsupported',
      list: false,
      cost: 'estimate',
      inlineInputBytes: 0,
    },
    methods: AIGENWAY_METHODS,
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: buildAigenwaySubmit,

    async submit(request, idempotencyKey, options) {
      if (!/^[A-Za-z0-9_:-]{1,255}$/.test(idempotencyKey)) {
        throw new Error('Aigenway takes an idempotency key of 1 to 255 letters, digits, "_", ":" and "-"');
      }
      const headers = { 'content-type': request.contentType, 'idempotency-key': idempotencyKey };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, SUBMIT, nowMs());
    },

    async observe(handle, options) {
      const answer = await call('GET', `/v1/tasks/${encodeURIComponent(handle.jobId)}`, options);
      return observed(answer, handle, reader, nowMs());
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    listModels: (job, options) => listAigenwayModels(call, job, options),
    verifyCallback: (headers, rawBody, secrets) =>
      verifyAigenwayCallback(headers, rawBody, secrets, signature),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: (url, { apiKey }) =>
      downloadKey && url.origin === root.origin ? { authorization: `Bearer ${apiKey}` } : {},
  };
}

/** Aigenway in the registry. */
export const aigenway = defineProvider({
  name: 'aigenway',
  baseUrl: PUBLIC_URL,
  settings: {
    SIGNATURE_HEADER: headerName.default(SIGNATURE.header),
    SIGNATURE_ENCODING: z.enum(['hex', 'base64'], 'must be hex or base64').default(SIGNATURE.encoding),
    OUTPUT_HOSTS: hostList.optional(),
    DOWNLOAD_KEY: yesOrNo.optional(),
  },
  webhookSecret: 'required',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createAigenwayProvider({
      http,
      baseUrl,
      nowMs,
      signature: { header: settings.SIGNATURE_HEADER, encoding: settings.SIGNATURE_ENCODING },
      outputHosts: settings.OUTPUT_HOSTS,
      downloadKey: settings.DOWNLOAD_KEY,
    }),
});
