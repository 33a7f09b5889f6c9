import type { Observation } from '../domain/provider.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import { crazyrouterError, type CrazyrouterTask } from './crazyrouter-schemas.ts';
import { safeCode } from './json-answer.ts';
import { nestedOutputs } from './nested-urls.ts';

/** How a task is read; see the head of crazyrouter.ts. Status strings are exact. */
export interface CrazyrouterReading {
  readonly running: readonly string[];
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  readonly cancelled: readonly string[];
  /** Members of a task that hold a URL, or a list or object with one. */
  readonly outputKeys: readonly string[];
}

/** Whether a task in this state stays in it. */
export function isCrazyrouterEnd(status: string, reading: CrazyrouterReading): boolean {
  return [reading.succeeded, reading.failed, reading.cancelled].some((list) => list.includes(status));
}

function succeeded(task: CrazyrouterTask, reading: CrazyrouterReading): Observation {
  const { status } = task;
  const outputs = nestedOutputs(task, reading.outputKeys);
  return outputs.length === 0
    ? { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost: null }
    : { kind: 'succeeded', status, outputs, linkExpiresAt: null, cost: null };
}

/** One task as an observation; unknown strings mean still running. */
export function crazyrouterObservation(task: CrazyrouterTask, reading: CrazyrouterReading): Observation {
  const { status } = task;
  if (reading.succeeded.includes(status)) return succeeded(task, reading);
  if (reading.cancelled.includes(status)) return { kind: 'cancelled', status };
  if (reading.failed.includes(status)) {
    const { code: errorCode } = crazyrouterError(task);
    const code =
      errorCode !== null && USUAL_CONTENT_CODES.test(errorCode) ? 'content_rejected' : 'provider_failed';
    return { kind: 'failed', status, code, reason: safeCode(errorCode), cost: null };
  }
  const unknownStatus = !reading.running.includes(status);
  return {
    kind: 'running',
    status: unknownStatus ? safeCode(status) : status,
    progress: null,
    unknownStatus,
  };
}
