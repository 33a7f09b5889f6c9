import { mp4 } from './containers/mp4.ts';
import { type Container, type ContainerParser, type MediaVerdict, TRUNCATED } from './containers/parser.ts';
import { png } from './containers/png.ts';
import { wav } from './containers/wav.ts';

export type { MediaVerdict } from './containers/parser.ts';

/** One more kind of file is one more line here and one file beside them. */
const CONTAINERS: readonly Container[] = [mp4, png, wav];
const HEAD_BYTES = 16;

/** Watches a file go by; holds at most a few MiB (an MP4's index), never the file. */
export interface MediaCheck {
  write(chunk: Uint8Array): void;
  /**
   * What the bytes are, whatever their sender called them, and whether they are all there. `truncated` also covers a
   * damaged structure. Throws if `totalBytes` is not the number of bytes written.
   */
  finish(totalBytes: number): MediaVerdict;
}

export function createMediaCheck(): MediaCheck {
  let total = 0;
  let head: Uint8Array = new Uint8Array(0);
  /** undefined until the head decides; null for an unknown kind. */
  let walk: Walk | null | undefined;

  return {
    write(chunk) {
      total += chunk.length;
      let rest = chunk;
      if (walk === undefined) {
        rest = chunk.subarray(HEAD_BYTES - head.length);
        head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
        if (head.length < HEAD_BYTES) return;
        walk = beginWalk(head);
      }
      walk?.write(rest);
    },
    finish(totalBytes) {
      if (totalBytes !== total)
        throw new Error(`media check saw ${total} bytes of ${totalBytes}: write every chunk`);
      if (total === 0) return { ok: false, reason: 'empty' };
      if (walk === undefined) walk = beginWalk(head);
      return walk?.finish() ?? { ok: false, reason: 'unknown_type' };
    },
  };
}

function beginWalk(head: Uint8Array): Walk | null {
  const container = CONTAINERS.find((candidate) => candidate.matches(head));
  if (!container) return null;
  const walk = startWalk(container.parse());
  walk.write(head);
  return walk;
}

interface Walk {
  write(chunk: Uint8Array): void;
  finish(): MediaVerdict;
}

/** Feeds a parser with what it asks for, however the bytes are cut. */
function startWalk(parser: ContainerParser): Walk {
  let step = parser.next();
  let taken: Uint8Array[] = [];
  let done = 0;

  const needed = (): number => {
    if (step.done) return Infinity;
    return 'take' in step.value ? step.value.take : step.value.skip;
  };
  return {
    write(chunk) {
      let at = 0;
      while (!step.done && at < chunk.length) {
        const part = chunk.subarray(at, at + needed() - done);
        // A copy: the caller may use its buffer again.
        if ('take' in step.value) taken.push(Uint8Array.from(part));
        at += part.length;
        done += part.length;
        if (done < needed()) return;
        const bytes = 'take' in step.value ? Buffer.concat(taken) : new Uint8Array(0);
        taken = [];
        done = 0;
        step = parser.next(bytes);
      }
    },
    finish() {
      if (!step.done && done === 0) step = parser.next(null);
      return step.done ? step.value : TRUNCATED;
    },
  };
}
