/**
 * Kling, API generation 3.0 (providers.md §10, and Kling's own pages text-to-video, image-to-video, callbacks and
 * error-codes). Not given or not tried by us, so a setting here; check each with `darkroom provider smoke kling`:
 *   answer to a used external id   `duplicateCodes`, default none, or `duplicateMessage`, default a text that names the
 *                                  id or says duplicate, exists, unique; both mean unknown, so the task is looked up
 *   failed by moderation           `contentMessage`: there is no code, only a text; default risk control, policy,
 *                                  sensitive and the like
 *   a task that is not there       an empty list, or code 1203
 *   life of links                  `outputTtlMs`, default 30 days after the task's last update
 *   hosts of outputs               `outputHosts`, default *.klingai.com and *.kechuangai.com for the public API
 *   signed callbacks               `signedCallbacks`, default false: Kling signs once a webhook secret is made in its
 *                                  console; a secret that we are given is checked in any case
 *   files inline                   not offered: generation 1 takes bare Base64, what 3.0 takes in `url` is not said
 *   order of the list              newest first is assumed; jobs are matched by external id only
 * Offered is the current API key; the older AccessKey pair with its half-hour tokens is not. There is no cancel.
 * Outputs are fetched without a key. Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, hostList } from './definition.ts';
import { safeCode } from './json-answer.ts';
import { buildKlingSubmit, isKlingExternalId, KLING_METHODS } from './kling-body.ts';
import { verifyKlingCallback } from './kling-callback.ts';
import { klingData, oneKlingTask } from './kling-data.ts';
import { klingObservation } from './kling-observation.ts';
import { klingPage, klingTasks } from './kling-schemas.ts';
import { readKlingSubmit } from './kling-submit-answer.ts';

/** Settings of the Kling adapter; see the head of this file. */
export interface KlingConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  readonly outputTtlMs?: number | undefined;
  readonly duplicateCodes?: readonly string[] | undefined;
  readonly duplicateMessage?: RegExp | undefined;
  readonly contentMessage?: RegExp | undefined;
  readonly signedCallbacks?: boolean | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://api-singapore.klingai.com';
const OUTPUT_TTL_MS = 30 * 86_400_000;
const MAX_PAGE = 500;
const DUPLICATE_MESSAGE = /external_?(task_?)?id|duplicat|already (exist|used)|must be unique|重复|已存在/i;
const CONTENT_MESSAGE =
  /risk control|content (security|safety|policy|risk)|moderation|sensitive|prohibited|violat|风控|敏感|违规/i;

function defaultOutputHosts(root: URL): readonly string[] {
  return root.hostname.endsWith('.klingai.com') ? ['*.klingai.com', '*.kechuangai.com'] : [root.hostname];
}

/**
 * The Kling adapter: `lookup` idempotency by external id, callbacks as hints (signed or not), final costs, list, no cancel.
 * Throws only for settings or arguments that cannot be right (base URL, model, key, unknown field).
 */
export function createKlingProvider(config: KlingConfig): Provider {
  const { root, prefix } = apiRoot('kling', config.baseUrl, PUBLIC_URL);
  const nowMs = config.nowMs ?? Date.now;
  const signed = config.signedCallbacks ?? false;
  const reading = {
    outputTtlMs: config.outputTtlMs ?? OUTPUT_TTL_MS,
    contentMessage: config.contentMessage ?? CONTENT_MESSAGE,
    duplicateCodes: config.duplicateCodes ?? [],
    duplicateMessage: config.duplicateMessage ?? DUPLICATE_MESSAGE,
  };
  const call = (method: 'GET' | 'POST', path: string, options: CallOptions, body?: string) =>
    config.http.request({
      method,
      url: `${prefix}${path}`,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${options.credential.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: options.timeoutMs,
    });
  const query = async (
    name: 'task_ids' | 'external_task_ids',
    ids: readonly string[],
    options: CallOptions,
  ) =>
    klingData(await call('GET', `/tasks?${name}=${ids.map(encodeURIComponent).join(',')}`, options), nowMs());
  const observe = async ({ jobId }: ProviderHandle, options: CallOptions): Promise<Observation> => {
    const task = oneKlingTask(await query('task_ids', [jobId], options), ({ id }) => id === jobId);
    return 'kind' in task ? task : klingObservation(task, reading, nowMs());
  };

  return {
    name: 'kling',
    capabilities: {
      idempotency: 'lookup',
      callbacks: signed ? 'signed' : 'unsigned',
      cancel: 'unsupported',
      list: true,
      cost: 'final',
      inlineInputBytes: 0,
    },
    methods: KLING_METHODS,
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: buildKlingSubmit,

    async submit(request, _idempotencyKey, options) {
      const answer = await call(request.method, request.path, options, request.body);
      return readKlingSubmit(answer, reading, nowMs());
    },

    observe,

    async observeMany(handles, options) {
      const data = await query(
        'task_ids',
        handles.map(({ jobId }) => jobId),
        options,
      );
      if (data.kind === 'unavailable') return handles.map(() => data);
      const tasks = data.kind === 'data' ? (klingTasks.safeParse(data.data).data ?? []) : [];
      return Promise.all(
        handles.map(async (handle) => {
          const task = tasks.find(({ id }) => id === handle.jobId);
          // One that is missing among others proves nothing: it is asked for alone.
          return task === undefined ? observe(handle, options) : klingObservation(task, reading, nowMs());
        }),
      );
    },

    cancel: () => Promise.resolve({ kind: 'unsupported' }),

    async find(idempotencyKey, options) {
      if (!isKlingExternalId(idempotencyKey))
        throw new Error('kling: this key was never an external task id');
      const task = oneKlingTask(
        await query('external_task_ids', [idempotencyKey], options),
        ({ external_id: externalId }) => externalId === idempotencyKey,
      );
      return 'kind' in task ? task : { kind: 'found', handle: { jobId: task.id } };
    },

    async list(window, options) {
      const limit = Math.min(MAX_PAGE, Math.max(1, window.limit));
      const body = JSON.stringify(window.after === null ? { limit } : { limit, cursor: window.after });
      const data = klingData(await call('POST', '/tasks', options, body), nowMs());
      const page = data.kind === 'data' ? klingPage.safeParse(data.data).data : undefined;
      if (page === undefined) {
        return {
          kind: 'unavailable',
          reason: data.kind === 'unavailable' ? data.reason : 'unreadable_answer',
        };
      }
      return {
        kind: 'page',
        jobs: page.result.map((task) => ({
          handle: { jobId: task.id },
          status: safeCode(task.status),
          callbackUrl: null,
          externalId: task.external_id ?? null,
        })),
        nextCursor: page.has_more ? (page.next_cursor ?? null) : null,
      };
    },

    verifyCallback: (headers, rawBody, secrets, now) =>
      verifyKlingCallback(signed, headers, rawBody, secrets, now),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Kling in the registry. */
export const kling = defineProvider({
  name: 'kling',
  baseUrl: PUBLIC_URL,
  settings: {
    SIGNED_CALLBACKS: z
      .enum(['true', 'false'], 'must be true or false')
      .transform((text) => text === 'true')
      .optional(),
    DUPLICATE_CODES: z
      .string()
      .regex(/^\d{1,6}(,\d{1,6})*$/, 'must be error codes separated by commas, for example 1201')
      .transform((text) => text.split(','))
      .optional(),
    OUTPUT_HOSTS: hostList.optional(),
  },
  webhookSecret: ({ SIGNED_CALLBACKS: signed }) => (signed === true ? 'required' : 'none'),
  create: ({ http, baseUrl, nowMs, settings }) =>
    createKlingProvider({
      http,
      baseUrl,
      nowMs,
      signedCallbacks: settings.SIGNED_CALLBACKS,
      duplicateCodes: settings.DUPLICATE_CODES,
      outputHosts: settings.OUTPUT_HOSTS,
    }),
});
