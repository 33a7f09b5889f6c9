/**
 * INFRO, API v1 (providers.md §2). Not given by its documentation, so a setting (PROVIDER_INFRO_…) or an assumption here;
 * check each with `darkroom provider smoke infro`:
 *   cancel path           CANCEL_PATH, default /v1/jobs/{id}/cancel (POST); `none` = no cancel is offered
 *   URL inside `output`   OUTPUT_KEYS, default a string, or url(s), video(s), file(s) in it
 *   `expires_at`          on the job or inside `output`, unix seconds
 *   hosts of outputs      OUTPUT_HOSTS, default the API's host, and *.infro.io for the public API
 *   unit of `usage.cost`  COST_UNIT, default USD
 *   error envelope        `error.type` beside the documented `error.code`; content and validation codes
 *   429                   Retry-After, if sent
 * Outputs are fetched without a key. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CancelAnswer, Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { canonicalJson } from '../domain/json.ts';
import { apiRoot } from './api-root.ts';
import { costUnit, defineProvider, hostList, memberNames, pathWithId } from './definition.ts';
import { verifyInfroCallback } from './infro-callback.ts';
import { observationOf, type InfroReading } from './infro-observation.ts';
import { INFRO_SUBMIT_ANSWERS } from './infro-answers.ts';
import { infroAccepted, infroError, infroJob, infroPage } from './infro-schemas.ts';
import { bearerCall, observed, unavailable, type JobReader } from './json-api.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { readSubmitAnswer, type SubmitReader } from './submit-answers.ts';
import { methodsOf, namedInput, withParams, type MethodFields } from './submit-body.ts';

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

const PUBLIC_URL = 'https://api.infro.io';
const DEFAULT_CANCEL_PATH = '/v1/jobs/{id}/cancel';
const DEFAULT_OUTPUT_KEYS = ['url', 'urls', 'video', 'videos', 'file', 'files'];
const MAX_PAGE = 100;
const FIELDS = {
  'text-to-video': { prompt: 'prompt', duration_seconds: 'duration_seconds' },
} satisfies MethodFields;

const SUBMIT: SubmitReader = {
  rules: INFRO_SUBMIT_ANSWERS,
  accepted(body) {
    const job = infroAccepted.safeParse(body).data;
    return job === undefined ? null : { handle: { jobId: job.id }, status: safeCode(job.status) };
  },
  error(body) {
    const error = infroError.safeParse(body).data?.error;
    return { code: error?.code ?? null, type: error?.type ?? null };
  },
};

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.infro.io') ? [root.hostname, '*.infro.io'] : [root.hostname];
}

/** Answers of INFRO about one job; a 404 counts as its own only with its error envelope. */
function createReader(reading: InfroReading, nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const job = infroJob.safeParse(body);
      return job.success && job.data.id === handle.jobId ? observationOf(job.data, reading, nowMs()) : null;
    },
    isNoSuchJob: (status, body) => status === 404 && infroError.safeParse(body).success,
  };
}

/**
 * The INFRO adapter: `replay` idempotency (24 h), signed callbacks, cancel that only stops the tracking, list.
 * Throws only for settings or arguments that cannot be right (base URL, idempotency key, unknown input field).
 */
export function createInfroProvider(config: InfroConfig): Provider {
  const { root, prefix } = apiRoot('infro', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const cancelPath = config.cancelPath === undefined ? DEFAULT_CANCEL_PATH : config.cancelPath;
  const outputKeys = config.outputKeys ?? DEFAULT_OUTPUT_KEYS;
  const reader = createReader({ outputKeys, costUnit: config.costUnit ?? 'USD' }, nowMs);

  return {
    name: 'infro',
    capabilities: {
      idempotency: 'replay',
      callbacks: 'signed',
      // It stops INFRO's tracking; the render behind it goes on and may be billed.
      cancel: cancelPath === null ? 'unsupported' : 'may_bill',
      // Its list shows nothing of ours, so it can match no lost answer.
      list: false,
      cost: 'estimate',
      inlineInputBytes: 0,
    },
    methods: methodsOf(FIELDS),
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),

    buildSubmit(job) {
      const { providerModel: model, callbackUrl, params } = job;
      const webhook = callbackUrl === null ? {} : { webhook: { url: callbackUrl } };
      const own = { ...namedInput('infro', FIELDS, job), model, ...webhook };
      return {
        method: 'POST',
        path: '/v1/videos',
        contentType: 'application/json',
        body: canonicalJson(withParams('infro', own, params)),
      };
    },

    async submit(request, idempotencyKey, options) {
      if (!/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
        throw new Error('INFRO takes an idempotency key of 1 to 255 visible ASCII characters');
      }
      const headers = { 'content-type': request.contentType, 'idempotency-key': idempotencyKey };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, SUBMIT, nowMs());
    },

    async observe(handle, options) {
      const answer = await call('GET', `/v1/jobs/${encodeURIComponent(handle.jobId)}`, options);
      return observed(answer, handle, reader, nowMs());
    },

    async cancel(handle, options): Promise<CancelAnswer> {
      if (cancelPath === null) return { kind: 'unsupported' };
      const path = cancelPath.replace('{id}', () => encodeURIComponent(handle.jobId));
      const answer = await call('POST', path, options);
      const observation = observed(answer, handle, reader, nowMs());
      if (observation.kind === 'not_found') return { kind: 'unavailable', reason: 'http_404' };
      if (observation.kind === 'unavailable') return { kind: 'unavailable', reason: observation.reason };
      return { kind: 'answered', observation };
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
      const jobs = page.data.map((job) => ({
        handle: { jobId: job.id },
        status: safeCode(job.status),
        callbackUrl: null,
        externalId: null,
      }));
      return { kind: 'page', jobs, nextCursor: page.has_more ? (page.next_cursor ?? null) : null };
    },

    verifyCallback: verifyInfroCallback,
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** INFRO in the registry. */
export const infro = defineProvider({
  name: 'infro',
  baseUrl: PUBLIC_URL,
  settings: {
    CANCEL_PATH: z.union([z.literal('none').transform(() => null), pathWithId]).optional(),
    OUTPUT_KEYS: memberNames.optional(),
    OUTPUT_HOSTS: hostList.optional(),
    COST_UNIT: costUnit.optional(),
  },
  webhookSecret: 'required',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createInfroProvider({
      http,
      baseUrl,
      nowMs,
      cancelPath: settings.CANCEL_PATH,
      outputKeys: settings.OUTPUT_KEYS,
      outputHosts: settings.OUTPUT_HOSTS,
      costUnit: settings.COST_UNIT,
    }),
});
