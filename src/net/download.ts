import type { Agent, Dispatcher } from 'undici';
import type { AllowEntry } from './allow.ts';
import { isTruncation, transferFailure } from './failures.ts';
import { joinHeaders, prepareHeaders } from './headers.ts';
import { matchesHosts } from './hosts.ts';
import { startLimits, type TransferLimits } from './limits.ts';
import type { DownloadAnswer, DownloadRequest } from './types.ts';
import { checkUrl } from './url.ts';

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const GONE = new Set([401, 403, 404, 410]);

interface Context {
  readonly agent: Agent;
  readonly allow: readonly AllowEntry[];
  readonly request: DownloadRequest;
  readonly limits: TransferLimits;
}

/** Streams one file; see OutboundHttp.download. */
export async function downloadFile(
  agent: Agent,
  allow: readonly AllowEntry[],
  request: DownloadRequest,
): Promise<DownloadAnswer> {
  request.signal.throwIfAborted();
  const limits = startLimits(request.limits, request.signal);
  try {
    const answer = await follow({ agent, allow, request, limits });
    if (answer.kind !== 'complete') request.signal.throwIfAborted();
    return answer;
  } finally {
    limits.stop();
  }
}

/** Walks the redirects: every hop passes the URL rules, the host list and, when connecting, the address guard. */
async function follow(context: Context): Promise<DownloadAnswer> {
  const { agent, allow, request, limits } = context;
  // A fragment is never sent, so it is no reason to lose an output.
  let next = request.url.replace(/#.*$/s, '');
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const checked = checkUrl(next, allow);
    if (!checked.ok) return rejected(checked.problem === 'address' ? 'blocked_address' : 'invalid_url');
    const { url } = checked;
    if (!matchesHosts(url, request.hosts)) return rejected('blocked_host');
    const headers = prepareHeaders(request.headersFor(new URL(url)));
    if (headers === null) return failed('invalid_request');

    let response: Dispatcher.ResponseData;
    try {
      response = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { ...headers, 'accept-encoding': 'identity' },
        signal: limits.signal,
      });
    } catch (error) {
      if (limits.signal.aborted) return failed('timeout');
      const reason = transferFailure(error, url.protocol === 'https:');
      return reason === 'blocked_address' ? rejected(reason) : failed(reason);
    }
    limits.touch();
    if (response.statusCode === 200) return receive(context, response);
    discard(response);
    if (GONE.has(response.statusCode)) return { kind: 'gone', status: response.statusCode };
    const location = joinHeaders(response.headers)['location'];
    if (!REDIRECTS.has(response.statusCode) || location === undefined) return failed('http_status');
    if (!URL.canParse(location, url.href)) return rejected('invalid_url');
    const target = new URL(location, url);
    target.hash = '';
    next = target.href;
  }
  return rejected('redirects');
}

/** Hands the body on chunk by chunk; anything but the identity encoding, or more than the limit, is cut off. */
async function receive(
  { request, limits }: Context,
  response: Dispatcher.ResponseData,
): Promise<DownloadAnswer> {
  const headers = joinHeaders(response.headers);
  const declared = headers['content-length'] === undefined ? null : Number(headers['content-length']);
  const problem = findHeaderProblem(headers, declared, request.limits.maxBytes);
  if (problem !== null) {
    discard(response);
    return problem;
  }
  let bytes = 0;
  const chunks = response.body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextChunk(chunks);
      if (next.kind === 'error') {
        if (limits.signal.aborted) return failed('timeout');
        return failed(isTruncation(next.error) ? 'truncated' : transferFailure(next.error, false));
      }
      if (next.kind === 'end') break;
      bytes += next.chunk.length;
      if (bytes > request.limits.maxBytes) return rejected('too_large');
      limits.hold();
      await request.write(next.chunk);
      limits.touch();
      request.onProgress?.(bytes);
    }
  } finally {
    discard(response);
  }
  if (declared !== null && declared !== bytes) return failed('truncated');
  return { kind: 'complete', bytes, contentType: headers['content-type'] ?? null };
}

function findHeaderProblem(
  headers: Readonly<Record<string, string>>,
  declared: number | null,
  maxBytes: number,
): DownloadAnswer | null {
  const content = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const transfer = (headers['transfer-encoding'] ?? 'chunked').trim().toLowerCase();
  if (content !== 'identity' || transfer !== 'chunked') return rejected('encoded');
  if (declared !== null && !Number.isSafeInteger(declared)) return failed('bad_answer');
  return declared !== null && declared > maxBytes ? rejected('too_large') : null;
}

type Next =
  | { readonly kind: 'chunk'; readonly chunk: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: unknown };

/** Keeps the source's errors apart from the sink's. */
async function nextChunk(chunks: AsyncIterator<Uint8Array>): Promise<Next> {
  try {
    const { done, value } = await chunks.next();
    return done ? { kind: 'end' } : { kind: 'chunk', chunk: value };
  } catch (error) {
    return { kind: 'error', error };
  }
}

/** Closes the connection without reading on; a body destroyed early emits an error that nobody waits for. */
function discard(response: Dispatcher.ResponseData): void {
  response.body.on('error', () => {});
  response.body.destroy();
}

function rejected(reason: Extract<DownloadAnswer, { kind: 'rejected' }>['reason']): DownloadAnswer {
  return { kind: 'rejected', reason };
}

function failed(reason: Extract<DownloadAnswer, { kind: 'failed' }>['reason']): DownloadAnswer {
  return { kind: 'failed', reason };
}
