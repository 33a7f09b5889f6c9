/**
 * Tidewater, API v1.
 * [change] the version of its API, the pages that were read, and below every fact that they leave open
 * Each of these is a setting (PROVIDER_TIDEWATER_…) or an assumption; check them with `darkroom provider smoke tidewater`:
 *   hosts of outputs   OUTPUT_HOSTS, default the API's host
 *   content codes      the usual ones
 *   cost               credits, told with the job
 *   cancel, list       not documented, so not offered
 * Outputs are fetched without a key. Nothing is ever sent twice by this file.
 */
import type { Provider } from '../../../src/domain/provider.ts';
import type { OutboundHttp } from '../../../src/net/types.ts';
import { apiRoot } from '../../../src/providers/api-root.ts';
import { defineProvider, hostList } from '../../../src/providers/definition.ts';
import { safeCode } from '../../../src/providers/json-answer.ts';
import { bearerCall, observed, type JobReader } from '../../../src/providers/json-api.ts';
import { readSubmitAnswer, type SubmitReader } from '../../../src/providers/submit-answers.ts';
import { TIDEWATER_SUBMIT_ANSWERS } from './answers.ts';
import { buildTidewaterSubmit, TIDEWATER_METHODS } from './body.ts';
import { verifyTidewaterCallback } from './callback-signed.ts'; // [signed, unsigned]
import { tidewaterObservation } from './observation.ts';
import { tidewaterAccepted, tidewaterError, tidewaterJob } from './schemas.ts';

/** Settings of the Tidewater adapter; `baseUrl` with or without the trailing `/v1`. */
export interface TidewaterConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

// [change] its public API
const PUBLIC_URL = 'https://api.tidewater.example';

const SUBMIT: SubmitReader = {
  rules: TIDEWATER_SUBMIT_ANSWERS,
  accepted(body) {
    const job = tidewaterAccepted.safeParse(body).data;
    return job === undefined ? null : { handle: { jobId: job.id }, status: safeCode(job.status) };
  },
  error: (body) => ({ code: tidewaterError.safeParse(body).data?.error.code ?? null, type: null }),
};

/** Answers of Tidewater about one job; a 404 counts as its own only with its error envelope. */
function createReader(nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const job = tidewaterJob.safeParse(body).data;
      return job?.id === handle.jobId ? tidewaterObservation(job, nowMs()) : null;
    },
    isNoSuchJob: (status, body) => status === 404 && tidewaterError.safeParse(body).success,
  };
}

/**
 * The Tidewater adapter. Throws only for settings or arguments that cannot be right (base URL, route, unknown input
 * field).
 */
export function createTidewaterProvider(config: TidewaterConfig): Provider {
  const { root, prefix } = apiRoot('tidewater', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const reader = createReader(nowMs);

  return {
    name: 'tidewater',
    // [change] promises that decide about money: where you are not sure leave none, unsupported, may_bill, false and 0
    capabilities: {
      idempotency: 'none',
      callbacks: 'signed', // [signed]
      // [unsigned] callbacks: 'unsigned',
      // [none] callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'final',
      inlineInputBytes: 0,
    },
    // <signed>
    // [change] where each submit names the secret of its callbacks: ownCallbackSecrets: true, and webhookSecret: 'none' (bfl.ts)
    // </signed>
    methods: TIDEWATER_METHODS,
    // [change] the hosts of its links, where they are not the API's own: what is not listed is never fetched
    outputHosts: config.outputHosts ?? [root.hostname],

    buildSubmit: buildTidewaterSubmit,

    async submit(request, _idempotencyKey, options) {
      const headers = { 'content-type': request.contentType };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, SUBMIT, nowMs());
    },

    // [change] the path of a look
    async observe(handle, options) {
      const answer = await call('GET', `/v1/jobs/${encodeURIComponent(handle.jobId)}`, options);
      return observed(answer, handle, reader, nowMs());
    },

    // [change] where it has them: cancel and list as in infro.ts, find as in kling.ts, a key of a submit as in aigenway.ts
    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    // <signed, unsigned>
    // [change] where it checks a callback URL before it calls there: challengeAnswer, as in minimax.ts
    verifyCallback: verifyTidewaterCallback,
    // </signed, unsigned>
    // [none] verifyCallback: () => ({ ok: false, reason: 'unverified' }),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Tidewater in the registry. */
export const tidewater = defineProvider({
  name: 'tidewater',
  baseUrl: PUBLIC_URL,
  settings: { OUTPUT_HOSTS: hostList.optional() },
  webhookSecret: 'required', // [signed]
  // [unsigned, none] webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createTidewaterProvider({ http, baseUrl, nowMs, outputHosts: settings.OUTPUT_HOSTS }),
});
