/**
 * Runway, API version 2024-11-06 (providers.md §6, and @runwayml/sdk 4.20.1, which knows `estimatedCost` and `cost`). Not
 * given or not tried by us, so a setting here; check each with `darkroom provider smoke runway`:
 *   version header           `apiVersion`
 *   429 is the daily quota   a rolling 24 h of the organisation; without Retry-After `quotaRetryMs`, default one hour
 *   no credits               HTTP 400 with a text: `creditsMessage`
 *   moderated at submit      HTTP 400 with a text: `contentMessage`
 *   life of links            24 to 48 h from each look: `linkLifeMs`, default 24 h
 *   hosts of outputs         `outputHosts`, default two hosts that answers were seen with
 *   a cancelled task         404, or status CANCELLED with what stays charged: both are read; a 404 tells no cost
 * There are no callbacks and no list, and a submit whose answer was lost can't be found. Tasks should not be looked at more
 * often than every 5 s: set the catalogue's `pollInitialMs`. Outputs are fetched without a key. Nothing is ever sent
 * twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, CancelAnswer, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import type { OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, hostList } from './definition.ts';
import { parseJsonBytes } from './json-answer.ts';
import { readRunwaySubmit } from './runway-answers.ts';
import { buildRunwaySubmit, RUNWAY_METHODS } from './runway-body.ts';
import { runwayObservation } from './runway-observation.ts';
import { runwayError, runwayTask } from './runway-schemas.ts';
import { timeLeft } from './time-left.ts';

/** Settings of the Runway adapter; see the head of this file. */
export interface RunwayConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly apiVersion?: string | undefined;
  readonly outputHosts?: readonly string[] | undefined;
  readonly linkLifeMs?: number | undefined;
  readonly quotaRetryMs?: number | undefined;
  readonly creditsMessage?: RegExp | undefined;
  readonly contentMessage?: RegExp | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://api.dev.runwayml.com';
const API_VERSION = '2024-11-06';
const LINK_LIFE_MS = 86_400_000;
const QUOTA_RETRY_MS = 3_600_000;
const CREDITS_MESSAGE = /(not|in)\s*(have )?(enough|sufficient) credits/i;
const CONTENT_MESSAGE = /moderat|safety|content policy/i;
/**
 * The encoded `data:` URI must be under 5 MiB, for which Runway itself names 3.3 MB of file
 * (https://docs.dev.runwayml.com/assets/inputs). URLs: https, a domain name, no redirect, HEAD answered, at most 16 MB.
 */
const INLINE_INPUT_BYTES = 3_300_000;
const OUTPUT_HOSTS = ['dnznrvs05pmza.cloudfront.net', 'd2jqrm6oza8nb6.cloudfront.net'];

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.runwayml.com') ? OUTPUT_HOSTS : [root.hostname];
}

function unavailable(answer: OutboundAnswer, nowMs: number): Extract<Observation, { kind: 'unavailable' }> {
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

const succeededCall = (answer: OutboundAnswer) =>
  answer.kind === 'answer' && answer.status >= 200 && answer.status < 300;

/**
 * The Runway adapter: polling only, no idempotency, final costs, a cancel that it never lets destroy a finished task.
 * Throws only for settings or arguments that cannot be right (base URL, unknown field).
 */
export function createRunwayProvider(config: RunwayConfig): Provider {
  const { root, prefix } = apiRoot('runway', config.baseUrl, PUBLIC_URL);
  const nowMs = config.nowMs ?? Date.now;
  const linkLifeMs = config.linkLifeMs ?? LINK_LIFE_MS;
  const reading = {
    creditsMessage: config.creditsMessage ?? CREDITS_MESSAGE,
    contentMessage: config.contentMessage ?? CONTENT_MESSAGE,
    quotaRetryMs: config.quotaRetryMs ?? QUOTA_RETRY_MS,
  };
  const call = (method: 'GET' | 'POST' | 'DELETE', path: string, options: CallOptions, body?: string) =>
    config.http.request({
      method,
      url: `${prefix}${path}`,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${options.credential.apiKey}`,
        'x-runway-version': config.apiVersion ?? API_VERSION,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: options.timeoutMs,
    });
  const taskPath = ({ jobId }: ProviderHandle) => `/v1/tasks/${encodeURIComponent(jobId)}`;

  /** A 404 counts as Runway's own only with its error envelope: a proxy's page says nothing about the task. */
  const observe = async (handle: ProviderHandle, options: CallOptions): Promise<Observation> => {
    const answer = await call('GET', taskPath(handle), options);
    if (answer.kind !== 'answer') return unavailable(answer, nowMs());
    const body = parseJsonBytes(answer.body);
    if (answer.status === 404 && runwayError.safeParse(body).success) return { kind: 'not_found' };
    const task = succeededCall(answer) ? runwayTask.safeParse(body).data : undefined;
    if (task?.id !== handle.jobId) return unavailable(answer, nowMs());
    return runwayObservation(task, linkLifeMs, nowMs());
  };

  /**
   * DELETE stops an unfinished task and destroys a finished one, so the task is looked at right before, and again after: its
   * end may have come between. A task that is gone before our DELETE was gone without us. The time is for all three.
   */
  const cancel = async (handle: ProviderHandle, options: CallOptions): Promise<CancelAnswer> => {
    const left = timeLeft(options);
    const before = await observe(handle, options);
    if (before.kind === 'unavailable') return { kind: 'unavailable', reason: before.reason };
    if (before.kind === 'not_found') return { kind: 'unavailable', reason: 'not_found' };
    if (before.kind !== 'running') return { kind: 'answered', observation: before };
    if (before.unknownStatus) return { kind: 'unavailable', reason: 'unknown_status' };
    const answer = await call('DELETE', taskPath(handle), left());
    if (answer.kind === 'not_sent') return { kind: 'unavailable', reason: answer.reason };
    const after = await observe(handle, left());
    if (after.kind !== 'running' && after.kind !== 'unavailable') {
      return { kind: 'answered', observation: after };
    }
    if (!succeededCall(answer)) return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
    return { kind: 'answered', observation: after.kind === 'running' ? after : before };
  };

  return {
    name: 'runway',
    capabilities: {
      idempotency: 'none',
      callbacks: 'none',
      cancel: 'may_bill',
      list: false,
      cost: 'final',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    methods: RUNWAY_METHODS,
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: buildRunwaySubmit,

    async submit(request, _idempotencyKey, options) {
      return readRunwaySubmit(
        await call(request.method, request.path, options, request.body),
        reading,
        nowMs(),
      );
    },

    observe,
    cancel,
    verifyCallback: () => ({ ok: false, reason: 'unverified' }),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Runway in the registry. */
export const runway = defineProvider({
  name: 'runway',
  baseUrl: PUBLIC_URL,
  settings: {
    API_VERSION: z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2}$/, `must be a date, for example ${API_VERSION}`)
      .optional(),
    QUOTA_RETRY_MS: z
      .string()
      .regex(/^\d{1,8}$/, 'must be milliseconds, at most 99999999')
      .transform(Number)
      .optional(),
    OUTPUT_HOSTS: hostList.optional(),
  },
  webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createRunwayProvider({
      http,
      baseUrl,
      nowMs,
      apiVersion: settings.API_VERSION,
      quotaRetryMs: settings.QUOTA_RETRY_MS,
      outputHosts: settings.OUTPUT_HOSTS,
    }),
});
