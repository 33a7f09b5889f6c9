import type { OutputRecord } from '../db/index.ts';
import { countOutputProblem } from '../metrics/job-metrics.ts';
import { isInlineFile, readInlineFile } from '../net/index.ts';
import type { DownloadAnswer } from '../net/index.ts';
import { createMediaCheck } from '../storage/index.ts';
import type { MediaCheck, MediaVerdict, PendingFile } from '../storage/index.ts';
import type { ActivityDeps } from './deps.ts';
import { callsOf } from './job.ts';
import type { AttemptContext, Job } from './job.ts';
import { forgetOutputTrouble, tellOutputTrouble } from './output-trouble.ts';
import type { OutputTrouble } from './output-trouble.ts';
import { inStorage, removeUnnamed, tellRecovered } from './storage-trouble.ts';

const IDLE_MS = 30_000;
const TOTAL_MS = 3_600_000;
const HEAD_BYTES = 64;
const JSON_HEAD = /^\s*[[{]/;
/** Shorter than this share of what was asked for is worth an operator's look. */
const SHORT = 0.8;

/** Where one output is now, and where it goes. */
export interface FileTarget {
  readonly generationId: string;
  readonly index: number;
  readonly attempt: number;
  readonly url: string;
  /** Until when the provider promised its link, in ms since 1970. */
  readonly linkExpiresAt: number;
  /** When its lease was asked for, by performance.now(). */
  readonly leasedAtMs: number;
}

type Outcome<T> = T extends unknown ? Omit<T, 'generationId' | 'index' | 'attempt'> : never;
/** What one attempt came to; `path` stands in storage only for `stored`. */
export type FileOutcome = Outcome<OutputRecord>;
type Media = Extract<MediaVerdict, { ok: true }>;

/** Each attempt has a path of its own, made from our ids only. */
export function pathOf(
  { generationId, index }: Pick<FileTarget, 'generationId' | 'index'>,
  attempt: number,
): string {
  return `${generationId}/${index}-${attempt}`;
}

/**
 * Fetches one file into storage, if it is whole, of an allowed type and clean. Any other end leaves no file behind.
 * @throws StorageTrouble, or the reason of the worker's stop
 */
export async function storeFile(
  deps: ActivityDeps,
  job: Job,
  target: FileTarget,
  context: AttemptContext,
): Promise<FileOutcome> {
  const path = pathOf(target, target.attempt);
  const check = createMediaCheck();
  const file = await inStorage(() => deps.storage.create(path));
  try {
    const fetched = await fetchFile(deps, job, target, { file, check, context });
    const trouble = troubleOf(fetched);
    if (trouble !== null) {
      tellOutputTrouble(deps, job.submission.provider, trouble);
      return { result: 'retry', problem: trouble, gone: false };
    }
    const media = judgeFile(job, target, fetched.answer, check);
    if ('result' in media) return media;
    noteOdd(deps, job, target, media);
    const outcome = await keep(deps, file, path, media, context.shutdown);
    if (outcome.result === 'stored') forgetOutputTrouble(deps, job.submission.provider);
    return outcome;
  } finally {
    // What cannot be removed now is temporary, and removed by a later check of the storage.
    await file.discard().catch(() => undefined);
  }
}

interface Fetched {
  readonly answer: DownloadAnswer;
  /** The request that was answered carried the provider's key. */
  readonly keyed: boolean;
  readonly head: Uint8Array;
}

async function fetchFile(
  deps: ActivityDeps,
  job: Job,
  { url }: FileTarget,
  sink: { file: PendingFile; check: MediaCheck; context: AttemptContext },
): Promise<Fetched> {
  const { provider, options } = callsOf(deps, job);
  const { file, check, context } = sink;
  let seen = 0;
  let keyed = false;
  let head: Uint8Array = new Uint8Array();
  const request = {
    url,
    hosts: provider.outputHosts,
    headersFor: (hop: URL) => {
      const headers = provider.downloadAuth(hop, options.credential);
      keyed = Object.keys(headers).length > 0;
      return headers;
    },
    limits: { maxBytes: job.loaded.generation.plan.outputs.maxBytes, idleMs: IDLE_MS, totalMs: TOTAL_MS },
    signal: context.shutdown,
    write: async (chunk: Uint8Array) => {
      const missing = HEAD_BYTES - head.length;
      if (missing > 0) head = Buffer.concat([head, chunk.subarray(0, missing)]);
      check.write(chunk);
      await inStorage(() => file.write(chunk));
    },
    onProgress: (bytes: number) => {
      context.received(bytes - seen);
      seen = bytes;
    },
  };
  const answer = await (isInlineFile(url) ? readInlineFile(request) : deps.http.download(request));
  return { answer, keyed, head };
}

/** Answers that speak of our settings, our key or the moment, and not of the file. */
function troubleOf({ answer, keyed, head }: Fetched): OutputTrouble | null {
  if (answer.kind === 'rejected' && answer.reason === 'blocked_host') return 'blocked_host';
  if (!keyed) return null;
  // 403 says no such thing: Google's Files API also gives it for a file that is no more, and a look has just proved the key.
  if (answer.kind === 'gone') return answer.status === 401 ? 'key_refused' : null;
  // Aggregators say so while the file is not there yet, under status 200; no kind of media begins like it.
  const isJson = answer.kind === 'complete' && JSON_HEAD.test(Buffer.from(head).toString('latin1'));
  return isJson ? 'file_not_ready' : null;
}

/** Definite faults end the output, the rest is tried again; else what the file is. */
function judgeFile(
  job: Job,
  target: FileTarget,
  answer: DownloadAnswer,
  check: MediaCheck,
): FileOutcome | Media {
  if (answer.kind === 'gone') {
    // A link that is past its promised life may well be gone: only a fresh one tells that the output is.
    const gone = Date.now() < target.linkExpiresAt;
    return { result: 'retry', problem: `link_${answer.status}`, gone };
  }
  if (answer.kind === 'rejected') return { result: 'invalid', problem: answer.reason };
  if (answer.kind === 'failed') return { result: 'retry', problem: answer.reason, gone: false };
  const media = check.finish(answer.bytes);
  if (!media.ok) {
    return media.reason === 'truncated'
      ? { result: 'retry', problem: media.reason, gone: false }
      : { result: 'invalid', problem: media.reason };
  }
  return job.loaded.generation.plan.outputs.mediaTypes.includes(media.mediaType)
    ? media
    : { result: 'invalid', problem: 'media_type_not_allowed' };
}

/** A whole file that is not what one expects is delivered as it is; operators are told. */
function noteOdd(deps: ActivityDeps, job: Job, target: FileTarget, media: Media): void {
  const { mediaType, width, durationSeconds } = media;
  const { pricedSeconds } = job.loaded.generation.plan;
  if (durationSeconds === null) return;
  const isShort = pricedSeconds !== null && durationSeconds < pricedSeconds * SHORT;
  const isBlind = mediaType.startsWith('video/') && width === null;
  if (!isShort && !isBlind) return;
  const { generationId: generation, index: output } = target;
  const { provider } = job.submission;
  deps.log.warn(
    { generation, output, provider, durationSeconds, pricedSeconds },
    isShort ? 'output shorter than asked for' : 'output without a picture',
  );
}

/** Commits the file and has it scanned. Only a clean one stays; a scan that failed is never a pass. */
async function keep(
  deps: ActivityDeps,
  file: PendingFile,
  path: string,
  media: Media,
  signal: AbortSignal,
): Promise<FileOutcome> {
  let stays = false;
  try {
    const stored = await inStorage(() => file.commit());
    tellRecovered(deps);
    const read = () => deps.storage.read(path);
    const verdict = await deps.scan({ bytes: stored.bytes, mediaType: media.mediaType, read }, signal);
    stays = verdict.kind === 'clean';
    if (verdict.kind === 'infected') {
      countOutputProblem('infected');
      return { result: 'invalid', problem: 'infected' };
    }
    if (verdict.kind === 'failed') {
      const problem = `scan_${verdict.reason}` as const;
      countOutputProblem(problem);
      return { result: 'retry', problem, gone: false };
    }
    const { mediaType, width, height, durationSeconds } = media;
    const { retentionMs } = deps;
    return { result: 'stored', ...stored, mediaType, width, height, durationSeconds, retentionMs };
  } finally {
    // Also after a commit that failed: where it had come through all the same, nobody would ever name the file.
    if (!stays) await removeUnnamed(deps, path);
  }
}
