import { ConnectionError } from './errors.ts';

/** How requests are sent. */
export interface SendOptions {
  readonly fetch: typeof fetch;
  /** Further tries after the first; each under the same Idempotency-Key. */
  readonly maxRetries: number;
  /** Of one try, in milliseconds, until its headers are there. */
  readonly timeoutMs: number;
  /** The first pause; later ones double, with jitter, up to 20 s. `Retry-After` wins. */
  readonly retryDelayMs: number;
}

const MAX_PAUSE_MS = 20_000;
/** Passing by themselves. 409 only while the first request with the same key is under way. */
const PASSING = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Sends until there is an answer that stands. Only what may be repeated is: reads, deletions, and requests with an
 * Idempotency-Key, whose bytes and key stay the same, so that a lost answer creates nothing twice.
 * @throws ConnectionError when no try brought an answer; `signal.reason` of the request when it was aborted
 */
export function retryingFetch(options: SendOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const key = request.headers.get('idempotency-key');
    const repeatable =
      key !== null || request.method !== 'POST' || new URL(request.url).pathname.endsWith('/cancel');
    const body = request.body === null ? null : await request.clone().arrayBuffer();
    for (let tried = 0; ; tried += 1) {
      const last = !repeatable || tried >= options.maxRetries;
      const result = await tryOnce(request, body, options);
      if (result instanceof Response) {
        if (last || !(await passes(result))) return result;
        await result.body?.cancel();
        await pause(retryAfterMs(result) ?? backoffMs(options.retryDelayMs, tried), request.signal);
        continue;
      }
      if (last) throw new ConnectionError('The API did not answer.', key, result.cause);
      await pause(backoffMs(options.retryDelayMs, tried), request.signal);
    }
  };
}

async function tryOnce(
  request: Request,
  body: ArrayBuffer | null,
  { fetch, timeoutMs }: SendOptions,
): Promise<Response | { readonly cause: unknown }> {
  request.signal.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(request.signal.reason);
  request.signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    const { method, headers } = request;
    return await fetch(request.url, { method, headers, body, signal: controller.signal, redirect: 'follow' });
  } catch (cause) {
    request.signal.throwIfAborted();
    return { cause };
  } finally {
    // The abort of the request still reaches the body; this timer no more.
    clearTimeout(timer);
  }
}

async function passes(response: Response): Promise<boolean> {
  if (PASSING.has(response.status)) return true;
  if (response.status !== 409) return false;
  const problem = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: unknown };
  return problem.code === 'idempotency_key_in_progress';
}

/** Both forms of RFC 9110 §10.2.3; null for none or garbage. Never more than a minute. */
export function retryAfterMs(response: Response): number | null {
  const text = response.headers.get('retry-after')?.trim() ?? '';
  const ms = /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), 60_000);
}

function backoffMs(firstMs: number, tried: number): number {
  return Math.min(firstMs * 2 ** tried, MAX_PAUSE_MS) * (0.75 + Math.random() / 2);
}

/** @throws `signal.reason` at once when it is aborted */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
