import type { FailedCode } from '../domain/errors.ts';
import type { Observation, ProviderCost } from '../domain/provider.ts';
import { safeCode } from './json-answer.ts';
import { outputsFrom } from './output-urls.ts';
import { veoVideoResponse, type VeoOperation, type VeoVideoResponse } from './veo-schemas.ts';

/** Numbers of google.rpc.Code that mean more than that it failed there. */
const CANCELLED = 1;
const INVALID_ARGUMENT = 3;

/** How an operation is read; see the head of veo.ts. */
export interface VeoReading {
  readonly contentMessage: RegExp;
  readonly linkLifeMs: number;
  /** The unit of the nothing that a filtered video costs. */
  readonly costUnit: string;
}

type Failure = NonNullable<VeoOperation['error']>;

function failed(code: FailedCode, reason: string, cost: ProviderCost | null = null): Observation {
  return { kind: 'failed', status: 'done', code, reason, cost };
}

function failure({ code, message }: Failure, { contentMessage }: VeoReading): Observation {
  if (code === CANCELLED) return { kind: 'cancelled', status: 'done' };
  const reason = safeCode(`rpc_${code ?? 'unknown'}`);
  if (contentMessage.test(message ?? '')) return failed('content_rejected', reason);
  return failed(code === INVALID_ARGUMENT ? 'invalid_input' : 'provider_failed', reason);
}

/** Links, and videos inside the answer (`encodedVideo`, which the SDK's types know). */
function outputsIn({ generatedSamples }: VeoVideoResponse): ReturnType<typeof outputsFrom> {
  return outputsFrom(
    (generatedSamples ?? []).map((sample) => {
      const { uri, encodedVideo, encoding } = sample?.video ?? {};
      if (typeof uri === 'string') return uri;
      const type = /^video\/[a-z0-9.+-]{1,64}$/.exec(encoding ?? '')?.[0] ?? 'video/mp4';
      return typeof encodedVideo === 'string' ? `data:${type};base64,${encodedVideo}` : null;
    }),
  );
}

/**
 * One operation as an observation. There is no status string: `done` is the state, and an end is an error, samples, or a
 * number of videos that were filtered. Some samples beside filtered ones are a success with those. Null for an end whose
 * response has another shape: it may hold a video that is paid for.
 */
export function veoObservation(
  operation: VeoOperation,
  reading: VeoReading,
  nowMs: number,
): Observation | null {
  const { done, error, response } = operation;
  if (done !== true) {
    const known = done === undefined || done === null || done === false;
    const status = known ? 'not_done' : safeCode(typeof done === 'string' ? done : null);
    return { kind: 'running', status, progress: null, unknownStatus: !known };
  }
  if (error !== undefined && error !== null) return failure(error, reading);
  const made = veoVideoResponse(response);
  if (made === null) return null;
  const outputs = outputsIn(made);
  if (outputs.length > 0) {
    const linkExpiresAt = new Date(nowMs + reading.linkLifeMs);
    return { kind: 'succeeded', status: 'done', outputs, linkExpiresAt, cost: null };
  }
  const { raiMediaFilteredCount, raiMediaFilteredReasons } = made;
  const filtered = (raiMediaFilteredCount ?? 0) > 0 || (raiMediaFilteredReasons ?? []).length > 0;
  if (!filtered) return failed('no_output', 'succeeded_without_output');
  // Only what was made is billed (providers.md §9 and trap 15).
  const nothing = { amount: '0', unit: reading.costUnit, final: true };
  return failed('content_rejected', 'rai_media_filtered', nothing);
}
