import { Registry } from 'prom-client';
import type { Db } from '../db/index.ts';
import { callbackMetrics, presetCallbackMetrics } from './callback-metrics.ts';
import { housekeepingMetrics } from './housekeeping-metrics.ts';
import { jobMetrics, presetJobMetrics } from './job-metrics.ts';
import {
  presetLatencyMetrics,
  providerCallMetrics,
  requestMetrics,
  settleMetrics,
} from './latency-metrics.ts';
import { logMetrics } from './log-metrics.ts';
import { outboundMetrics } from './outbound-metrics.ts';
import { createPauseGauges } from './pause-gauges.ts';
import { createProviderGauges, type DatabaseGauges } from './provider-gauges.ts';
import type { SdkMetrics } from './sdk-metrics.ts';
import { createWebhookGauges } from './webhook-gauges.ts';
import { createStateGauges } from './state-gauges.ts';
import { sweepMetrics } from './sweep-metrics.ts';
import { presetWebhookMetrics, webhookMetrics } from './webhook-metrics.ts';

export { measureCalls } from './latency-metrics.ts';
export { countDroppedFields } from './log-metrics.ts';
export { countOutboundFailures } from './outbound-metrics.ts';
export { createSdkMetrics } from './sdk-metrics.ts';

/** The metrics of one process in Prometheus' text format. */
export interface Exposition {
  readonly contentType: string;
  readonly render: () => Promise<string>;
}

/** What the API shows: callbacks, outbound failures, and the state of these providers in the database. */
export function apiMetrics(db: Db, providers: readonly string[]): Exposition {
  presetCallbackMetrics(providers);
  return expose(
    [callbackMetrics, requestMetrics, sweepMetrics],
    [createProviderGauges(db, providers), createPauseGauges(db), createStateGauges(db)],
  );
}

/**
 * What the worker shows: submits and looks, webhooks sent, what was tidied up, outbound failures, and the state of these providers and of all
 * webhooks in the database.
 */
export function workerMetrics(
  db: Db,
  providers: readonly string[],
  sdk: SdkMetrics | null = null,
): Exposition {
  presetJobMetrics(providers);
  presetLatencyMetrics(providers);
  presetWebhookMetrics();
  return expose(
    [jobMetrics, webhookMetrics, housekeepingMetrics, providerCallMetrics, settleMetrics, sweepMetrics],
    [
      createProviderGauges(db, providers),
      createPauseGauges(db),
      createStateGauges(db),
      createWebhookGauges(db),
      ...(sdk === null ? [] : [sdk]),
    ],
    sdk?.text,
  );
}

function expose(
  own: readonly Registry[],
  gauges: readonly DatabaseGauges[],
  more: () => string = () => '',
): Exposition {
  const merged = Registry.merge([
    ...own,
    outboundMetrics,
    logMetrics,
    ...gauges.map(({ registry }) => registry),
  ]);
  return {
    contentType: merged.contentType,
    async render() {
      await Promise.all(gauges.map((gauge) => gauge.refresh()));
      return (await merged.metrics()) + more();
    },
  };
}
