import { Counter, Registry } from 'prom-client';
import type { DownloadAnswer, OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { OUTBOUND_FAILURES, type OutboundFailures } from './labels.ts';

/** What this process has counted of its calls to the outside. */
export const outboundMetrics = new Registry();

const failures = new Counter({
  name: 'darkroom_outbound_failures_total',
  help: 'Calls to providers (request) and fetches of outputs (download) that brought no answer or no file, by reason.',
  labelNames: ['call', 'reason'],
  registers: [outboundMetrics],
});

// A counter that appears with its first event shows no increase.
for (const [call, reasons] of Object.entries(OUTBOUND_FAILURES)) {
  for (const reason of reasons) failures.inc({ call, reason }, 0);
}

function count<C extends keyof OutboundFailures>(call: C, reason: OutboundFailures[C]): void {
  failures.inc({ call, reason });
}

function countDownload(answer: DownloadAnswer): void {
  if (answer.kind === 'gone') count('download', 'gone');
  else if (answer.kind !== 'complete') count('download', answer.reason);
}

function countRequest(answer: OutboundAnswer): void {
  if (answer.kind !== 'answer') count('request', answer.reason);
}

/** The same outbound HTTP, its failures counted. */
export function countOutboundFailures(http: OutboundHttp): OutboundHttp {
  return {
    async request(request) {
      const answer = await http.request(request);
      countRequest(answer);
      return answer;
    },
    async download(request) {
      const answer = await http.download(request);
      countDownload(answer);
      return answer;
    },
    close: () => http.close(),
  };
}
