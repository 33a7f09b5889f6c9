import type { ServerResponse } from 'node:http';

/** A client that takes nothing for so long is cut: it would hold its place for nothing. */
const CUT_AFTER_MS = 30_000;
/** How long a client waits before it connects again. */
const RETRY = 'retry: 2000\n\n';
/** A comment: no event, and no id, so that it moves nobody's place. */
export const HEARTBEAT = ': nothing new\n\n';

/** Headers of `text/event-stream`: proxies must neither keep it nor collect it. It ends with its connection. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
  Connection: 'close',
};

/** One event; JSON text has no line breaks, so one `data:` line holds it. */
export function eventFrame(event: {
  readonly seq: number;
  readonly type: string;
  readonly data: object;
}): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/**
 * Writes the frames as fast as the client takes them: what it leaves waits in the source, not in memory. Resolves when
 * they are over, the client has left, or it took nothing for `cutAfterMs` and was cut. Throws what the frames throw.
 */
export async function writeFrames(
  response: ServerResponse,
  frames: AsyncIterable<string>,
  cutAfterMs = CUT_AFTER_MS,
): Promise<void> {
  response.write(RETRY);
  for await (const frame of frames) {
    if (response.destroyed) return;
    if (!response.write(frame) && !(await hasDrained(response, cutAfterMs))) {
      response.destroy();
      return;
    }
  }
}

/** @returns false when the client left, or the time is over first. */
function hasDrained(response: ServerResponse, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (drained: boolean) => (): void => {
      clearTimeout(timer);
      response.off('drain', drain);
      response.off('close', leave);
      resolve(drained);
    };
    const [drain, leave] = [settle(true), settle(false)];
    const timer = setTimeout(leave, withinMs);
    response.on('drain', drain);
    response.on('close', leave);
  });
}
