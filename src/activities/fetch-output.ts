import { recordOutput, renewOutput } from '../db/index.ts';
import type { OutputRecord } from '../db/index.ts';
import type { DownloadAnswer } from '../net/index.ts';
import { createMediaCheck } from '../storage/index.ts';
import type { MediaCheck, PendingFile } from '../storage/index.ts';
import type { ActivityDeps } from './deps.ts';
import { callsOf } from './job.ts';
import type { AttemptContext, Job } from './job.ts';

interface Target {
  readonly generationId: string;
  readonly index: number;
  readonly attempt: number;
  readonly url: string;
  readonly linkExpiresAt: number;
}

const IDLE_MS = 30_000;
const TOTAL_MS = 3_600_000;
/** A link that is dead twice, the second time fresh from the provider, is gone for good. */
const GONE_FOR_GOOD = 2;

/**
 * Copies one output into storage and records the end of this attempt. Once begun it is not stopped by the run moving
 * on, only by the stop of this worker; the lease keeps other attempts waiting meanwhile.
 */
export async function fetchOutput(
  deps: ActivityDeps,
  job: Job,
  target: Target,
  context: AttemptContext,
): Promise<void> {
  const { generationId, index, attempt } = target;
  const { timings } = job.loaded.generation.plan;
  const lease = { generationId, index, attempt, storeLeaseMs: timings.storeLeaseMs };
  // Kept also while it waits for a slot, so that nobody else queues for the same output.
  const renewal = setInterval(() => {
    renewOutput(deps.db, lease).catch(() => undefined);
  }, timings.storeLeaseMs / 3);
  let release: (() => void) | undefined;
  let file: PendingFile | undefined;
  try {
    release = await deps.slots.acquire(target.linkExpiresAt, context.shutdown);
    if (!(await renewOutput(deps.db, lease))) return;
    file = await deps.storage.create(`${generationId}/${index}-${attempt}`);
    const check = createMediaCheck();
    const answer = await download(deps, job, target, { file, check, signal: context.shutdown });
    const record = await judgeFile(deps, job, answer, file, check);
    const recorded = await recordOutput(deps.db, { generationId, index, attempt, ...record });
    const lost =
      record.result === 'stored' && recorded.outcome === 'lost_race' && recorded.path !== record.path;
    if (lost) await deps.storage.remove(record.path);
    if (recorded.state === 'storing' && recorded.goneCount >= GONE_FOR_GOOD) {
      await recordOutput(deps.db, { generationId, index, attempt, result: 'lost', problem: 'link_gone' });
    }
    deps.log.info(
      { generation: generationId, output: index, attempt, result: record.result },
      'output fetched',
    );
  } finally {
    clearInterval(renewal);
    await file?.discard();
    release?.();
  }
}

function download(
  deps: ActivityDeps,
  job: Job,
  target: Target,
  sink: { file: PendingFile; check: MediaCheck; signal: AbortSignal },
): Promise<DownloadAnswer> {
  const { provider, options } = callsOf(deps, job);
  return deps.http.download({
    url: target.url,
    hosts: provider.outputHosts,
    headersFor: (url) => provider.downloadAuth(url, options.credential),
    limits: { maxBytes: job.loaded.generation.plan.outputs.maxBytes, idleMs: IDLE_MS, totalMs: TOTAL_MS },
    signal: sink.signal,
    write: async (chunk) => {
      sink.check.write(chunk);
      await sink.file.write(chunk);
    },
  });
}

type Outcome<T> = T extends unknown ? Omit<T, 'generationId' | 'index' | 'attempt'> : never;

/** Complete and of an allowed type: committed to storage. Definite faults end the output, the rest is tried again. */
async function judgeFile(
  deps: ActivityDeps,
  job: Job,
  answer: DownloadAnswer,
  file: PendingFile,
  check: MediaCheck,
): Promise<Outcome<OutputRecord>> {
  if (answer.kind === 'gone') return { result: 'retry', problem: `link_${answer.status}`, gone: true };
  if (answer.kind === 'rejected') return { result: 'invalid', problem: answer.reason };
  if (answer.kind === 'failed') return { result: 'retry', problem: answer.reason, gone: false };
  const media = check.finish(answer.bytes);
  if (!media.ok) {
    return media.reason === 'truncated'
      ? { result: 'retry', problem: media.reason, gone: false }
      : { result: 'invalid', problem: media.reason };
  }
  if (!job.loaded.generation.plan.outputs.mediaTypes.includes(media.mediaType)) {
    return { result: 'invalid', problem: 'media_type_not_allowed' };
  }
  const stored = await file.commit();
  return {
    result: 'stored',
    ...stored,
    mediaType: media.mediaType,
    width: media.width,
    height: media.height,
    durationSeconds: media.durationSeconds,
    retentionMs: deps.retentionMs,
  };
}
