import type { Observation, ProviderOutput } from '../domain/provider.ts';
import { safeCode } from './json-answer.ts';
import { klingCost } from './kling-cost.ts';
import type { KlingTask } from './kling-schemas.ts';
import { linkEnd, outputsFrom } from './output-urls.ts';

/** Kling 3.0's status strings, exact. The older API says `succeed`: here that is an unknown string. */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed'>([
  ['submitted', 'running'],
  ['processing', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
]);

/** How a task is read where the documentation leaves it open; see the head of kling.ts. */
export interface KlingReading {
  readonly outputTtlMs: number;
  readonly contentMessage: RegExp;
}

/** The URLs of the videos; covers and watermarked copies are not what was asked for. */
function videos(task: KlingTask): readonly ProviderOutput[] {
  return outputsFrom(
    (task.outputs ?? [])
      .filter(({ type }) => type === 'video' || type === null || type === undefined)
      .map(({ url }) => url),
  );
}

function linkExpiry(task: KlingTask, ttlMs: number): Date | null {
  const endedMs = task.update_time ?? null;
  return endedMs !== null && endedMs > 0 && endedMs < 1e14 ? new Date(endedMs + ttlMs) : null;
}

/**
 * One task as an observation. `succeeded` with `outputs: []` says: Kling has cleared them (30 days). A failure has no
 * code there, only a text; the text decides between moderation and a fault, and is never passed on.
 */
export function klingObservation(task: KlingTask, reading: KlingReading, nowMs: number): Observation {
  const { status } = task;
  const state = STATUS.get(status);
  if (state === 'running' || state === undefined) {
    const unknownStatus = state === undefined;
    return {
      kind: 'running',
      status: unknownStatus ? safeCode(status) : status,
      progress: null,
      unknownStatus,
    };
  }
  const cost = klingCost(task.billing);
  if (state === 'failed') {
    const rejected = reading.contentMessage.test(task.message ?? '');
    return {
      kind: 'failed',
      status,
      code: rejected ? 'content_rejected' : 'provider_failed',
      reason: rejected ? 'content_message' : 'unspecified',
      cost,
    };
  }
  const outputs = videos(task);
  const linkExpiresAt = linkEnd(linkExpiry(task, reading.outputTtlMs), outputs, nowMs);
  const gone = linkExpiresAt !== null && linkExpiresAt.getTime() <= nowMs;
  if (outputs.length === 0 && !gone) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}
