import type { Observation, ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import type { InfroJob } from './infro-schemas.ts';
import { safeCode } from './json-answer.ts';
import { nestedOutputs } from './nested-urls.ts';
import { linkEnd } from './output-urls.ts';

/** INFRO's status strings, exact: never lower-cased, never guessed (providers.md §2). */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled'>([
  ['queued', 'running'],
  ['running', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
]);

/** How a job's answer is read where the documentation is silent; see the head of infro.ts. */
export interface InfroReading {
  /** Members of `output` that hold a URL, or a list or object with one. */
  readonly outputKeys: readonly string[];
  readonly costUnit: string;
}

/** `expires_at` (unix seconds) stands on the job or inside `output`: the documentation does not say which. */
function linkExpiry(job: InfroJob): Date | null {
  const inside: unknown =
    typeof job.output === 'object' && job.output !== null && 'expires_at' in job.output
      ? job.output.expires_at
      : null;
  const seconds = job.expires_at ?? inside;
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > 1e11) return null;
  return new Date(seconds * 1_000);
}

/** INFRO's own estimate of what its upstream bills; no cost on a failed job does not mean no bill there. */
function costOf(job: InfroJob, unit: string): ProviderCost | null {
  const amount = decimalText(job.usage?.cost);
  return amount === null ? null : { amount, unit, final: false };
}

function succeeded(job: InfroJob, reading: InfroReading, nowMs: number): Observation {
  const outputs = nestedOutputs(job.output, reading.outputKeys);
  const cost = costOf(job, reading.costUnit);
  const linkExpiresAt = linkEnd(linkExpiry(job), outputs, nowMs);
  // `output: null` is documented as "after expiry"; before a known expiry it can only mean that there never was one.
  const gone = job.output === null && (linkExpiresAt === null || linkExpiresAt.getTime() <= nowMs);
  if (outputs.length === 0 && !gone) {
    return {
      kind: 'failed',
      status: job.status,
      code: 'no_output',
      reason: 'succeeded_without_output',
      cost,
    };
  }
  return { kind: 'succeeded', status: job.status, outputs, linkExpiresAt, cost };
}

function failed(job: InfroJob, reading: InfroReading): Observation {
  const code = job.error?.code ?? null;
  const rejected = code !== null && USUAL_CONTENT_CODES.test(code);
  return {
    kind: 'failed',
    status: job.status,
    code: rejected ? 'content_rejected' : 'provider_failed',
    reason: safeCode(code),
    cost: costOf(job, reading.costUnit),
  };
}

/**
 * One job as an observation. `succeeded` with `outputs: []` says: there was output and it is gone (expired at INFRO);
 * a success that never had a usable URL is `failed` with `no_output`. Unknown strings mean still running.
 */
export function observationOf(job: InfroJob, reading: InfroReading, nowMs: number): Observation {
  const { status } = job;
  const state = STATUS.get(status);
  if (state === 'succeeded') return succeeded(job, reading, nowMs);
  if (state === 'failed') return failed(job, reading);
  if (state === 'cancelled') return { kind: 'cancelled', status };
  const unknownStatus = state === undefined;
  return {
    kind: 'running',
    status: unknownStatus ? safeCode(status) : status,
    progress: null,
    unknownStatus,
  };
}
