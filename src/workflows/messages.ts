import { defineSignal } from '@temporalio/workflow';
import type { Timings } from '../domain/timings.ts';

/** Task queues. Submits are rate-limited per provider; collect is never behind a rate limit. */
export const MAIN_QUEUE = 'darkroom';
export const COLLECT_QUEUE = 'darkroom-collect';
export function submitQueue(provider: string): string {
  return `darkroom-submit-${provider}`;
}

/** The workflow's name, so that no starter has to import its implementation. */
export const GENERATE_MEDIA = 'generateMedia';

/** What a run is told at its start: ids and frozen timings, never content. */
export interface GenerateMediaInput {
  readonly generationId: string;
  readonly plan: {
    readonly provider: string;
    readonly timings: Timings;
  };
}

export interface GenerateMediaResult {
  readonly state: string;
}

/** Why a run is woken; the message itself stands in the rows. */
export const WAKE_REASONS = ['callback', 'cancel', 'operator', 'sweep'] as const;
export type WakeReason = (typeof WAKE_REASONS)[number];

/** "Something is in your rows": the only signal, at most one outstanding. */
export const wakeSignal = defineSignal<[{ readonly reason: WakeReason }]>('wake');
