import { gif } from './containers/gif.ts';
import { glb } from './containers/glb.ts';
import { jpeg } from './containers/jpeg.ts';
import { mp3 } from './containers/mp3.ts';
import { mp4 } from './containers/mp4.ts';
import { type Container, type MediaVerdict, UNKNOWN } from './containers/parser.ts';
import { png } from './containers/png.ts';
import { startWalk, type Walk } from './containers/walk.ts';
import { wav } from './containers/wav.ts';
import { webm } from './containers/webm.ts';
import { webp } from './containers/webp.ts';

export type { MediaVerdict } from './containers/parser.ts';

/** One more kind of file is one more line here and one file beside them. */
const CONTAINERS: readonly Container[] = [mp4, png, wav, jpeg, webp, gif, webm, glb, mp3];
const HEAD_BYTES = 16;
/** What the columns of our tables hold. */
const MAX_PIXELS = 0x7fffffff;
const MAX_SECONDS = 1e9;

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
      return plausible(walk?.finish() ?? UNKNOWN);
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

/** A whole file may still say nonsense of itself; that is as good as nothing. */
function plausible(verdict: MediaVerdict): MediaVerdict {
  if (!verdict.ok) return verdict;
  const { width, height, durationSeconds } = verdict;
  const isSize = isPixels(width) && isPixels(height);
  const isDuration = durationSeconds !== null && durationSeconds >= 0 && durationSeconds <= MAX_SECONDS;
  return {
    ...verdict,
    width: isSize ? width : null,
    height: isSize ? height : null,
    // Microseconds are more than any of them means.
    durationSeconds: isDuration ? Math.round(durationSeconds * 1e6) / 1e6 : null,
  };
}

function isPixels(value: number | null): boolean {
  return value !== null && value > 0 && value <= MAX_PIXELS;
}
