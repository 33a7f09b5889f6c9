import type { DownloadLimits } from './types.ts';

/** Ends a transfer by its own limits or the caller's signal. */
export interface TransferLimits {
  /** Aborted as soon as any limit is reached. */
  readonly signal: AbortSignal;
  /** A byte arrived, or the sink is ready again: the idle time starts anew. */
  touch(): void;
  /** The sink is busy: the source is not to blame for silence. */
  hold(): void;
  stop(): void;
}

/** Starts the clocks; `stop` must be called in every case. */
export function startLimits({ idleMs, totalMs }: DownloadLimits, caller: AbortSignal): TransferLimits {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const total = setTimeout(abort, totalMs);
  let idle = setTimeout(abort, idleMs);
  caller.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    touch() {
      clearTimeout(idle);
      if (!controller.signal.aborted) idle = setTimeout(abort, idleMs);
    },
    hold() {
      clearTimeout(idle);
    },
    stop() {
      clearTimeout(idle);
      clearTimeout(total);
      caller.removeEventListener('abort', abort);
    },
  };
}
