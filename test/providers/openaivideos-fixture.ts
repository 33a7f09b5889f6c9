import type { Provider } from '../../src/domain/provider.ts';
import type { OutboundHttp } from '../../src/net/index.ts';
import { openaivideos } from '../../src/providers/openaivideos.ts';

export type Settings = Readonly<Record<string, string>>;
/** The adapter with these settings. @throws with what is wrong with them */
export const made = (
  http: OutboundHttp,
  baseUrl: string,
  settings: Settings,
  nowMs?: () => number,
): Provider => {
  const read = openaivideos.configure(settings);
  if ('problems' in read) throw new Error(read.problems.map(({ problem }) => problem).join());
  return read.configured.create({ http, baseUrl, nowMs });
};

/** For an API that never asks a second upstream, so that each of its refusals is one. */
export const DIRECT = { RETRIES_UPSTREAMS: 'false' };

/** All that aggregators add: JSON, a URL in the job, our URL in the submit, signatures, replayed keys. */
export const AGGREGATOR = {
  ...DIRECT,
  SUBMIT_FORMAT: 'json',
  OUTPUT_KEYS: 'video_url',
  WEBHOOKS: 'standard',
  CALLBACK_MEMBER: 'callback_url',
  IDEMPOTENCY: 'replay',
};
