import type { Observation, ProviderOutput } from '../domain/provider.ts';
import type { OutboundAnswer } from '../net/types.ts';
import { FAL_CANCELLED, falFailure, falProblemIn, saysStillRunning } from './fal-errors.ts';
import type { FalStatus } from './fal-schemas.ts';
import { parseJsonBytes, safeCode } from './json-answer.ts';
import { isUsableOutput } from './output-urls.ts';

type Answered = Extract<OutboundAnswer, { readonly kind: 'answer' }>;

const MAX_OUTPUTS = 64;
const MAX_DEPTH = 3;
const COMPLETED = 'COMPLETED';
/** From this size on fal keeps a result only for the shorter time. */
const LARGE_RESULT_BYTES = 10_000;
/** Statuses that are about the call and not about the job, unless a model's own error says more. */
const ABOUT_THE_CALL: ReadonlySet<number> = new Set([401, 402, 403, 408, 425, 429]);

/** How a result is read where the documentation is silent; see the head of fal.ts. */
export interface FalReading {
  /** Members of a result that hold a URL, or a list or object with one. */
  readonly outputKeys: readonly string[];
  readonly resultTtlMs: number;
  readonly largeResultTtlMs: number;
}

/** The state that a status answer tells; null = COMPLETED, so that the result decides. Exact strings. */
export function falWaiting({ status }: FalStatus): Observation | null {
  if (status === COMPLETED) return null;
  const unknownStatus = status !== 'IN_QUEUE' && status !== 'IN_PROGRESS';
  return {
    kind: 'running',
    status: unknownStatus ? safeCode(status) : status,
    progress: null,
    unknownStatus,
  };
}

/** All usable URLs under the known members, in order, each once; with `sync_mode` a model's file is itself such a URL. */
function urlsIn(value: unknown, keys: readonly string[], depth = 0): readonly string[] {
  if (typeof value === 'string') return isUsableOutput(value) ? [value] : [];
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  const members = Array.isArray(value)
    ? (value as readonly unknown[]).slice(0, MAX_OUTPUTS)
    : keys.map((key) => (Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined));
  return [...new Set(members.flatMap((member) => urlsIn(member, keys, depth + 1)))].slice(0, MAX_OUTPUTS);
}

/** The result without the images that fal's checker has blackened, and whether there were any. */
function withoutFlagged(result: unknown): { readonly result: unknown; readonly flagged: boolean } {
  if (typeof result !== 'object' || result === null) return { result, flagged: false };
  const { images, has_nsfw_concepts: flags } = result as Record<string, unknown>;
  if (!Array.isArray(images) || !Array.isArray(flags)) return { result, flagged: false };
  const kept = images.filter((_image, index) => flags[index] !== true);
  return { result: { ...result, images: kept }, flagged: kept.length < images.length };
}

function succeeded(body: Buffer, reading: FalReading, nowMs: number): Observation {
  const parsed = parseJsonBytes(body);
  if (parsed === undefined) return unavailable('unreadable_answer');
  const { result, flagged } = withoutFlagged(parsed);
  const outputs: readonly ProviderOutput[] = urlsIn(result, reading.outputKeys).map((url) => ({ url }));
  if (outputs.length === 0) {
    const [code, reason] = flagged
      ? (['content_rejected', 'nsfw_concepts'] as const)
      : (['no_output', 'succeeded_without_output'] as const);
    return { kind: 'failed', status: COMPLETED, code, reason, cost: null };
  }
  const ttlMs = body.length < LARGE_RESULT_BYTES ? reading.resultTtlMs : reading.largeResultTtlMs;
  return {
    kind: 'succeeded',
    status: COMPLETED,
    outputs,
    linkExpiresAt: new Date(nowMs + ttlMs),
    cost: null,
  };
}

function unavailable(reason: string, denied = false): Observation {
  return { kind: 'unavailable', reason, denied, retryAfterMs: null };
}

function failed(type: string | null, status: number): Observation {
  if (type === FAL_CANCELLED) return { kind: 'cancelled', status: COMPLETED };
  return { kind: 'failed', status: COMPLETED, ...falFailure(type, status), cost: null };
}

/**
 * What the result of a COMPLETED request means: fal replays the model's own HTTP error there. An error that tells
 * nothing of the job (a gateway's 5xx, a refused key) is `unavailable`; a result that fal has removed is `outputs: []`.
 */
export function falResult(answer: Answered, reading: FalReading, nowMs: number): Observation {
  const { status } = answer;
  if (status >= 200 && status < 300) return succeeded(answer.body, reading, nowMs);
  const body = parseJsonBytes(answer.body);
  const problem = falProblemIn(body);
  const denied = [401, 402, 403].includes(status);
  if (problem === null) return unavailable(`http_${status}`, denied);
  if (saysStillRunning(body)) {
    return { kind: 'running', status: 'IN_PROGRESS', progress: null, unknownStatus: false };
  }
  if (problem.typed) return failed(problem.type, status);
  if (ABOUT_THE_CALL.has(status) || status < 400) return unavailable(`http_${status}`, denied);
  if (problem.type !== null) return failed(problem.type, status);
  if (status === 404 || status === 410) {
    return { kind: 'succeeded', status: COMPLETED, outputs: [], linkExpiresAt: null, cost: null };
  }
  return status < 500 ? failed(null, status) : unavailable(`http_${status}`);
}

/** A COMPLETED that carries an error has failed, whatever its result says; the result may only tell more. */
export function falFailedStatus(status: FalStatus, result: Observation): Observation | null {
  const type = status.error_type ?? null;
  if (type === null && (status.error === undefined || status.error === null)) return null;
  if (result.kind === 'failed' || result.kind === 'cancelled') return result;
  return failed(type, 500);
}
