import type { Observation, ProviderCost } from '../domain/provider.ts';
import { scaledText } from './amounts.ts';
import type { AigenwayTask } from './aigenway-schemas.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import { safeCode } from './json-answer.ts';
import { linkEnd, outputsFrom } from './output-urls.ts';

/** 100,000,000 units are one USD. */
const UNIT_PLACES = 8;

/**
 * Aigenway's status strings, exact (providers.md §3): upper case in answers, lower case in webhooks and in the article
 * that announced the API.
 */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled'>([
  ['PENDING', 'running'],
  ['pending', 'running'],
  ['PROCESSING', 'running'],
  ['processing', 'running'],
  ['SUCCEEDED', 'succeeded'],
  ['succeeded', 'succeeded'],
  ['FAILED', 'failed'],
  ['failed', 'failed'],
  ['CANCELLED', 'cancelled'],
  ['cancelled', 'cancelled'],
]);

/** Whether a job in this state stays in it. */
export function isAigenwayEnd(status: string): boolean {
  const state = STATUS.get(status);
  return state !== undefined && state !== 'running';
}

/** What is reserved for the task; what was charged stands in the webhook only. */
export function aigenwayCost(units: unknown): ProviderCost | null {
  const amount = scaledText(units, UNIT_PLACES);
  return amount === null ? null : { amount, unit: 'USD', final: false };
}

/** The files of the first place that has any: they are the same files, named twice. */
function filesOf({ result, result_files: resultFiles }: AigenwayTask) {
  const places = [resultFiles, result?.files, result === null || result === undefined ? [] : [result]];
  const files = places.map((place) => (place ?? []).filter(({ url }) => outputsFrom([url]).length > 0));
  return files.find((place) => place.length > 0) ?? [];
}

/** When the first of the files is removed. */
function linkExpiry(task: AigenwayTask): Date | null {
  const texts = [task.result, ...filesOf(task)].map((file) => file?.available_until);
  const times = texts.map((text) => Date.parse(text ?? '')).filter((time) => Number.isFinite(time));
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)));
}

function succeeded(task: AigenwayTask, nowMs: number): Observation {
  const { status } = task;
  const cost = aigenwayCost(task.reserved_amount);
  const outputs = outputsFrom(filesOf(task).map(({ url }) => url));
  const linkExpiresAt = linkEnd(linkExpiry(task), outputs, nowMs);
  const gone = linkExpiresAt !== null && linkExpiresAt.getTime() <= nowMs;
  if (outputs.length === 0 && !gone) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}

/** One task as an observation; unknown strings mean still running. */
export function aigenwayObservation(task: AigenwayTask, nowMs: number): Observation {
  const { status, error_code: errorCode } = task;
  switch (STATUS.get(status)) {
    case 'succeeded':
      return succeeded(task, nowMs);
    case 'failed': {
      const rejected = typeof errorCode === 'string' && USUAL_CONTENT_CODES.test(errorCode);
      const code = rejected ? 'content_rejected' : 'provider_failed';
      return { kind: 'failed', status, code, reason: safeCode(errorCode), cost: null };
    }
    case 'cancelled':
      return { kind: 'cancelled', status };
    case 'running':
      return { kind: 'running', status, progress: null, unknownStatus: false };
    case undefined:
      return { kind: 'running', status: safeCode(status), progress: null, unknownStatus: true };
  }
}
