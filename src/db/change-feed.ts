import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** What the database tells of: a generation that moved (its id), a webhook that is due (nothing). */
export type Channel = 'darkroom_generation' | 'darkroom_webhook';

/** Hints from the database. None is promised: whoever listens also looks by itself now and then. */
export interface ChangeFeed {
  /**
   * `payload` is null after a connection was made: anything may have changed. What the listener throws is a problem of
   * its own and stops nothing. @returns the way to stop.
   */
  subscribe(channel: Channel, listener: (payload: string | null) => void): () => void;
  /** Ends the connection, also one that is being made; no hint comes after it. */
  close(): Promise<void>;
}

export interface ChangeFeedOptions {
  /** Between two questions whether the connection still works: a network that swallows packets tells nothing. */
  readonly probeEveryMs: number;
  /** For connecting, and for each answer. */
  readonly answerWithinMs: number;
}

const DEFAULTS: ChangeFeedOptions = { probeEveryMs: 30_000, answerWithinMs: 5_000 };
const CHANNELS: readonly Channel[] = ['darkroom_generation', 'darkroom_webhook'];
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/**
 * Listens on one connection of its own, made again whenever it is lost. It needs a direct connection: a pooler in
 * transaction mode forgets LISTEN (DATABASE_DIRECT_URL).
 */
export function openChangeFeed(
  directUrl: string,
  onProblem: (error: unknown) => void,
  options: Partial<ChangeFeedOptions> = {},
): ChangeFeed {
  const { probeEveryMs, answerWithinMs } = { ...DEFAULTS, ...options };
  const listeners: Record<Channel, Set<(payload: string | null) => void>> = {
    darkroom_generation: new Set(),
    darkroom_webhook: new Set(),
  };
  const stop = new AbortController();
  const tell = (channel: Channel, payload: string | null): void => {
    for (const listener of listeners[channel]) {
      try {
        listener(payload);
      } catch (error) {
        onProblem(error);
      }
    }
  };

  /** Until the connection is lost, which it throws. */
  const listenOnce = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: directUrl,
      keepAlive: true,
      connectionTimeoutMillis: answerWithinMs,
      query_timeout: answerWithinMs,
      application_name: 'darkroom-listen',
    });
    const lost = new AbortController();
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort(new Error('the listening connection ended')));
    client.on('notification', ({ channel, payload }) => {
      if (!stop.signal.aborted && Object.hasOwn(listeners, channel)) tell(channel as Channel, payload ?? '');
    });
    // Not client.end(): it waits for the other side, and makes a connect() in flight hang for good.
    const hangUp = (): void => void client.connection.stream.destroy();
    stop.signal.addEventListener('abort', hangUp);
    try {
      await client.connect();
      for (const channel of CHANNELS) await client.query(`LISTEN ${channel}`);
      for (const channel of CHANNELS) tell(channel, null);
      for (;;) {
        await sleep(probeEveryMs, undefined, { signal: lost.signal }).catch(() => undefined);
        lost.signal.throwIfAborted();
        await client.query('SELECT 1');
      }
    } finally {
      stop.signal.removeEventListener('abort', hangUp);
      hangUp();
    }
  };
  const running = (async (): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !stop.signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      const startedMs = performance.now();
      await listenOnce().catch((error: unknown) => {
        if (!stop.signal.aborted) onProblem(error);
      });
      if (performance.now() - startedMs > MAX_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      await sleep(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();

  return {
    subscribe(channel, listener) {
      listeners[channel].add(listener);
      return () => listeners[channel].delete(listener);
    },
    async close() {
      stop.abort();
      await running;
    },
  };
}
