/** One quota and what is left of it now. */
export interface Quota {
  /** Name of the policy; letters, digits, `_` and `-` only. */
  readonly policy: string;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  readonly resetInMs: number;
}

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11): lists of one string with parameters. */
export function rateLimitHeaders(quota: Quota): Readonly<Record<string, string>> {
  const { policy, limit, windowSeconds, remaining, resetInMs } = quota;
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${windowSeconds}`,
    RateLimit: `"${policy}";r=${remaining};t=${Math.max(0, Math.ceil(resetInMs / 1_000))}`,
  };
}

/** Delay-seconds of a `Retry-After` (RFC 9110 §10.2.3): whole, rounded up, never 0. */
export function retryAfterSeconds(waitMs: number): string {
  return String(Math.max(1, Math.ceil(waitMs / 1_000)));
}
