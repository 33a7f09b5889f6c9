/** One bit and whoever waits for it: rung any number of times, it is heard once. */
export interface Bell {
  readonly ring: () => void;
  /** Waits at most this long. @returns whether it rang since it was last heard */
  heard(withinMs: number): Promise<boolean>;
  /** Whether one of the signals has ended the wait. */
  stopped(): boolean;
  /** Takes its listeners back from the signals, which outlive it. */
  release(): void;
}

/** Each of the signals rings it, too, so that nobody waits for what will not be answered. One waits at a time. */
export function createBell(stops: readonly AbortSignal[]): Bell {
  let rang = false;
  let wake: (() => void) | null = null;
  const ring = (): void => {
    rang = true;
    wake?.();
  };
  for (const stop of stops) stop.addEventListener('abort', ring);
  const stopped = (): boolean => stops.some(({ aborted }) => aborted);
  return {
    ring,
    stopped,
    async heard(withinMs) {
      if (!rang && !stopped()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, withinMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = null;
      }
      const heard = rang;
      rang = false;
      return heard;
    },
    release() {
      for (const stop of stops) stop.removeEventListener('abort', ring);
    },
  };
}
