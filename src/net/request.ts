import type { Agent, Dispatcher } from 'undici';
import type { AllowEntry } from './allow.ts';
import { decodeBody } from './decode.ts';
import { connectFailure, exchangeFailure } from './failures.ts';
import { joinHeaders, prepareHeaders } from './headers.ts';
import type { NetFailure, OutboundAnswer, OutboundRequest } from './types.ts';
import { checkUrl } from './url.ts';

const DEFAULT_MAX_ANSWER_BYTES = 1024 * 1024;

/** What `request` needs: GETs may share connections, all else has one of its own. */
export interface RequestAgents {
  readonly shared: Agent;
  readonly single: Agent;
  readonly allow: readonly AllowEntry[];
}

/** Sends one request once; see OutboundHttp.request. */
export async function sendRequest(agents: RequestAgents, request: OutboundRequest): Promise<OutboundAnswer> {
  const checked = checkUrl(request.url, agents.allow);
  if (!checked.ok) return notSent(checked.problem === 'address' ? 'blocked_address' : 'invalid_url');
  const { url } = checked;
  const headers = prepareHeaders(request.headers);
  if (headers === null) return notSent('invalid_request');
  return new Promise((resolve) => {
    const agent = request.method === 'GET' ? agents.shared : agents.single;
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: { 'accept-encoding': 'identity', ...headers },
        body: request.body ?? null,
      },
      createHandler(request, url.protocol === 'https:', resolve),
    );
  });
}

/**
 * Collects one answer. undici calls `onRequestStart` right before it writes the first byte to an established
 * connection (client-h1.js, writeH1), and an abort inside it prevents the write: so a request for which it was never
 * called, or was called after we gave up, was certainly not sent.
 */
function createHandler(
  request: OutboundRequest,
  secure: boolean,
  resolve: (answer: OutboundAnswer) => void,
): Dispatcher.DispatchHandler {
  const { cutAnswerAt: cutAt = null } = request;
  const maxBytes = cutAt ?? request.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
  const startedMs = performance.now();
  let controller: Dispatcher.DispatchController | null = null;
  let ended = false;
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  let bytes = 0;
  const chunks: Buffer[] = [];

  const end = (answer: OutboundAnswer): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    resolve(answer);
    controller?.abort(new Error('ended'));
  };
  /** The head is there and the caller wants no more than a part of the body: then this part is the answer. */
  const cut = (): OutboundAnswer | null => {
    if (cutAt === null || status === 0) return null;
    return { kind: 'answer', status, headers, body: Buffer.concat(chunks).subarray(0, cutAt) };
  };
  const expired = (): void =>
    end(cut() ?? (controller === null ? notSent('connect_timeout') : interrupted('timeout')));
  // Timers come before sockets in Node's loop: after a stall of our own, an answer that lies there is read first.
  const timer = setTimeout(() => setImmediate(expired), request.timeoutMs);

  return {
    onRequestStart(next) {
      // Never a second time, and never after we have reported `not_sent`.
      if (ended || controller !== null) {
        end(interrupted('reset'));
        next.abort(new Error('not again'));
        return;
      }
      // After a stall of our own the connection can be ready before the timer's end has run: nothing begins that late.
      if (performance.now() - startedMs >= request.timeoutMs) {
        end(notSent('connect_timeout'));
        next.abort(new Error('too late'));
        return;
      }
      controller = next;
    },
    onResponseStart(_controller, statusCode, rawHeaders) {
      if (statusCode < 200) return;
      status = statusCode;
      headers = joinHeaders(rawHeaders);
      const tooLarge = Number(headers['content-length'] ?? 0) > maxBytes;
      if (cutAt === null && tooLarge) end(interrupted('answer_too_large'));
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      if (cutAt !== null || bytes <= maxBytes) chunks.push(chunk);
      if (bytes > maxBytes) end(cut() ?? interrupted('answer_too_large'));
    },
    onResponseEnd() {
      const body = decodeBody(Buffer.concat(chunks), headers['content-encoding'], maxBytes);
      controller = null;
      end(body === null ? (cut() ?? interrupted('bad_answer')) : { kind: 'answer', status, headers, body });
    },
    onResponseError(_controller, error) {
      const never = controller === null;
      controller = null;
      end(cut() ?? (never ? notSent(connectFailure(error, secure)) : interrupted(exchangeFailure(error))));
    },
  };
}

function notSent(reason: NetFailure): OutboundAnswer {
  return { kind: 'not_sent', reason };
}

function interrupted(reason: NetFailure): OutboundAnswer {
  return { kind: 'interrupted', reason };
}
