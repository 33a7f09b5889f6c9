/** One outbound call. The body is sent as it stands; redirects are never followed. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the first look-up to the last byte of the answer. */
  readonly timeoutMs: number;
  /** An answer larger than this is cut off and counts as `interrupted`. Default 1 MiB. */
  readonly maxAnswerBytes?: number;
  /**
   * For a caller to whom the status says all: at most this many bytes of the body are kept, and once the head of the
   * answer is there, nothing in its body (its size, its end, its time) makes it other than an answer.
   */
  readonly cutAnswerAt?: number;
}

/**
 * `not_sent` proves that no byte of the request left us (blocked address, DNS, connect refused, TLS handshake,
 * a header that HTTP does not allow);
 * `interrupted` proves nothing: the other side may have acted on it.
 */
export type OutboundAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Lower-case names; repeated headers joined by ", ". */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  | { readonly kind: 'not_sent'; readonly reason: NetFailure }
  | { readonly kind: 'interrupted'; readonly reason: NetFailure };

/** Fixed codes, safe to log and to show: never a host, an address or a URL. */
export type NetFailure =
  | 'blocked_address'
  | 'invalid_url'
  | 'invalid_request'
  | 'dns_failed'
  | 'connect_refused'
  | 'connect_timeout'
  | 'tls_failed'
  | 'timeout'
  | 'reset'
  | 'answer_too_large'
  | 'bad_answer';

/** Guarded outbound HTTP; the only way out of the process to an address that we did not configure. */
export interface OutboundHttp {
  /** Never throws for an expected failure, never re-sends by itself. */
  request(request: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * Streams a file into the sink; follows at most three redirects, each hop checked again. Where the source breaks off
   * (reset, early end, silence) the rest is asked for by Range, up to five times, if it had told its length and a strong
   * validator; every check is made again. Throws only what `write` or `headersFor` threw, or `signal.reason` once the
   * signal is aborted; never while a `write` is still running.
   */
  download(request: DownloadRequest): Promise<DownloadAnswer>;
  /** Waits for what is in flight (each call has its own limit), then closes all connections. */
  close(): Promise<void>;
}

export interface DownloadRequest {
  readonly url: string;
  /**
   * Exact hosts, or `*.suffix`; a URL or redirect elsewhere is refused. 'any' = all public ones. Ports must be the
   * scheme's own or allow-listed.
   */
  readonly hosts: readonly string[] | 'any';
  /** Headers per URL, asked again at each hop, so that credentials never cross hosts. */
  readonly headersFor: (url: URL) => Readonly<Record<string, string>>;
  readonly limits: DownloadLimits;
  readonly signal: AbortSignal;
  /** Awaited per chunk: back pressure. */
  readonly write: (chunk: Uint8Array) => Promise<void>;
  /** Bytes of the file so far, those before a resume included; called often, must be cheap. */
  readonly onProgress?: (bytes: number) => void;
}

export interface DownloadLimits {
  readonly maxBytes: number;
  /** No byte for this long ends the exchange. */
  readonly idleMs: number;
  /** For everything, resumes included. */
  readonly totalMs: number;
  /** Fewer over a whole window, after the first one, end it as `too_slow`. Default 1000; 0 = any rate. */
  readonly minBytesPerSecond?: number;
  /** Default 30 s. */
  readonly rateWindowMs?: number;
}

/** `gone` = the link is dead (401, 403, 404, 410): observe again for a fresh one. `rejected` = never to be stored. */
export type DownloadAnswer =
  | {
      readonly kind: 'complete';
      readonly bytes: number;
      readonly contentType: string | null;
      /** How often the rest was asked for; absent = never. */
      readonly resumes?: number;
    }
  | { readonly kind: 'gone'; readonly status: number }
  | {
      readonly kind: 'rejected';
      readonly reason:
        | 'too_large'
        | 'blocked_host'
        | 'blocked_address'
        | 'encoded'
        | 'redirects'
        | 'invalid_url';
    }
  | { readonly kind: 'failed'; readonly reason: NetFailure | 'truncated' | 'too_slow' | 'http_status' };
