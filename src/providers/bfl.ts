/**
 * Black Forest Labs (FLUX), API v1: api.bfl.ai's OpenAPI as clients quote it (StatusResponse, AsyncResponse,
 * AsyncWebhookResponse, SettledCostResultResponse), docs.bfl.ai/api_integration/errors, help.bfl.ai, the vendor's skills
 * (black-forest-labs/skills) and @ai-sdk/black-forest-labs (providers.md §13); read, none called. Where they are silent or
 * disagree, a setting (PROVIDER_BFL_…) or an assumption; check each with `darkroom provider smoke bfl`:
 *   hosts for the key     POLLING_HOSTS, default *.bfl.ai: the API answers with the URL of the cluster that has the task, and
 *                         only there it is surely known. Scheme and port are those of the base URL, whose own host always
 *                         counts. A URL elsewhere is not called: the task is then looked at below the base URL
 *   webhooks              SIGNATURE_HEADER, default x-bfl-signature: only a tutorial of the vendor names it. The secret is
 *                         named by each submit, so there is no PROVIDER_BFL_WEBHOOK_SECRET; without one nothing is signed
 *   hosts of outputs      OUTPUT_HOSTS, default *.bfl.ai and bfldeliveryprod.blob.core.windows.net; they need no key
 *   life of links         the `se` of the link's own signature, else LINK_TTL_MS, default 10 minutes. A link that is over by
 *                         our clock is fetched all the same
 *   unit of `cost`        COST_UNIT, default credits, of which 100 are 1 USD. Estimated at the submit, settled with the
 *                         result of some models; what is not Ready costs nothing
 *   task not found        also said of an expired task, and (not documented) of one that another cluster has. So it counts
 *                         only where the polling URL sent us; without one, as a submit with a webhook may be answered, it
 *                         says nothing about the task
 *   HTTP status           of a look is 200 whatever became of the task; seen by others with 503: a body that names our task
 *                         and a documented status is believed under every status
 *   files inline          as bare base64, used without PUBLIC_URL only: up to 20 million characters, seen by others; URLs are
 *                         preferred
 *   503 to a submit       proves nothing, though it means a lack of capacity
 * No idempotency, lookup, list or cancel. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, Observation, Provider } from '../domain/provider.ts';
import type { OutboundAnswer, OutboundHttp, OutboundRequest } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { bflSubmitReader } from './bfl-answers.ts';
import { BFL_METHODS, buildBflSubmit } from './bfl-body.ts';
import { verifyBflCallback } from './bfl-callback.ts';
import { bflMeaning, bflObservation } from './bfl-observation.ts';
import { bflTask } from './bfl-schemas.ts';
import { bflHandle, bflPollingUrl } from './bfl-urls.ts';
import { costUnit, defineProvider, headerName, hostList } from './definition.ts';
import { unavailable } from './json-api.ts';
import { parseJsonBytes } from './json-answer.ts';
import { readSubmitAnswer } from './submit-answers.ts';

/** Settings of the BFL adapter; see the head of this file. */
export interface BflConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly pollingHosts?: readonly string[] | undefined;
  readonly outputHosts?: readonly string[] | undefined;
  readonly signatureHeader?: string | undefined;
  readonly costUnit?: string | undefined;
  readonly linkTtlMs?: number | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://api.bfl.ai';
const OWN_HOSTS = ['*.bfl.ai'];
const OUTPUT_HOSTS = [...OWN_HOSTS, 'bfldeliveryprod.blob.core.windows.net'];
const SIGNATURE_HEADER = 'x-bfl-signature';
const LINK_TTL_MS = 600_000;
/** "Task not found" at a place that nobody named: another cluster may have the task. */
const UNKNOWN_HERE: Observation = {
  kind: 'unavailable',
  reason: 'task_not_found',
  denied: false,
  retryAfterMs: null,
};
/** As base64 20 million characters. */
const INLINE_INPUT_BYTES = 15_000_000;

/**
 * The BFL adapter: no idempotency, callbacks signed with the secret of their own submit, no cancel.
 * Throws only for settings or arguments that cannot be right (base URL, providerModel, unknown input field).
 */
export function createBflProvider(config: BflConfig): Provider {
  const { root, prefix } = apiRoot('bfl', config.baseUrl, PUBLIC_URL);
  const isBfl = root.hostname.endsWith('.bfl.ai');
  const place = { root, prefix, pollingHosts: config.pollingHosts ?? (isBfl ? OWN_HOSTS : []) };
  const nowMs = config.nowMs ?? Date.now;
  const reading = { costUnit: config.costUnit ?? 'credits', linkTtlMs: config.linkTtlMs ?? LINK_TTL_MS };
  const submitReader = bflSubmitReader(place, reading.costUnit);
  /** The key goes with every call, so only to the base URL and where bfl-urls.ts lets it. */
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
      ...more,
      headers: { accept: 'application/json', 'x-key': credential.apiKey, ...more.headers },
    });

  return {
    name: 'bfl',
    capabilities: {
      idempotency: 'none',
      callbacks: 'signed',
      cancel: 'unsupported',
      list: false,
      cost: 'final',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    ownCallbackSecrets: true,
    methods: BFL_METHODS,
    outputHosts: config.outputHosts ?? (isBfl ? OUTPUT_HOSTS : [root.hostname]),
    buildSubmit: buildBflSubmit,

    async submit({ method, path, contentType, body }, _idempotencyKey, options) {
      const headers = { 'content-type': contentType };
      const answer = await call(method, `${prefix}${path}`, options, { headers, body });
      return readSubmitAnswer(answer, submitReader, nowMs());
    },

    async observe(handle, options): Promise<Observation> {
      const { url, isTold } = bflPollingUrl(place, handle);
      const answer = await call('GET', url, options);
      if (answer.kind !== 'answer') return unavailable(answer, nowMs());
      const task = bflTask.safeParse(parseJsonBytes(answer.body)).data;
      const isOk = answer.status >= 200 && answer.status < 300;
      const isOurs = task !== undefined && (task.id ?? (isOk ? handle.jobId : null)) === handle.jobId;
      if (!isOurs || (!isOk && bflMeaning(task.status) === undefined)) return unavailable(answer, nowMs());
      const observation = bflObservation(task, reading, nowMs());
      return observation.kind === 'not_found' && !isTold ? UNKNOWN_HERE : observation;
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),
    verifyCallback: (headers, rawBody, secrets) =>
      verifyBflCallback(headers, rawBody, secrets, config.signatureHeader ?? SIGNATURE_HEADER),
    handleFromJobId: (jobId) => bflHandle(place, jobId),
    downloadAuth: () => ({}),
  };
}

/** BFL in the registry. */
export const bfl = defineProvider({
  name: 'bfl',
  baseUrl: PUBLIC_URL,
  settings: {
    POLLING_HOSTS: hostList.optional(),
    OUTPUT_HOSTS: hostList.optional(),
    SIGNATURE_HEADER: headerName.optional(),
    COST_UNIT: costUnit.optional(),
    LINK_TTL_MS: z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'must be milliseconds, from 1 to 999999999')
      .transform(Number)
      .optional(),
  },
  webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createBflProvider({
      http,
      baseUrl,
      nowMs,
      pollingHosts: settings.POLLING_HOSTS,
      outputHosts: settings.OUTPUT_HOSTS,
      signatureHeader: settings.SIGNATURE_HEADER,
      costUnit: settings.COST_UNIT,
      linkTtlMs: settings.LINK_TTL_MS,
    }),
});
