import type { AttemptReport } from '../services/deliver-webhook.ts';
import type { EndedSpan } from '../tracing/index.ts';

/** One attempt to deliver a webhook, in the trace of its generation. */
export function deliverySpan(report: AttemptReport, endMs: number): EndedSpan {
  const { deliveryId: delivery, endpointId: endpoint, attempt, outcome, status, problem } = report;
  return {
    name: 'webhook delivery',
    kind: 'client',
    generation: report.generationId,
    fields: { delivery, endpoint, attempt, outcome, status, problem },
    startMs: endMs - report.durationMs,
    endMs,
    failed: outcome !== 'delivered',
    link: null,
  };
}
