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
