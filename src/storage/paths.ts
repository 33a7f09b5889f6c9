const PATH = /^gen_[0-9a-hjkmnp-tv-z]{26}\/\d{1,3}-\d{1,6}$/;

/** Throws unless the path is `<generation id>/<index>-<attempt>`: then nothing else can ever be addressed. */
export function assertStoragePath(path: string): void {
  if (!PATH.test(path)) {
    throw new Error('storage path is not <generation id>/<index>-<attempt>: build it from our own ids only');
  }
}
