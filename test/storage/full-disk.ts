import { open } from 'node:fs/promises';
import type { OpenFile } from '../../src/storage/file-sink.ts';

/** A disk that takes this many bytes and then, as a real one, writes a part before it says ENOSPC. */
export function fullAfter(capacity: number, failing: 'write' | 'sync' = 'write'): OpenFile {
  let left = capacity;
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  return async (path, flags, mode) => {
    const handle = await open(path, flags, mode);
    return new Proxy(handle, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'sync' && failing === 'sync') return async () => Promise.reject(full);
        if (name === 'write') {
          return async (bytes: Uint8Array, offset: number, length: number) => {
            const part = Math.min(left, length);
            if (part === 0) throw full;
            left -= part;
            return target.write(bytes, offset, part);
          };
        }
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
}
