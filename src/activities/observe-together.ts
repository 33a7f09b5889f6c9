import type { CallOptions, Observation, Provider, ProviderHandle } from '../domain/provider.ts';

/** Asks for the state of one job; looks that fall together share one call where the provider can tell several. */
export type Observe = (
  provider: Provider,
  handle: ProviderHandle,
  options: CallOptions,
) => Promise<Observation>;

const TOGETHER_MS = 250;
/** So many in one call, that its URL stays short. */
const MOST = 50;
/** An answer that leaves a job out says nothing of it. */
const NOTHING_SAID: Observation = {
  kind: 'unavailable',
  reason: 'unreadable_answer',
  denied: false,
  retryAfterMs: null,
};

interface Waiting {
  readonly handle: ProviderHandle;
  readonly resolve: (observation: Observation) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks of one process at one provider with one credential wait up to 250 ms for each other. A lone look does not wait:
 * the first goes out at once, and only those that come while it is under way are gathered.
 */
export function createObserve(): Observe {
  const gathering = new Map<string, Waiting[]>();
  const busy = new Set<string>();

  async function flush(key: string, provider: Provider, options: CallOptions): Promise<void> {
    const waiting = gathering.get(key)?.splice(0, MOST) ?? [];
    if ((gathering.get(key)?.length ?? 0) === 0) gathering.delete(key);
    else void flush(key, provider, options);
    if (waiting.length === 0) return;
    try {
      const seen = await provider.observeMany!(
        waiting.map(({ handle }) => handle),
        options,
      );
      waiting.forEach(({ resolve }, index) => resolve(seen[index] ?? NOTHING_SAID));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  return async (provider, handle, options) => {
    if (provider.observeMany === undefined) return provider.observe(handle, options);
    const key = `${provider.name}\n${options.credential.name}`;
    if (!busy.has(key)) {
      busy.add(key);
      try {
        return await provider.observe(handle, options);
      } finally {
        setTimeout(() => busy.delete(key), TOGETHER_MS).unref();
      }
    }
    return new Promise((resolve, reject) => {
      const waiting = gathering.get(key);
      if (waiting !== undefined) {
        waiting.push({ handle, resolve, reject });
        return;
      }
      gathering.set(key, [{ handle, resolve, reject }]);
      setTimeout(() => void flush(key, provider, options), TOGETHER_MS);
    });
  };
}
