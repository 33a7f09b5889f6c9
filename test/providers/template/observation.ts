import type { Observation, ProviderCost } from '../../../src/domain/provider.ts';
import { decimalText } from '../../../src/providers/amounts.ts';
import { USUAL_CONTENT_CODES } from '../../../src/providers/content-codes.ts';
import { safeCode } from '../../../src/providers/json-answer.ts';
import { outputsFrom } from '../../../src/providers/output-urls.ts';
import type { TidewaterJob } from './schemas.ts';

// [change] its status strings, exact: never lower-cased, never guessed; any other one is running, flagged
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled'>([
  ['queued', 'running'],
  ['running', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
]);

// <signed, unsigned>
/** Whether a status says that nothing more will come. */
export const isTidewaterEnd = (status: string) => (STATUS.get(status) ?? 'running') !== 'running';
// </signed, unsigned>

/** `expires_at` in unix seconds; null for what is no time. */
function linkExpiry({ expires_at: seconds }: TidewaterJob): Date | null {
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > 1e11) return null;
  return new Date(seconds * 1_000);
}

// [change] where it tells what a job cost, also one without output, and in which unit; final once it is what is billed
function costOf(job: TidewaterJob): ProviderCost | null {
  const amount = decimalText(job.cost);
  return amount === null ? null : { amount, unit: 'credits', final: true };
}

function succeeded(job: TidewaterJob, nowMs: number): Observation {
  const { status } = job;
  const cost = costOf(job);
  const outputs = outputsFrom(job.output ?? []);
  const linkExpiresAt = linkExpiry(job);
  // [change] how an output that was there and is gone differs from one that never was
  const gone = job.output === null && linkExpiresAt !== null && linkExpiresAt.getTime() <= nowMs;
  if (outputs.length === 0 && !gone) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}

// [change] which of its error codes mean rejected content or bad input
function failed(job: TidewaterJob): Observation {
  const { status, error } = job;
  const code = error?.code ?? '';
  return {
    kind: 'failed',
    status,
    code: USUAL_CONTENT_CODES.test(code) ? 'content_rejected' : 'provider_failed',
    reason: safeCode(code),
    cost: costOf(job),
  };
}

/** One job as an observation. A success without a usable output is `no_output`; unknown strings mean still running. */
export function tidewaterObservation(job: TidewaterJob, nowMs: number): Observation {
  const { status } = job;
  const state = STATUS.get(status);
  if (state === 'succeeded') return succeeded(job, nowMs);
  if (state === 'failed') return failed(job);
  if (state === 'cancelled') return { kind: 'cancelled', status, cost: costOf(job) };
  return { kind: 'running', status: safeCode(status), progress: null, unknownStatus: state === undefined };
}
