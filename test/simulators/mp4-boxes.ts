/** One MP4 box: where its payload starts and ends. */
export interface Mp4Box {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** The boxes in `bytes[start, end)`; an Error unless their sizes fill it exactly. */
export function walkBoxes(bytes: Buffer, start = 0, end = bytes.length): Mp4Box[] {
  const boxes: Mp4Box[] = [];
  for (let at = start; at < end;) {
    if (at + 8 > end) throw new Error(`box header cut at ${at}`);
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > end) throw new Error(`box at ${at} has size ${size}`);
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), start: at + 8, end: at + size });
    at += size;
  }
  return boxes;
}

/** The box at this path, e.g. `moov/trak/mdia`; an Error when there is none. */
export function findBox(bytes: Buffer, path: string): Mp4Box {
  let found: Mp4Box = { type: '', start: 0, end: bytes.length };
  for (const type of path.split('/')) {
    const next = walkBoxes(bytes, found.start, found.end).find((box) => box.type === type);
    if (next === undefined) throw new Error(`no ${type} of ${path}`);
    found = next;
  }
  return found;
}
