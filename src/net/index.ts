import { createAgent, type Lookup } from './agent.ts';
import type { AllowEntry } from './allow.ts';
import { downloadFile } from './download.ts';
import { sendRequest } from './request.ts';
import type { OutboundHttp } from './types.ts';

export { isPublicAddress } from './addresses.ts';
export { type AllowEntry, assertProductionSafe, parseAllow } from './allow.ts';
export { isInlineFile, readInlineFile } from './data-url.ts';
export { uploadFile } from './upload.ts';
export { checkUrl } from './url.ts';
export type * from './types.ts';

export interface OutboundOptions {
  /** host:port entries that are permitted although private, plain http or on another port; see parseAllow. */
  readonly allow: readonly AllowEntry[];
  /** Replaces the system's resolver, for tests; its answers are vetted all the same. */
  readonly lookup?: Lookup;
  /** For DNS, TCP and TLS together; default 10 s. A call's own limit holds as well. */
  readonly connectTimeoutMs?: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

/** The guarded way out. Make one per process; close it at the end. */
export function createOutboundHttp(options: OutboundOptions): OutboundHttp {
  const { allow, lookup, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = options;
  const shared = createAgent({ allow, lookup, connectTimeoutMs, reuseConnections: true });
  const single = createAgent({ allow, lookup, connectTimeoutMs, reuseConnections: false });
  const downloads = new Set<Promise<unknown>>();
  let closed: Promise<unknown> | null = null;
  return {
    request: (request) => sendRequest({ shared, single, allow }, request),
    async download(request) {
      if (closed !== null) return { kind: 'failed', reason: 'connect_refused' };
      const running = downloadFile({ allow, lookup, connectTimeoutMs }, request);
      downloads.add(running);
      return running.finally(() => downloads.delete(running));
    },
    async close() {
      closed ??= Promise.all([shared.close(), single.close(), Promise.allSettled(downloads)]);
      await closed;
    },
  };
}
