import { request as httpRequest, type ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** One event for one receiver; `headers` is asked per attempt, because the signature carries the time of sending. */
export interface Callback {
  readonly url: string;
  readonly body: Buffer;
  readonly headers: () => Readonly<Record<string, string>>;
  /** Told after each attempt: the HTTP status, or why there was none. */
  readonly onAttempt: (attempt: number, answer: number | string) => void;
}

export interface CallbackSenderOptions {
  /** Waits before the second, third … attempt; its length bounds the attempts. */
  readonly retryMs: readonly number[];
  readonly timeoutMs: number;
}

const MAX_READ_BYTES = 4_096;
const MAX_IN_FLIGHT = 64;
const MAX_QUEUED = 20_000;

function openPost(url: string, body: Buffer, headers: Readonly<Record<string, string>>): ClientRequest {
  const send = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest;
  return send(url, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': String(body.length), ...headers },
  });
}

/** The body of the 200 that answers one POST within this time, at most 4096 bytes of it; null for all else. */
export function postAndRead(url: string, body: Buffer, timeoutMs: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    if (!URL.canParse(url)) {
      resolve(null);
      return;
    }
    const outgoing = openPost(url, body, {});
    const timer = setTimeout(() => outgoing.destroy(), timeoutMs);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (Buffer.concat(chunks).length <= MAX_READ_BYTES) return;
        resolve(null);
        outgoing.destroy();
      });
      response.once('error', () => {});
      response.once('end', () => resolve(response.statusCode === 200 ? Buffer.concat(chunks) : null));
    });
    outgoing.once('error', () => {});
    // Where it was decided before, this changes nothing.
    outgoing.once('close', () => {
      clearTimeout(timer);
      resolve(null);
    });
    outgoing.end(body);
  });
}

/** One POST: the status, or a fixed word. Redirects are not followed, the answer's body is thrown away. */
export function post(
  url: string,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<number | string> {
  return new Promise((resolve) => {
    if (!URL.canParse(url)) {
      resolve('invalid_url');
      return;
    }
    const outgoing = openPost(url, body, headers);
    const timer = setTimeout(() => outgoing.destroy(new Error('timeout')), timeoutMs);
    const finish = (answer: number | string) => {
      clearTimeout(timer);
      resolve(answer);
    };
    outgoing.once('response', (response) => {
      response.resume();
      finish(response.statusCode ?? 0);
    });
    outgoing.once('error', (error) => finish(error.message === 'timeout' ? 'timeout' : 'connection_failed'));
    outgoing.end(body);
  });
}

/** Delivers callbacks at least once: tried again after every answer that is not 2xx, to the end of the schedule. */
export class CallbackSender {
  readonly #options: CallbackSenderOptions;
  readonly #queue: (() => Promise<void>)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #inFlight = 0;
  #closed = false;

  constructor(options: CallbackSenderOptions) {
    this.#options = options;
  }

  /** Queues it; when 20 000 wait already it is dropped, as a provider under load may do. */
  send(callback: Callback): void {
    this.#attempt(callback, 1);
  }

  /** Stops everything that waits or is planned. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#queue.length = 0;
  }

  close(): void {
    this.#closed = true;
    this.clear();
  }

  /** Runs later, unless the simulator is reset or stopped before. */
  after(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    timer.unref();
    this.#timers.add(timer);
  }

  #attempt(callback: Callback, attempt: number): void {
    if (this.#closed || this.#queue.length >= MAX_QUEUED) return;
    this.#queue.push(async () => {
      const { timeoutMs, retryMs } = this.#options;
      const answer = await post(callback.url, callback.body, callback.headers(), timeoutMs);
      callback.onAttempt(attempt, answer);
      const delayMs = retryMs[attempt - 1];
      const delivered = typeof answer === 'number' && answer >= 200 && answer < 300;
      if (!delivered && delayMs !== undefined)
        this.after(delayMs, () => this.#attempt(callback, attempt + 1));
    });
    this.#drain();
  }

  #drain(): void {
    while (this.#inFlight < MAX_IN_FLIGHT) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#inFlight++;
      void next().finally(() => {
        this.#inFlight--;
        this.#drain();
      });
    }
  }
}
