import type { CallOptions } from '../domain/provider.ts';

/** For several calls within one time: the options with what is left of it at each, at least a millisecond. */
export function timeLeft(options: CallOptions): () => CallOptions {
  const endMs = performance.now() + options.timeoutMs;
  return () => ({ ...options, timeoutMs: Math.max(1, Math.floor(endMs - performance.now())) });
}
