import { Registry } from 'prom-client';
import type { Db } from '../db/index.ts';
import { callbackMetrics, presetCallbackMetrics } from './callback-metrics.ts';
import { jobMetrics, presetJobMetrics } from './job-metrics.ts';
import { outboundMetrics } from './outbound-metrics.ts';
import { createProviderGauges } from './provider-gauges.ts';

export { countOutboundFailures } from './outbound-metrics.ts';

/** The metrics of one process in Prometheus' text format. */
export interface Exposition {
  readonly contentType: string;
  readonly render: () => Promise<string>;
}

/** What the API shows: callbacks, outbound failures, and the state of these providers in the database. */
export function apiMetrics(db: Db, providers: readonly string[]): Exposition {
  presetCallbackMetrics(providers);
  return expose(db, providers, callbackMetrics);
}

/** What the worker shows: submits and looks, outbound failures, and the state of these providers in the database. */
export function workerMetrics(db: Db, providers: readonly string[]): Exposition {
  presetJobMetrics(providers);
  return expose(db, providers, jobMetrics);
}

function expose(db: Db, providers: readonly string[], own: Registry): Exposition {
  const gauges = createProviderGauges(db, providers);
  const merged = Registry.merge([own, outboundMetrics, gauges.registry]);
  return {
    contentType: merged.contentType,
    async render() {
      await gauges.refresh();
      return merged.metrics();
    },
  };
}
