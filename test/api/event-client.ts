import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** One block of `text/event-stream`, as it came: `data` is parsed. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: Record<string, unknown>;
  readonly retry?: string;
  readonly comment?: string;
}

/** One connection to a stream of events. */
export interface Followed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** All blocks so far. */
  readonly frames: readonly Frame[];
  /** Those with an id, so far. */
  events(): Frame[];
  /** Resolves when the blocks so far fit; rejects after a minute. */
  until(fits: (frames: readonly Frame[]) => boolean): Promise<void>;
  /** How it ended: `end` = whole, `cut` = by the other side, or by `leave`. */
  readonly over: Promise<'end' | 'cut'>;
  readonly text: () => string;
  leave(): void;
}

const LIMIT_MS = 60_000;

export function parseFrame(block: string): Frame {
  const frame: Record<string, unknown> = {};
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field in frame) throw new Error(`two lines of one field: ${block}`);
    frame[field === '' ? 'comment' : field] = field === 'data' ? JSON.parse(value) : value;
  }
  return frame;
}

/**
 * Opens it over a connection of its own; resolves with the head of the answer.
 * @param cutAfter leaves when so many characters have come, also in the middle of an event
 */
export function follow(
  baseUrl: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  cutAfter = Infinity,
): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(new URL(path, baseUrl), { headers, agent: false });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => resolve(readFrames(response, cutAfter, () => outgoing.destroy())));
    outgoing.end();
  });
}

function readFrames(response: IncomingMessage, cutAfter: number, leave: () => void): Followed {
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  let [text, rest] = ['', ''];
  response.setEncoding('utf8').on('data', (whole: string) => {
    const piece = whole.slice(0, Math.max(0, cutAfter - text.length));
    text += piece;
    if (text.length >= cutAfter) leave();
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop()!;
    if (response.headers['content-type'] === 'text/event-stream') frames.push(...blocks.map(parseFrame));
    for (const look of waiting) look();
  });
  const over = new Promise<'end' | 'cut'>((resolve) => {
    response.on('close', () => resolve(response.complete ? 'end' : 'cut'));
    response.on('error', () => {});
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    frames,
    events: () => frames.filter(({ id }) => id !== undefined),
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!fits(frames)) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve();
        };
        const timer = setTimeout(
          () => reject(new Error(`not within ${LIMIT_MS} ms: ${text.slice(-500)}`)),
          LIMIT_MS,
        );
        waiting.add(look);
        look();
      }),
    over,
    text: () => text,
    leave,
  };
}
