import type { DownloadLimits } from './types.ts';

const DEFAULT_MIN_BYTES_PER_SECOND = 1_000;
const DEFAULT_RATE_WINDOW_MS = 30_000;
const CHECKS_PER_WINDOW = 5;

/** What ended an exchange; only after `idle` a further one may follow. */
export type LimitReached = 'caller' | 'total' | 'idle' | 'rate';

/** Ends the exchanges of one transfer by its own limits or the caller's signal. */
export interface TransferLimits {
  /** The signal of the next exchange; its idle time starts now, all else goes on from before. */
  next(): AbortSignal;
  /** What has ended the exchange; null while it goes on. */
  reached(): LimitReached | null;
  /** The source has answered, or the sink is ready again: the idle time starts anew. */
  touch(): void;
  /** These bytes came and the sink is busy with them: the source is not to blame for silence. */
  hold(bytes: number): void;
  stop(): void;
}

/** Starts the clocks; `stop` must be called in every case. */
export function startLimits(limits: DownloadLimits, caller: AbortSignal): TransferLimits {
  const { idleMs, totalMs } = limits;
  let exchange = new AbortController();
  let reached: LimitReached | null = null;
  const end = (limit: LimitReached) => (): void => {
    reached ??= limit;
    exchange.abort();
  };
  const [byCaller, byIdle] = [end('caller'), end('idle')];
  const rate = watchRate(limits, end('rate'));
  const total = setTimeout(end('total'), totalMs);
  let idle = setTimeout(byIdle, idleMs);
  caller.addEventListener('abort', byCaller, { once: true });
  const restartIdle = (): void => {
    clearTimeout(idle);
    if (reached === null) idle = setTimeout(byIdle, idleMs);
  };
  return {
    next() {
      if (reached === 'idle') reached = null;
      exchange = new AbortController();
      if (reached !== null) exchange.abort();
      rate.resume();
      restartIdle();
      return exchange.signal;
    },
    reached: () => reached,
    touch() {
      rate.resume();
      restartIdle();
    },
    hold(bytes) {
      rate.pause(bytes);
      clearTimeout(idle);
    },
    stop() {
      rate.stop();
      clearTimeout(idle);
      clearTimeout(total);
      caller.removeEventListener('abort', byCaller);
    },
  };
}

/**
 * Counts the bytes of one window after the other and tells when one brought too few; the first is not judged. A window is
 * full when the source had that much time: while the sink is busy no time passes.
 */
function watchRate(limits: DownloadLimits, onTooSlow: () => void) {
  const { minBytesPerSecond = DEFAULT_MIN_BYTES_PER_SECOND, rateWindowMs = DEFAULT_RATE_WINDOW_MS } = limits;
  let bytes = 0;
  let ms = 0;
  let isFirst = true;
  let isHeld = false;
  let since = performance.now();

  /** Books the time up to now, and says what follows. */
  function book(nextHeld: boolean): void {
    const now = performance.now();
    if (!isHeld) ms += now - since;
    isHeld = nextHeld;
    since = now;
  }
  const timer = setInterval(() => {
    book(isHeld);
    if (ms < rateWindowMs) return;
    if (!isFirst && bytes < (minBytesPerSecond * ms) / 1_000) onTooSlow();
    isFirst = false;
    bytes = 0;
    ms = 0;
  }, rateWindowMs / CHECKS_PER_WINDOW);
  return {
    pause(more: number): void {
      bytes += more;
      book(true);
    },
    resume: (): void => book(false),
    stop: (): void => clearInterval(timer),
  };
}
