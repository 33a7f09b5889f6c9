import type { FailedCode } from '../domain/errors.ts';
import type { Observation, ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import type { BflTask } from './bfl-schemas.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import { safeCode } from './json-answer.ts';
import { linkEnd, outputsFrom } from './output-urls.ts';

type Meaning = 'running' | 'succeeded' | 'failed' | 'moderated' | 'not_found';

/** BFL's status strings, exact (its OpenAPI's StatusResponse; `Failed` is known to @ai-sdk/black-forest-labs only). */
const STATUS = new Map<string, Meaning>([
  ['Pending', 'running'],
  ['Reasoning', 'running'],
  ['Generating', 'running'],
  ['Ready', 'succeeded'],
  ['Error', 'failed'],
  ['Failed', 'failed'],
  ['Request Moderated', 'moderated'],
  ['Content Moderated', 'moderated'],
  ['Task not found', 'not_found'],
]);

/** How an answer about a task is read where the documentation is silent; see the head of bfl.ts. */
export interface BflReading {
  readonly costUnit: string;
  readonly linkTtlMs: number;
}

/** What a status string means; undefined = none of the documented ones. */
export const bflMeaning = (status: string): Meaning | undefined => STATUS.get(status);

/** Whether a task in this state stays in it. */
export function isBflEnd(status: string): boolean {
  const meaning = STATUS.get(status);
  return meaning !== undefined && meaning !== 'running' && meaning !== 'not_found';
}

/** The status as it may be stored: a documented string, or a plain word. */
export const bflStatus = (status: string): string => (STATUS.has(status) ? status : safeCode(status));

/** From 0 to 1, else null. */
export function bflProgress({ progress }: BflTask): number | null {
  return typeof progress === 'number' && progress >= 0 && progress <= 1 ? progress : null;
}

export function bflCost(amount: unknown, unit: string, final: boolean): ProviderCost | null {
  const text = decimalText(amount);
  return text === null ? null : { amount: text, unit, final };
}

const SIGNED_END = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?$/;

/** When a link ends by the `se` of its own signature, UTC where that names no zone; null where it has none. */
function signedEnd(url: string): Date | null {
  const until = new URL(url).searchParams.get('se') ?? '';
  const [, time, zone = 'Z'] = SIGNED_END.exec(until) ?? [];
  const signed = time === undefined ? Number.NaN : Date.parse(`${time}${zone}`);
  return Number.isNaN(signed) ? null : new Date(signed);
}

function succeeded(task: BflTask, { costUnit, linkTtlMs }: BflReading, nowMs: number): Observation {
  const { status } = task;
  const cost = bflCost(task.cost, costUnit, true);
  const outputs = outputsFrom([task.result?.sample]);
  const [output] = outputs;
  if (output === undefined) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost };
  }
  const linkExpiresAt = linkEnd(signedEnd(output.url), outputs, nowMs) ?? new Date(nowMs + linkTtlMs);
  return { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}

function failed(task: BflTask, moderated: boolean, costUnit: string): Observation {
  const { status, error } = task;
  const code = typeof error === 'string' ? safeCode(error) : null;
  const rejected = moderated || USUAL_CONTENT_CODES.test(code ?? '');
  const means: FailedCode = rejected ? 'content_rejected' : 'provider_failed';
  // "Only successful generations (status: Ready) consume credits" (help.bfl.ai, article 4212278032).
  const cost = bflCost(task.cost ?? 0, costUnit, true);
  return { kind: 'failed', status, code: means, reason: code ?? wordsOf(status), cost };
}

/** `Request Moderated` as the code `request_moderated`. */
const wordsOf = (status: string): string => status.toLowerCase().replaceAll(' ', '_');

/** One task as an observation; unknown strings mean still running. */
export function bflObservation(task: BflTask, reading: BflReading, nowMs: number): Observation {
  const { status } = task;
  const meaning = STATUS.get(status);
  switch (meaning) {
    case 'succeeded':
      return succeeded(task, reading, nowMs);
    case 'failed':
    case 'moderated':
      return failed(task, meaning === 'moderated', reading.costUnit);
    case 'not_found':
      return { kind: 'not_found' };
    case 'running':
    case undefined: {
      const unknownStatus = meaning === undefined;
      return { kind: 'running', status: bflStatus(status), progress: bflProgress(task), unknownStatus };
    }
  }
}
