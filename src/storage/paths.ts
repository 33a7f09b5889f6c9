import { FAILURE_TEXTS } from './failures.ts';

const PATH = /^(?:gen|inp)_[0-9a-hjkmnp-tv-z]{26}\/\d{1,3}-\d{1,6}$/;

/** Whether the path is `<generation or input id>/<index>-<attempt>`, as every stored file is named. */
export function isStoragePath(path: string): boolean {
  return PATH.test(path);
}

/** Throws unless it is such a path: then nothing else can ever be addressed. */
export function assertStoragePath(path: string): void {
  if (!isStoragePath(path)) {
    throw new Error('storage path is not <generation id>/<index>-<attempt>: build it from our own ids only');
  }
}

/** Throws unless it is a range of bytes as HTTP counts them. */
export function assertRange({ start, end }: { readonly start: number; readonly end: number }): void {
  const whole = Number.isSafeInteger(start) && Number.isSafeInteger(end);
  if (!whole || start < 0 || start > end) throw new RangeError(FAILURE_TEXTS.range);
}
