import { Counter, Histogram, Registry } from 'prom-client';
import type { AroundCall } from '../domain/watched-provider.ts';
import { PROVIDER_CALLS } from '../domain/watched-provider.ts';
import { PROVIDER_ERRORS, providerErrorOf } from './provider-errors.ts';

/** How long calls to providers took, and how they went wrong. */
export const providerCallMetrics = new Registry();
/** How long the API took to answer. */
export const requestMetrics = new Registry();
/** How long it took from what a provider told to the end of a generation. */
export const settleMetrics = new Registry();

const callSeconds = new Histogram({
  name: 'darkroom_provider_call_seconds',
  help: 'Time of calls to providers: submit, observe, cancel, list, find; those that brought no answer included.',
  labelNames: ['provider', 'call'],
  buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  registers: [providerCallMetrics],
});
const callErrors = new Counter({
  name: 'darkroom_provider_errors_total',
  help: 'Calls to providers that did not bring what was asked for, by class; blocked and defect are our own.',
  labelNames: ['provider', 'class'],
  registers: [providerCallMetrics],
});
const requestSeconds = new Histogram({
  name: 'darkroom_request_duration_seconds',
  help: 'Time of requests by route, method and class of status; 499 counts as 4xx: the client left. Calls that wait on purpose (events, Prefer: wait) are in it.',
  labelNames: ['route', 'method', 'status'],
  buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 30],
  registers: [requestMetrics],
});
const callbackToSettled = new Histogram({
  name: 'darkroom_callback_to_settled_seconds',
  help: 'From the first callback that told the end of a job to the end of its generation: look, download, settle.',
  labelNames: ['provider'],
  buckets: [0.25, 0.5, 1, 2.5, 5, 15, 60, 300],
  registers: [settleMetrics],
});
const settleLag = new Histogram({
  name: 'darkroom_settle_lag_seconds',
  help: 'From the first look that saw the success of a job to the end of its generation: download and settle.',
  labelNames: ['provider'],
  buckets: [0.25, 0.5, 1, 2.5, 5, 15, 60, 300],
  registers: [settleMetrics],
});

/** Times each call to a provider and counts its trouble. */
export const measureCalls: AroundCall = async (provider, call, run) => {
  const stop = callSeconds.startTimer({ provider, call });
  try {
    const answer = await run();
    const trouble = providerErrorOf(answer);
    if (trouble !== null) callErrors.inc({ provider, class: trouble });
    return answer;
  } catch (error) {
    callErrors.inc({ provider, class: 'defect' });
    throw error;
  } finally {
    stop();
  }
};

/** Counts one answered request; `route` null = no route of ours. */
export function measureRequest(request: {
  readonly route: string | null;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
}): void {
  const { route, method, status, ms } = request;
  const labels = {
    route: route ?? 'none',
    method: knownMethod(method),
    status: `${Math.floor(status / 100)}xx`,
  };
  requestSeconds.observe(labels, ms / 1_000);
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A caller may send any method: nobody can grow the number of series with it. */
function knownMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

/** Counts the end of one generation; a time is null where there was no callback, or no success. */
export function measureSettle(settle: {
  readonly provider: string;
  readonly sinceCallbackMs: number | null;
  readonly sinceSuccessMs: number | null;
}): void {
  const { provider, sinceCallbackMs, sinceSuccessMs } = settle;
  if (sinceCallbackMs !== null) callbackToSettled.observe({ provider }, Math.max(sinceCallbackMs, 0) / 1_000);
  if (sinceSuccessMs !== null) settleLag.observe({ provider }, Math.max(sinceSuccessMs, 0) / 1_000);
}

/** Every series from 0 on: a counter that appears with its first event shows no increase. */
export function presetLatencyMetrics(providers: Iterable<string>): void {
  for (const provider of providers) {
    for (const call of PROVIDER_CALLS) callSeconds.zero({ provider, call });
    for (const trouble of PROVIDER_ERRORS) callErrors.inc({ provider, class: trouble }, 0);
    callbackToSettled.zero({ provider });
    settleLag.zero({ provider });
  }
}
