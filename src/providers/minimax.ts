/**
 * MiniMax, video generation API version 2 (MiniMax-H3, MiniMax-H3-Max): providers.md §11, and the pages
 * platform.minimax.io/docs/api-reference/video-generation-v2-create, -query, -delete and errorcode. Not given or not tried
 * by us, so a setting (PROVIDER_MINIMAX_…) or an assumption; check each with `darkroom provider smoke minimax`:
 *   life of links         LINK_LIFE_MS, default one hour from each look: a link ends, and a new query gives a new one
 *   hosts of outputs      OUTPUT_HOSTS, default *.minimax.io, *.minimaxi.com, *.minimax.cn and *.hailuoai.com for the
 *                         public APIs; video-product.cdn.minimax.io is the one that was seen
 *   529 overloaded        OVERLOADED, unknown (default) or capacity: no page says that no task was made
 *   a task that is gone   `noTaskMessage`: "invalid task_id" is the text after 7 days, its HTTP status is not given
 *   expired               a status that only older pages have: the task ran out of MiniMax's time, so it failed
 *   errors in HTTP 200    `base_resp`, as in version 1, is read as well; version 2 has real HTTP statuses
 *   callbacks             unsigned; the words of version 1 are hints too. First comes `{"challenge":"…"}`, to be sent back
 *                         within 3 s: assumed to be a text of 1 to 255 visible ASCII characters
 *   cost                  seconds of input videos and output; images beyond the free ones are not in it. A cancelled task
 *                         of which none are told cost none
 *   files inline          images of 30 MB in a body of 64 MB; offered are 6 MB, since it asks for URLs of large files
 * Mainland China: BASE_URL https://api.minimaxi.com, with a key of that platform. No idempotency key; its list shows nothing
 * of ours, so a submit whose answer was lost can't be found. Only a queued task can be cancelled, unbilled. A route needs
 * duration, resolution and, for text to video, ratio: by the model's input or by params. Outputs are fetched without a key.
 * Nothing is ever sent twice by this file.
 */
import { z } from 'zod';
import type { CallOptions, CancelAnswer, Observation, Provider, ProviderHandle } from '../domain/provider.ts';
import type { OutboundHttp } from '../net/types.ts';
import { apiRoot } from './api-root.ts';
import { defineProvider, hostList } from './definition.ts';
import { bearerCall, observed, unavailable, type JobReader } from './json-api.ts';
import { parseJsonBytes } from './json-answer.ts';
import { MINIMAX_DENIED_CODES, minimaxSubmitReader } from './minimax-answers.ts';
import { buildMinimaxSubmit, MINIMAX_METHODS } from './minimax-body.ts';
import { minimaxChallengeAnswer, verifyMinimaxCallback } from './minimax-callback.ts';
import { MINIMAX_UNBILLED, minimaxObservation } from './minimax-observation.ts';
import { minimaxBaseFault, minimaxDeleted, minimaxError, minimaxTaskAnswer } from './minimax-schemas.ts';
import { readSubmitAnswer } from './submit-answers.ts';
import { timeLeft } from './time-left.ts';

/** Settings of the MiniMax adapter; see the head of this file. */
export interface MinimaxConfig {
  readonly http: OutboundHttp;
  readonly baseUrl: string;
  readonly outputHosts?: readonly string[] | undefined;
  readonly linkLifeMs?: number | undefined;
  readonly overloaded?: 'unknown' | 'capacity' | undefined;
  readonly noTaskMessage?: RegExp | undefined;
  /** The clock, for `Retry-After` dates and link expiry. */
  readonly nowMs?: (() => number) | undefined;
}

const PUBLIC_URL = 'https://api.minimax.io';
const LINK_LIFE_MS = 3_600_000;
const NO_TASK_MESSAGE = /invalid task_?id|task[_ ]?(id )?(is )?(not found|does not exist)/i;
const INLINE_INPUT_BYTES = 6_000_000;
const OUTPUT_HOSTS = ['*.minimax.io', '*.minimaxi.com', '*.minimax.cn', '*.hailuoai.com'];

function defaultOutputHosts(root: URL): readonly string[] {
  return /\.(minimax\.io|minimaxi\.com|minimax\.cn)$/.test(root.hostname) ? OUTPUT_HOSTS : [root.hostname];
}

/** Answers of MiniMax about one task; an error in a 2xx says nothing about it. */
function createReader(linkLifeMs: number, noTask: RegExp, nowMs: () => number): JobReader {
  return {
    observation(body, handle) {
      const code = minimaxBaseFault(body)?.code ?? null;
      if (code !== null) {
        const denied = MINIMAX_DENIED_CODES.test(code);
        return { kind: 'unavailable', reason: `base_resp:${code}`, denied, retryAfterMs: null };
      }
      const task = minimaxTaskAnswer.safeParse(body).data?.task;
      return task?.id === handle.jobId ? minimaxObservation(task, linkLifeMs, nowMs()) : null;
    },
    isNoSuchJob(status, body) {
      const fault = status === 400 || status === 404 ? minimaxError(body) : minimaxBaseFault(body);
      return fault !== null && noTask.test(fault.message);
    },
  };
}

/**
 * The MiniMax adapter: no idempotency, callbacks as hints, metered seconds, a cancel of queued tasks only.
 * Throws only for settings or arguments that cannot be right (base URL, unknown field).
 */
export function createMinimaxProvider(config: MinimaxConfig): Provider {
  const { root, prefix } = apiRoot('minimax', config.baseUrl, PUBLIC_URL);
  const call = bearerCall(config.http, prefix);
  const nowMs = config.nowMs ?? Date.now;
  const submitReader = minimaxSubmitReader(config.overloaded ?? 'unknown');
  const noTask = config.noTaskMessage ?? NO_TASK_MESSAGE;
  const reader = createReader(config.linkLifeMs ?? LINK_LIFE_MS, noTask, nowMs);

  const observe = async (handle: ProviderHandle, options: CallOptions): Promise<Observation> => {
    const path = `/v2/query/video_generation/${encodeURIComponent(handle.jobId)}`;
    return observed(await call('GET', path, options), handle, reader, nowMs());
  };

  /**
   * DELETE cancels a queued task, refuses a running one and removes the record of one that has ended, so the task is looked
   * at right before. It is looked at again unless the answer says `cancelled`. The time is for all three.
   */
  const cancel = async (handle: ProviderHandle, options: CallOptions): Promise<CancelAnswer> => {
    const left = timeLeft(options);
    const before = cancelable(await observe(handle, options));
    if (before !== true) return before;
    const answer = await call('DELETE', `/v2/video_generation/${encodeURIComponent(handle.jobId)}`, left());
    if (answer.kind === 'not_sent') return { kind: 'unavailable', reason: answer.reason };
    const deleted =
      answer.kind === 'answer' && answer.status === 200
        ? minimaxDeleted.safeParse(parseJsonBytes(answer.body)).data
        : undefined;
    if (deleted?.task_id === handle.jobId && deleted.action === 'cancelled') {
      const observation = { kind: 'cancelled', status: 'cancelled', cost: MINIMAX_UNBILLED } as const;
      return { kind: 'answered', observation };
    }
    const after = cancelable(await observe(handle, left()));
    if (after !== true) return after;
    return { kind: 'unavailable', reason: unavailable(answer, nowMs()).reason };
  };

  return {
    name: 'minimax',
    capabilities: {
      idempotency: 'none',
      callbacks: 'unsigned',
      cancel: 'stops',
      list: false,
      cost: 'final',
      inlineInputBytes: INLINE_INPUT_BYTES,
    },
    methods: MINIMAX_METHODS,
    outputHosts: config.outputHosts ?? defaultOutputHosts(root),
    buildSubmit: buildMinimaxSubmit,

    async submit(request, _idempotencyKey, options) {
      const headers = { 'content-type': request.contentType };
      const answer = await call(request.method, request.path, options, headers, request.body);
      return readSubmitAnswer(answer, submitReader, nowMs());
    },

    observe,
    cancel,
    challengeAnswer: minimaxChallengeAnswer,
    verifyCallback: (_headers, rawBody) => verifyMinimaxCallback(rawBody),
    handleFromJobId: (jobId) => ({ jobId }),
    downloadAuth: () => ({}),
  };
}

/** Whether a task may be asked to be cancelled; else what that wish is answered with. */
function cancelable(task: Observation): true | CancelAnswer {
  if (task.kind === 'unavailable') return { kind: 'unavailable', reason: task.reason };
  // One that is gone before our DELETE, or that had ended when it came, was not cancelled by it.
  if (task.kind === 'not_found') return { kind: 'unavailable', reason: 'not_found' };
  if (task.kind !== 'running') return { kind: 'answered', observation: task };
  if (task.unknownStatus) return { kind: 'unavailable', reason: 'unknown_status' };
  return task.status === 'queued' ? true : { kind: 'unsupported' };
}

/** MiniMax in the registry. */
export const minimax = defineProvider({
  name: 'minimax',
  baseUrl: PUBLIC_URL,
  settings: {
    LINK_LIFE_MS: z
      .string()
      .regex(/^[1-9]\d{3,8}$/, 'must be milliseconds, 1000 to 999999999')
      .transform(Number)
      .optional(),
    OVERLOADED: z.enum(['unknown', 'capacity'], 'must be unknown or capacity').optional(),
    OUTPUT_HOSTS: hostList.optional(),
  },
  webhookSecret: 'none',
  create: ({ http, baseUrl, nowMs, settings }) =>
    createMinimaxProvider({
      http,
      baseUrl,
      nowMs,
      linkLifeMs: settings.LINK_LIFE_MS,
      overloaded: settings.OVERLOADED,
      outputHosts: settings.OUTPUT_HOSTS,
    }),
});
