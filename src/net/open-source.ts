import { transferFailure } from './failures.ts';
import { type Connecting, getStream, type StreamAnswer } from './get-stream.ts';
import { prepareHeaders } from './headers.ts';
import { matchesHosts } from './hosts.ts';
import type { TransferLimits } from './limits.ts';
import type { DownloadAnswer, DownloadRequest } from './types.ts';
import { checkUrl } from './url.ts';

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const GONE = new Set([401, 403, 404, 410]);

/** One transfer: what was asked for, and its clocks. */
export interface Transfer {
  readonly connecting: Connecting;
  readonly request: DownloadRequest;
  readonly limits: TransferLimits;
}

/** A body that is about to come, with the headers of its answer. */
export interface OpenSource extends StreamAnswer {
  readonly kind: 'open';
}

/** Which bytes are asked for: all, or those from `from` on if the file is still the one of this validator. */
export type Wanted = 'whole' | { readonly from: number; readonly validator: string };

/** Walks the redirects: every hop passes the URL rules, the host list and, when connecting, the address guard. */
export async function openSource(
  { connecting, request, limits }: Transfer,
  wanted: Wanted,
): Promise<OpenSource | Exclude<DownloadAnswer, { kind: 'complete' }>> {
  const signal = limits.next();
  const [success, range] =
    wanted === 'whole' ? [200, {}] : [206, { range: `bytes=${wanted.from}-`, 'if-range': wanted.validator }];
  // A fragment is never sent, so it is no reason to lose an output.
  let next = request.url.replace(/#.*$/s, '');
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const checked = checkUrl(next, connecting.allow);
    if (!checked.ok) return rejected(checked.problem === 'address' ? 'blocked_address' : 'invalid_url');
    const { url } = checked;
    if (!matchesHosts(url, request.hosts)) return rejected('blocked_host');
    const headers = prepareHeaders(request.headersFor(new URL(url)));
    if (headers === null) return failed('invalid_request');

    let answer: StreamAnswer;
    try {
      const own = { ...headers, ...range, 'accept-encoding': 'identity' };
      answer = await getStream(connecting, url, own, signal);
    } catch (error) {
      if (signal.aborted) return failed(limitFailure(limits));
      const reason = transferFailure(error, url.protocol === 'https:');
      return reason === 'blocked_address' ? rejected(reason) : failed(reason);
    }
    limits.touch();
    const { status } = answer;
    if (status === success) return { kind: 'open', ...answer };
    answer.close();
    if (GONE.has(status)) return { kind: 'gone', status };
    const { location } = answer.headers;
    if (!REDIRECTS.has(status) || location === undefined) return failed('http_status');
    if (!URL.canParse(location, url.href)) return rejected('invalid_url');
    const target = new URL(location, url);
    target.hash = '';
    next = target.href;
  }
  return rejected('redirects');
}

/** The failure of a transfer that one of its limits has ended. */
export function limitFailure(limits: TransferLimits): 'timeout' | 'too_slow' {
  return limits.reached() === 'rate' ? 'too_slow' : 'timeout';
}

export function rejected(
  reason: Extract<DownloadAnswer, { kind: 'rejected' }>['reason'],
): Extract<DownloadAnswer, { kind: 'rejected' }> {
  return { kind: 'rejected', reason };
}

export function failed(
  reason: Extract<DownloadAnswer, { kind: 'failed' }>['reason'],
): Extract<DownloadAnswer, { kind: 'failed' }> {
  return { kind: 'failed', reason };
}
