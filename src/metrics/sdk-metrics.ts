import { Gauge, Registry } from 'prom-client';
import type { OutboundHttp } from '../net/types.ts';
import type { DatabaseGauges } from './provider-gauges.ts';

const READ_LIMIT_MS = 2_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** What Temporal's SDK counts, as text beside our own. */
export interface SdkMetrics extends DatabaseGauges {
  /** As of the last refresh; empty when it could not be read. */
  readonly text: () => string;
}

/**
 * The SDK serves its metrics itself, from native code, on a port of its own; here they are read from it, so that a worker
 * is one address to scrape.
 */
export function createSdkMetrics(http: Pick<OutboundHttp, 'request'>, url: string): SdkMetrics {
  const registry = new Registry();
  const up = new Gauge({
    name: 'darkroom_sdk_metrics_up',
    help: '1 when the metrics of Temporal’s SDK could be read for this page; else they are missing in it.',
    registers: [registry],
  });
  let text = '';
  return {
    registry,
    async refresh() {
      const answer = await http.request({
        method: 'GET',
        url,
        headers: {},
        timeoutMs: READ_LIMIT_MS,
        maxAnswerBytes: MAX_BYTES,
      });
      text = answer.kind === 'answer' && answer.status === 200 ? answer.body.toString('utf8') : '';
      up.set(text === '' ? 0 : 1);
    },
    text: () => text,
  };
}
