import type { CallOptions, Observation, ProviderHandle } from '../domain/provider.ts';
import type { OutboundAnswer, OutboundHttp } from '../net/types.ts';
import { parseRetryAfterMs } from '../domain/retry-after.ts';
import { parseJsonBytes } from './json-answer.ts';

type Unavailable = Extract<Observation, { readonly kind: 'unavailable' }>;

/** One call to a JSON API, sent once. */
export type JsonCall = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  options: CallOptions,
  headers?: Readonly<Record<string, string>>,
  body?: string,
) => Promise<OutboundAnswer>;

/** Calls below `prefix` with the credential as bearer token. */
export function bearerCall(http: OutboundHttp, prefix: string): JsonCall {
  return (method, path, options, headers = {}, body) =>
    http.request({
      method,
      url: `${prefix}${path}`,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${options.credential.apiKey}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: options.timeoutMs,
    });
}

/** A call that says nothing about the job: failed, refused, or answered with something else. */
export function unavailable(answer: OutboundAnswer, nowMs: number): Unavailable {
  if (answer.kind !== 'answer') {
    return { kind: 'unavailable', reason: answer.reason, denied: false, retryAfterMs: null };
  }
  return {
    kind: 'unavailable',
    reason: answer.status >= 200 && answer.status < 300 ? 'unreadable_answer' : `http_${answer.status}`,
    denied: [401, 402, 403].includes(answer.status),
    retryAfterMs: parseRetryAfterMs(answer.headers['retry-after'], nowMs),
  };
}

/** What one provider's answers about a job look like. */
export interface JobReader {
  /** The job in the body of a 2xx as an observation; null when it is unreadable or about another job. */
  readonly observation: (body: unknown, handle: ProviderHandle) => Observation | null;
  /** Whether this body is the provider's own "no such job": a proxy's page says nothing about the job. */
  readonly isNoSuchJob: (status: number, body: unknown) => boolean;
}

/** The answer to a look at one job. */
export function observed(
  answer: OutboundAnswer,
  handle: ProviderHandle,
  reader: JobReader,
  nowMs: number,
): Observation {
  if (answer.kind !== 'answer') return unavailable(answer, nowMs);
  const body = parseJsonBytes(answer.body);
  if (reader.isNoSuchJob(answer.status, body)) return { kind: 'not_found' };
  const isSuccess = answer.status >= 200 && answer.status < 300;
  return (isSuccess ? reader.observation(body, handle) : null) ?? unavailable(answer, nowMs);
}
