import { DarkroomError, WaitTimeoutError } from './errors.ts';
import { readEventStream } from './event-stream.ts';
import { pause } from './retrying-fetch.ts';
import type { Generation, GenerationEvent } from './types.ts';

export interface WaitOptions {
  /** After this many milliseconds WaitTimeoutError is thrown; the generation goes on. Default 15 minutes. */
  readonly timeoutMs?: number;
  /** Told of each event, in order, none twice; not promised to see all when the stream can't be had. */
  readonly onEvent?: (event: GenerationEvent) => void;
  readonly signal?: AbortSignal;
}

/** What waiting is built over. */
export interface Waitable {
  /** The stream of events after this one, or null when there is none to be had. */
  readonly open: (lastEventId: string | null, signal: AbortSignal) => Promise<Response | null>;
  /** The generation, and when to look again. */
  readonly read: (signal: AbortSignal) => Promise<{ generation: Generation; againInMs: number }>;
}

const DEFAULT_TIMEOUT_MS = 15 * 60_000;
/** The API writes something every 15 s: what is silent for longer is buffered somewhere, or dead. */
const SILENCE_MS = 40_000;
const MAX_STREAMS_WITHOUT_EVENT = 3;
const RECONNECT_MS = 1_000;
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'expired']);

/**
 * The generation once it has ended, in whichever way: look at `state`. Follows the event stream and connects again where
 * it broke; where there is none it polls as `Retry-After` says. Giving up cancels nothing.
 * @throws WaitTimeoutError with the id; DarkroomError; `signal.reason`
 */
export async function waitForEnd(id: string, way: Waitable, options: WaitOptions = {}): Promise<Generation> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, onEvent, signal: caller } = options;
  const controller = new AbortController();
  const timedOut = new WaitTimeoutError(id);
  const timer = setTimeout(() => controller.abort(timedOut), timeoutMs);
  const abort = (): void => controller.abort(caller?.reason);
  if (caller?.aborted === true) abort();
  caller?.addEventListener('abort', abort, { once: true });
  const { signal } = controller;
  try {
    await follow(way, onEvent, signal);
    for (;;) {
      signal.throwIfAborted();
      const { generation, againInMs } = await way.read(signal);
      if (ENDED.has(generation.state)) return generation;
      await pause(againInMs, signal);
    }
  } catch (error) {
    // Whatever an aborted step threw, the reason is why.
    if (signal.aborted) throw signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener('abort', abort);
    // What a broken stream has left open ends with the wait.
    controller.abort(timedOut);
  }
}

/** Returns when the stream told the end, or when there is none to be had. */
async function follow(way: Waitable, onEvent: WaitOptions['onEvent'], signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  for (let empty = 0; empty < MAX_STREAMS_WITHOUT_EVENT;) {
    signal.throwIfAborted();
    const before: string | null = last;
    const stream = await readOne(way, last, onEvent, signal);
    if (stream.kind !== 'broken') return;
    last = stream.last;
    empty = last === before ? empty + 1 : 0;
    await pause(RECONNECT_MS, signal);
  }
}

/** What the caller's own listener threw: a mistake there, not a broken stream. */
class ListenerFailed extends Error {}

function tell(onEvent: WaitOptions['onEvent'], event: GenerationEvent): void {
  try {
    onEvent?.(event);
  } catch (cause) {
    throw new ListenerFailed('onEvent threw', { cause });
  }
}

type Read = { readonly kind: 'ended' | 'none' } | { readonly kind: 'broken'; readonly last: string | null };

async function readOne(
  way: Waitable,
  after: string | null,
  onEvent: WaitOptions['onEvent'],
  outer: AbortSignal,
): Promise<Read> {
  const silent = new AbortController();
  const signal = AbortSignal.any([outer, silent.signal]);
  const quiet = (): ReturnType<typeof setTimeout> =>
    setTimeout(() => silent.abort(new Error('silent')), SILENCE_MS);
  let timer = quiet();
  let last = after;
  try {
    const response = await way.open(last, signal);
    if (response === null || response.body === null) return { kind: 'none' };
    const touched = (): void => {
      clearTimeout(timer);
      timer = quiet();
    };
    for await (const event of readEventStream(response.body, touched)) {
      if (event.id !== null) last = event.id;
      const told = { type: event.type, ...(JSON.parse(event.data) as object) } as GenerationEvent;
      tell(onEvent, told);
      if (event.type === 'terminal' || (told.state !== undefined && ENDED.has(told.state)))
        return { kind: 'ended' };
    }
    return { kind: 'broken', last };
  } catch (error) {
    if (error instanceof ListenerFailed) throw error.cause;
    if (error instanceof DarkroomError || outer.aborted) throw error;
    return { kind: 'broken', last };
  } finally {
    clearTimeout(timer);
  }
}
