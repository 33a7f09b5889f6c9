import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal } from '@temporalio/proto';
import { GENERATE_MEDIA, submitQueue } from '../workflows/messages.ts';

type History = temporal.api.history.v1.IHistory;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

/** A job that a step of a run was told of. */
export interface TracedJob {
  readonly provider: string;
  readonly jobId: string;
  /** null in steps of versions before 0.4, which did not tell. */
  readonly submissionId: string | null;
}

/** What the histories of one generation's runs tell of its submissions; Temporal holds ids and codes only. */
export interface Trace {
  /** In the order in which they became known. */
  readonly jobs: readonly TracedJob[];
  /** The last submit: at which provider, and which try where its answer came; null = none was begun. */
  readonly lastSubmit: { readonly provider: string; readonly submissionId: string | null } | null;
  /** Refused for good. */
  readonly refused: readonly string[];
}

export interface RunRef {
  readonly generationId: string;
  readonly runId: string;
}

const RPC_MS = 30_000;
/** Of gRPC; this call of the client does not turn it into an error of its own. */
const NOT_FOUND = 5;
/** Runs of one generation that are read, the newest: each only repeats what the one before it found in the rows. */
const MOST_RUNS = 20;

/** All runs of generations that fit a visibility query, newest first. @throws when Temporal can't be asked */
export async function* listRuns(client: Client, query: string): AsyncIterable<RunRef> {
  const runs: AsyncIterable<WorkflowExecutionInfo> = client.workflow.list({
    query: `WorkflowType = '${GENERATE_MEDIA}' AND (${query})`,
  });
  for await (const { workflowId, runId } of runs) yield { generationId: workflowId, runId };
}

/** The history of one run (without its id: the last one); null when Temporal keeps it no more. @throws as above */
export async function readHistory(
  client: Client,
  generationId: string,
  runId?: string,
): Promise<History | null> {
  try {
    return await client.withDeadline(Date.now() + RPC_MS, () =>
      client.workflow.getHandle(generationId, runId).fetchHistory(),
    );
  } catch (error) {
    if ((error as { code?: unknown }).code === NOT_FOUND) return null;
    throw error;
  }
}

/** What all runs of a generation tell that Temporal still keeps. @throws when it can't be asked */
export async function traceGeneration(client: Client, generationId: string): Promise<Trace> {
  const runIds = new Set<string>();
  for await (const { runId } of listRuns(client, `WorkflowId = '${generationId}'`)) {
    runIds.add(runId);
    if (runIds.size >= MOST_RUNS) break;
  }
  const histories: History[] = [];
  for (const runId of [...runIds].toReversed()) {
    const history = await readHistory(client, generationId, runId);
    if (history !== null) histories.push(history);
  }
  // The list lags behind by a second or so; the last run is found in any case.
  if (runIds.size === 0) {
    const history = await readHistory(client, generationId);
    if (history !== null) histories.push(history);
  }
  return traceOf(histories, client.options.loadedDataConverter);
}

/** The same of histories at hand, oldest first. */
export async function traceOf(histories: readonly History[], converter: LoadedDataConverter): Promise<Trace> {
  const jobs = new Map<string, TracedJob>();
  const refused = new Set<string>();
  let lastSubmit: Trace['lastSubmit'] = null;
  for (const { events } of histories) {
    const submits = new Set<string>();
    for (const event of events ?? []) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      const queue = scheduled?.taskQueue?.name ?? '';
      // Each provider has its own queue, in every version.
      if (scheduled?.activityType?.name === 'submit' && queue.startsWith(submitQueue(''))) {
        lastSubmit = { provider: queue.slice(submitQueue('').length), submissionId: null };
        submits.add(String(event.eventId));
      }
      const completed = event.activityTaskCompletedEventAttributes;
      if (!completed) continue;
      const step = await decoded(converter, completed.result);
      const view = (step?.['view'] ?? {}) as Readonly<Record<string, unknown>>;
      const provider = textOf(view, 'provider');
      const submissionId = textOf(view, 'submissionId') ?? textOf(step, 'submissionId');
      const jobId = textOf(view, 'jobId') ?? textOf(step, 'jobId');
      if (provider === null) continue;
      if (jobId !== null) jobs.set(`${provider} ${jobId}`, { provider, jobId, submissionId });
      if (submits.has(String(completed.scheduledEventId)) && submissionId !== null) {
        lastSubmit = { provider, submissionId };
        if (textOf(step, 'reason') === 'refused') refused.add(submissionId);
      }
    }
  }
  return { jobs: [...jobs.values()], lastSubmit, refused: [...refused] };
}

async function decoded(
  converter: LoadedDataConverter,
  payloads: Payloads,
): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    const [value] = await decodeArrayFromPayloads(converter, payloads?.payloads);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // Written under a codec key that is not here, or by something else: it tells nothing.
    return null;
  }
}

function textOf(of: Readonly<Record<string, unknown>> | null, name: string): string | null {
  const value = of?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
