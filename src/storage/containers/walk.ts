import { type ContainerParser, type MediaVerdict, TRUNCATED } from './parser.ts';

export interface Walk {
  write(chunk: Uint8Array): void;
  finish(): MediaVerdict;
}

/** Bounds what a file of the smallest possible parts costs; ten hours of MP3 need nearly as many. */
const MAX_STEPS = 3_000_000;
const NOTHING = new Uint8Array(0);

/** Feeds a parser with what it asks for, however the bytes are cut; more needs than `maxSteps` are damage. */
export function startWalk(parser: ContainerParser, maxSteps = MAX_STEPS): Walk {
  let step = parser.next();
  let steps = 0;
  let taken: Uint8Array[] = [];
  /** Bytes that the open need has had. */
  let done = 0;

  const advance = (bytes: Uint8Array | null): void => {
    taken = [];
    done = 0;
    steps++;
    step = steps > maxSteps ? { done: true, value: TRUNCATED } : parser.next(bytes);
  };
  /** Returns up to where the open need goes in these bytes; advances when it is met. */
  const feed = (bytes: Uint8Array, from: number): number => {
    if (step.done) return bytes.length;
    const need = step.value;
    if ('scan' in need) {
      const used = need.scan(from === 0 ? bytes : bytes.subarray(from));
      done += bytes.length - from;
      if (used !== null) advance(NOTHING);
      return used === null ? bytes.length : from + used;
    }
    const wanted = 'take' in need ? need.take : need.skip;
    const to = Math.min(bytes.length, from + wanted - done);
    // A copy: the caller may use its buffer again.
    if ('take' in need) taken.push(bytes.slice(from, to));
    done += to - from;
    if (done === wanted) advance(taken.length > 1 ? Buffer.concat(taken) : (taken[0] ?? NOTHING));
    return to;
  };

  return {
    write(chunk) {
      // Not a Buffer, whose `slice` does not copy and whose `subarray` is slow.
      const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
      for (let at = 0; !step.done && at < bytes.length;) at = feed(bytes, at);
    },
    finish() {
      if (!step.done && done === 0) advance(null);
      return step.done ? step.value : TRUNCATED;
    },
  };
}
