import type { GenerationErrorCode } from './errors.ts';
import type { SUBMISSION_STATES } from './generation.ts';

/** What the choice of a route depends on: the last submission. */
export interface LastSubmission {
  readonly state: (typeof SUBMISSION_STATES)[number];
  readonly routeIndex: number;
  readonly refusalCode: GenerationErrorCode | null;
  /** Its answer was lost at some time; absent for one whose answer was just read. */
  readonly everUnknown?: boolean;
}

/**
 * Which place of the plan's route list is submitted to: the first, then the next one after a refusal for good; null when
 * none is left. Rejected content is not carried on to another provider: its rules would reject the account next. One that
 * was unknown and is dead was declared not accepted by an operator who wants it submitted again: at the same place.
 */
export function nextRoute(last: LastSubmission | null, routes: number): number | null {
  if (last === null) return 0;
  if (last.state !== 'refused' && last.state !== 'abandoned') return last.routeIndex;
  if (last.state === 'abandoned' && last.everUnknown === true) return last.routeIndex;
  if (last.refusalCode === 'content_rejected') return null;
  const next = last.routeIndex + 1;
  return next < routes ? next : null;
}
