import type { Observation, ProviderCost } from '../domain/provider.ts';
import { decimalText } from './amounts.ts';
import { USUAL_CONTENT_CODES } from './content-codes.ts';
import { safeCode } from './json-answer.ts';
import { nestedOutputs } from './nested-urls.ts';
import { hasJobError, videosError, type Video } from './openaivideos-schemas.ts';
import { linkEnd } from './output-urls.ts';

const FIRST_TIME_MS = 1e12;

/** How a job is read; see the head of openaivideos.ts. Status strings are exact. */
export interface VideosReading {
  readonly running: readonly string[];
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  readonly cancelled: readonly string[];
  readonly contentCodes: readonly string[];
  /** Members of a job that hold a URL, or a list or object with one; null = the file is behind `contentUrl`. */
  readonly outputKeys: readonly string[] | null;
  readonly contentUrl: (jobId: string) => string;
  /** The unit of `usage.cost`; null = not read. */
  readonly costUnit: string | null;
}

/** Whether a job in this state stays in it. */
export function isVideosEnd(status: string, reading: VideosReading): boolean {
  return [reading.succeeded, reading.failed, reading.cancelled].some((list) => list.includes(status));
}

function costOf({ usage }: Video, unit: string | null): ProviderCost | null {
  const amount = unit === null ? null : decimalText(usage?.cost);
  return amount === null || unit === null ? null : { amount, unit, final: true };
}

function failed(job: Video, reading: VideosReading): Observation {
  const { code: errorCode } = videosError(job);
  const isContent =
    errorCode !== null && (USUAL_CONTENT_CODES.test(errorCode) || reading.contentCodes.includes(errorCode));
  const code = isContent ? 'content_rejected' : 'provider_failed';
  const cost = costOf(job, reading.costUnit);
  return { kind: 'failed', status: job.status, code, reason: safeCode(errorCode), cost };
}

/** A time before the job was made (or 2001, where that is not told) is none: a length in seconds, a zero. */
function timeOf(end: Date | null | undefined, { created_at: madeAt }: Video): number | null {
  const earliest = madeAt?.getTime() ?? FIRST_TIME_MS;
  return end instanceof Date && end.getTime() > Math.max(earliest, FIRST_TIME_MS) ? end.getTime() : null;
}

/** When what the job names as its output is gone: the file, and where its URL is given, the URL. */
function endOfLinks(job: Video, reading: VideosReading): Date | null {
  const ends = [job.expires_at, reading.outputKeys === null ? null : job.url_expires_at];
  const known = ends.map((end) => timeOf(end, job)).filter((end) => end !== null);
  return known.length === 0 ? null : new Date(Math.min(...known));
}

function succeeded(job: Video, reading: VideosReading, nowMs: number): Observation {
  const { status, id } = job;
  // A success that is a refusal: an error beside it counts.
  if (hasJobError(job)) return failed(job, reading);
  const cost = costOf(job, reading.costUnit);
  const outputs =
    reading.outputKeys === null
      ? [{ url: reading.contentUrl(id) }]
      : nestedOutputs(job, reading.outputKeys).filter(({ url }) => !url.startsWith('data:'));
  const linkExpiresAt = linkEnd(endOfLinks(job, reading), outputs, nowMs);
  const over = linkExpiresAt !== null && linkExpiresAt.getTime() <= nowMs;
  return outputs.length === 0 && !over
    ? { kind: 'failed', status, code: 'no_output', reason: 'succeeded_without_output', cost }
    : { kind: 'succeeded', status, outputs, linkExpiresAt, cost };
}

/** One job as an observation; unknown strings mean still running. */
export function videosObservation(job: Video, reading: VideosReading, nowMs: number): Observation {
  const { status, progress } = job;
  if (reading.succeeded.includes(status)) return succeeded(job, reading, nowMs);
  if (reading.cancelled.includes(status)) {
    return { kind: 'cancelled', status, cost: costOf(job, reading.costUnit) };
  }
  if (reading.failed.includes(status)) return failed(job, reading);
  const unknownStatus = !reading.running.includes(status);
  return {
    kind: 'running',
    status: unknownStatus ? safeCode(status) : status,
    progress: progress === null || progress === undefined ? null : progress / 100,
    unknownStatus,
  };
}
