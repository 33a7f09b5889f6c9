import type { FailedCode } from '../domain/errors.ts';
import type { Observation } from '../domain/provider.ts';
import { safeCode } from './json-answer.ts';
import type { LumaGeneration } from './luma-schemas.ts';
import { outputsFrom } from './output-urls.ts';

/** Luma's states, exact (luma-agents 0.5.0, Generation). There is none for a cancelled job. */
const STATE = new Map<string, 'running' | 'succeeded' | 'failed'>([
  ['queued', 'running'],
  ['processing', 'running'],
  ['completed', 'succeeded'],
  ['failed', 'failed'],
]);

/** What a `failure_code` means (luma-agents 0.5.0, GenerationFailureCode); any other one is a fault there. */
const FAILURES = new Map<string, FailedCode>([
  ['content_moderated', 'content_rejected'],
  ['image_too_large', 'invalid_input'],
  ['unsupported_format', 'invalid_input'],
  ['corrupt_input', 'invalid_input'],
  ['invalid_request', 'invalid_input'],
  // Our account there ran out of money, or of places, in the midst of it.
  ['budget_exhausted', 'provider_unavailable'],
  ['rate_limited', 'provider_unavailable'],
  ['output_not_found', 'no_output'],
  ['generation_failed', 'provider_failed'],
]);

/**
 * One generation as an observation. Each look signs its links anew for `linkLifeMs`, so a success without a usable output
 * never had one. Luma tells no cost.
 */
export function lumaObservation(generation: LumaGeneration, linkLifeMs: number, nowMs: number): Observation {
  const { state: status, output, failure_code: failureCode } = generation;
  const state = STATE.get(status);
  if (state === 'failed') {
    const code = FAILURES.get(failureCode ?? '') ?? 'provider_failed';
    return { kind: 'failed', status, code, reason: safeCode(failureCode), cost: null };
  }
  if (state !== 'succeeded') {
    return { kind: 'running', status: safeCode(status), progress: null, unknownStatus: state === undefined };
  }
  const outputs = outputsFrom((output ?? []).map(({ url }) => url));
  if (outputs.length === 0) {
    return { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost: null };
  }
  return { kind: 'succeeded', status, outputs, linkExpiresAt: new Date(nowMs + linkLifeMs), cost: null };
}
