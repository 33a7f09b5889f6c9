import type { Observation, ProviderCost, ProviderOutput } from '../domain/provider.ts';
import { isInlineFile } from '../net/data-url.ts';
import { matchesHosts } from '../net/hosts.ts';
import { decimalText } from './amounts.ts';
import { safeCode } from './json-answer.ts';
import { isUsableOutput, linkEnd } from './output-urls.ts';
import type { ReplicatePrediction } from './replicate-schemas.ts';

const MAX_OUTPUTS = 64;
const MAX_DEPTH = 6;
const LOG_TAIL_CHARACTERS = 4_096;

/** Replicate's status strings, exact: never lower-cased, never guessed (providers.md §4). */
const STATUS = new Map<string, 'running' | 'succeeded' | 'failed' | 'cancelled' | 'aborted'>([
  ['starting', 'running'],
  ['processing', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'cancelled'],
  ['aborted', 'aborted'],
]);

/** Whether this status string is a known end, `aborted` included. */
export function isReplicateEnd(status: string): boolean {
  const state = STATUS.get(status);
  return state !== undefined && state !== 'running';
}

/** How a prediction is read where the documentation is silent; see the head of replicate.ts. */
export interface ReplicateReading {
  readonly outputHosts: readonly string[];
  readonly contentErrors: RegExp;
  readonly dataTtlMs: number;
}

/** All URLs in an output of any shape, in order, each once. */
function urlsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === 'string') return isUsableOutput(value) ? [value] : [];
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  const members: readonly unknown[] = Object.values(value).slice(0, MAX_OUTPUTS);
  return [...new Set(members.flatMap((member) => urlsIn(member, depth + 1)))].slice(0, MAX_OUTPUTS);
}

/** A model may name other sites beside its files: they count only where there is no file of Replicate. */
function outputsOf(output: unknown, hosts: readonly string[]): readonly ProviderOutput[] {
  const urls = urlsIn(output);
  const own = urls.filter((url) => isInlineFile(url) || matchesHosts(new URL(url), hosts));
  return (own.length > 0 ? own : urls).map((url) => ({ url }));
}

/** The seconds of the render; Replicate tells no money. */
function costOf({ metrics }: ReplicatePrediction): ProviderCost | null {
  const amount = decimalText(metrics?.predict_time);
  return amount === null ? null : { amount, unit: 'seconds', final: false };
}

/** Only the number before a progress bar, from the end of the logs (the form that Replicate's own SDK reads). */
function progressOf(logs: string | null | undefined): number | null {
  const lines = (logs ?? '')
    .slice(-LOG_TAIL_CHARACTERS)
    .split(/[\r\n]/)
    .reverse();
  for (const line of lines) {
    const [, percent] = /^\s*(\d{1,3})%\s*\|/.exec(line) ?? [];
    if (percent !== undefined) return Math.min(Number(percent), 100) / 100;
  }
  return null;
}

function succeeded(prediction: ReplicatePrediction, reading: ReplicateReading, nowMs: number): Observation {
  const outputs = outputsOf(prediction.output, reading.outputHosts);
  const cost = costOf(prediction);
  const { status } = prediction;
  if (outputs.length === 0 && !prediction.data_removed) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  const completedMs = Date.parse(prediction.completed_at ?? '');
  const sinceMs = Number.isNaN(completedMs) ? nowMs : Math.min(completedMs, nowMs);
  const linkExpiresAt = linkEnd(new Date(sinceMs + reading.dataTtlMs), outputs, nowMs);
  return { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}

/** `error` is free text of the model; a code such as `(E005)` at its end is all that is kept. */
function failed(prediction: ReplicatePrediction, reading: ReplicateReading): Observation {
  const text = typeof prediction.error === 'string' ? prediction.error.slice(0, 10_000) : '';
  const [, code] = /\((E\d{3,6})\)\s*$/.exec(text) ?? [];
  return {
    kind: 'failed',
    status: prediction.status,
    code: reading.contentErrors.test(text) ? 'content_rejected' : 'provider_failed',
    reason: safeCode(code),
    cost: costOf(prediction),
  };
}

/**
 * One prediction as an observation. `succeeded` with `outputs: []` says: Replicate has removed them; a success without
 * any URL is `failed` with `no_output`. `aborted` ended before it began and is not billed. Unknown strings mean still running.
 */
export function replicateObservation(
  prediction: ReplicatePrediction,
  reading: ReplicateReading,
  nowMs: number,
): Observation {
  const { status } = prediction;
  switch (STATUS.get(status)) {
    case 'succeeded':
      return succeeded(prediction, reading, nowMs);
    case 'failed':
      return failed(prediction, reading);
    case 'cancelled':
      return { kind: 'cancelled', status, cost: costOf(prediction) };
    case 'aborted':
      return { kind: 'cancelled', status, cost: { amount: '0', unit: 'seconds', final: true } };
    case 'running':
      return { kind: 'running', status, progress: progressOf(prediction.logs), unknownStatus: false };
    case undefined:
      return { kind: 'running', status: safeCode(status), progress: null, unknownStatus: true };
  }
}
