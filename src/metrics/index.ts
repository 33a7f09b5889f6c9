import { Registry } from 'prom-client';
import type { Db } from '../db/index.ts';
import { callbackMetrics, presetCallbackMetrics } from './callback-metrics.ts';
import { housekeepingMetrics } from './housekeeping-metrics.ts';
import { jobMetrics, presetJobMetrics } from './job-metrics.ts';
import { outboundMetrics } from './outbound-metrics.ts';
import { createProviderGauges, type DatabaseGauges } from './provider-gauges.ts';
import { createWebhookGauges } from './webhook-gauges.ts';
import { presetWebhookMetrics, webhookMetrics } from './webhook-metrics.ts';

export { countOutboundFailures } from './outbound-metrics.ts';

/** The metrics of one process in Prometheus' text format. */
export interface Exposition {
  readonly contentType: string;
  readonly render: () => Promise<string>;
}

/** What the API shows: callbacks, outbound failures, and the state of these providers in the database. */
export function apiMetrics(db: Db, providers: readonly string[]): Exposition {
  presetCallbackMetrics(providers);
  return expose([callbackMetrics], [createProviderGauges(db, providers)]);
}

/**
 * What the worker shows: submits and looks, webhooks sent, what was tidied up, outbound failures, and the state of these providers and of all
 * webhooks in the database.
 */
export function workerMetrics(db: Db, providers: readonly string[]): Exposition {
  presetJobMetrics(providers);
  presetWebhookMetrics();
  return expose(
    [jobMetrics, webhookMetrics, housekeepingMetrics],
    [createProviderGauges(db, providers), createWebhookGauges(db)],
  );
}

function expose(own: readonly Registry[], gauges: readonly DatabaseGauges[]): Exposition {
  const merged = Registry.merge([...own, outboundMetrics, ...gauges.map(({ registry }) => registry)]);
  return {
    contentType: merged.contentType,
    async render() {
      await Promise.all(gauges.map((gauge) => gauge.refresh()));
      return merged.metrics();
    },
  };
}
