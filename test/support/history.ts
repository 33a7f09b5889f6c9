import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Darkroom } from './darkroom.ts';

/** One history event as Temporal returns it; only what tests look at is typed. */
export type HistoryEvent = Record<string, unknown> & { readonly eventId?: unknown };

/** The last run's whole history. */
export async function historyOf(room: Darkroom, generationId: string): Promise<HistoryEvent[]> {
  const history = await room.client.workflow.getHandle(generationId).fetchHistory();
  return JSON.parse(JSON.stringify(history.events ?? [])) as HistoryEvent[];
}

/**
 * Billed actions by Temporal Cloud's list: start, signal, timer, each activity (its retries are counted apart), and the
 * one search-attribute upsert.
 */
export function billedActions(events: readonly HistoryEvent[]): number {
  const billed = [
    'workflowExecutionStartedEventAttributes',
    'workflowExecutionSignaledEventAttributes',
    'timerStartedEventAttributes',
    'activityTaskScheduledEventAttributes',
    'upsertWorkflowSearchAttributesEventAttributes',
  ];
  return events.filter((event) => billed.some((name) => event[name] !== undefined && event[name] !== null))
    .length;
}

/** Whether a stall has added events: a task or step that timed out, or more signals than the run has asked for. */
export function wasDisturbed(events: readonly HistoryEvent[], signals: number): boolean {
  const lost = ['workflowTaskTimedOutEventAttributes', 'activityTaskTimedOutEventAttributes'];
  const isThere = (event: HistoryEvent, name: string) => event[name] !== undefined && event[name] !== null;
  return (
    events.some((event) => lost.some((name) => isThere(event, name))) ||
    events.filter((event) => isThere(event, 'workflowExecutionSignaledEventAttributes')).length > signals
  );
}

/** With RECORD_HISTORIES set, keeps this run's history for the replay tests. */
export async function recordHistory(
  room: Pick<Darkroom, 'temporal'>,
  generationId: string,
  scenario: string,
): Promise<void> {
  if (process.env['RECORD_HISTORIES'] === undefined) return;
  const show = ['workflow', 'show', '--workflow-id', generationId, '--output', 'json'];
  const address = ['--address', room.temporal.address];
  const { stdout } = await promisify(execFile)(room.temporal.binary, [...show, ...address], {
    maxBuffer: 16_777_216,
  });
  const history: unknown = JSON.parse(stdout);
  const file = fileURLToPath(new URL(`../histories/${scenario}.json`, import.meta.url));
  await writeFile(file, `${JSON.stringify({ workflowId: generationId, history }, null, 1)}\n`);
}
