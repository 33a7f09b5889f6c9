/** A bounded number of downloads at once in this process; who waits is served by whose link dies first. */
export interface DownloadSlots {
  /** @returns the release, to be called exactly once. @throws the signal's reason when it is aborted while waiting. */
  acquire(linkExpiresAtMs: number, signal: AbortSignal): Promise<() => void>;
}

interface Waiter {
  readonly expiresAtMs: number;
  readonly take: () => void;
}

/** @param size how many may download at the same time. */
export function createDownloadSlots(size: number): DownloadSlots {
  let free = size;
  const waiting: Waiter[] = [];

  function release(): void {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next.take();
  }

  function once(): () => void {
    let released = false;
    return () => {
      if (!released) release();
      released = true;
    };
  }

  return {
    acquire(linkExpiresAtMs, signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return Promise.resolve(once());
      }
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          expiresAtMs: linkExpiresAtMs,
          take: () => {
            signal.removeEventListener('abort', leave);
            resolve(once());
          },
        };
        function leave(): void {
          waiting.splice(waiting.indexOf(waiter), 1);
          reject(signal.reason as Error);
        }
        signal.addEventListener('abort', leave, { once: true });
        const at = waiting.findIndex(({ expiresAtMs }) => expiresAtMs > linkExpiresAtMs);
        waiting.splice(at === -1 ? waiting.length : at, 0, waiter);
      });
    },
  };
}
