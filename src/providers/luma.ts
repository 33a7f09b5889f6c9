/**
 * Luma Agents, API version 2026-04-01 (not Dream Machine, Luma's older API): the PyPI client luma-agents 0.5.0, the source of
 * its TypeScript client 0.3.0 (lumalabs/luma-agents-typescript; npm's registry has none of that name, so only the Python client
 * runs against the simulator, by `npm run interop`), and
 * https://docs.agents.lumalabs.ai/guides/{error-handling,rate-limits,pricing,videos/generation}, all read and none called
 * (providers.md §7b). Left open there, so a setting (PROVIDER_LUMA_…) or an assumption here; check each with
 * `darkroom provider smoke luma`:
 *   hosts of outputs   OUTPUT_HOSTS, default *.lumalabs.ai and *.amazonaws.com for the public API: "presigned S3 URLs" is all
 *                      that is told; else the API's host
 *   life of links      LINK_LIFE_MS, default one hour from each look: every GET signs them anew
 *   content at submit  documented as a failure of the job only; a refusal whose text fits CONTENT_MESSAGE counts as it too
 *   files inline       at most 50 MB each; the size of a whole body is not told, so less here
 *   no such generation a 404 in its error envelope, but for "Not Found": that is a path that its framework does not know, as
 *                      behind a wrong BASE_URL, so it says nothing about a job
 * No callbacks, list, cancel, idempotency key or cost. A generation is seen with the key that made it only: 404 else. By
 * default 30 submits a minute and 10 jobs at once, more are 429. Outputs are fetched without a key. Nothing is ever sent
 * twice by this file.
 */
import type { Provider } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, hostList, milliseconds, pattern } from './definition.ts';
import { bearerCall, observed, type JobReader } from './json-api.ts';
import { lumaSubmitReader } from './luma-answers.ts';
import { buildLumaSubmit, LUMA_METHODS } from './luma-body.ts';
import { lumaObservation } from './luma-observation.ts';
import { lumaGeneration, lumaNoSuchGeneration } from './luma-schemas.ts';
import { readSubmitAnswer } from './submit-answers.ts';

/** Settings of the Luma adapter; `baseUrl` with or without the trailing `/v1`. */
export interface LumaConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  readonly linkLifeMs?: number | undefined;
  readonly contentMessage?: RegExp | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://agents.lumalabs.ai';
const LINK_LIFE_MS = 3_600_000;
const CONTENT_MESSAGE = /moderat|content (policy|guideline)/i;
const INLINE_INPUT_BYTES = 20_000_000;

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.lumalabs.ai') ? ['*.lumalabs.ai', '*.amazonaws.com'] : [root.hostname];
}

/** Answers of Luma about one generation; a 404 counts as its own only with its own words. */
function createReader(linkLifeMs: number, nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const generation = lumaGeneration.safeParse(body).data;
      return generation?.id === handle.jobId ? lumaObservation(generation, linkLifeMs, nowMs()) : null;
    },
    isNoSuchJob: (status, body) => status === 404 && lumaNoSuchGeneration.safeParse(body).success,
  };
}

/**
 * The Luma adapter: polling only, no idempotency, no cancel. Throws only for settings or arguments that cannot be right (base
 * URL, route, unknown input field).
 */
export function createLumaProvider(config: LumaConfig): Provider {
  const { root, prefix } = apiRoot('luma', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const reader = createReader(config.linkLifeMs ?? LINK_LIFE_MS, nowMs);
  const submitReader = lumaSubmitReader(config.contentMessage ?? CONTENT_MESSAGE);

  return {
    name: 'luma',
    capabilities: {
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'unsupported',
      list: false,
      cost: 'none',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    methods: LUMA_METHODS,
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: buildLumaSubmit,

    async submit(request, _idempotencyKey, options) {
      const headers = { 'content-type': request.contentType };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, submitReader, nowMs());
    },

    async observe(handle, options) {
      const answer = await call('GET', `/v1/generations/${encodeURIComponent(handle.jobId)}`, options);
      return observed(answer, handle, reader, nowMs());
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    verifyCallback: () => ({ ok: false, reason: 'unverified' }),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Luma in the registry. */
export const luma = defineProvider({
  name: 'luma',
  baseUrl: PUBLIC_URL,
  settings: {
    OUTPUT_HOSTS: hostList.optional(),
    LINK_LIFE_MS: milliseconds.optional(),
    CONTENT_MESSAGE: pattern.optional(),
  },
  webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createLumaProvider({
      http,
      baseUrl,
      nowMs,
      outputHosts: settings.OUTPUT_HOSTS,
      linkLifeMs: settings.LINK_LIFE_MS,
      contentMessage: settings.CONTENT_MESSAGE,
    }),
});
