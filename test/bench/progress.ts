/** Tells a person who waits; one line on stderr. */
export type Say = (line: string) => void;

const TOLD_EVERY_MS = 10_000;

/** @throws Error that names `what` when it has not come within `limitMs` */
export async function within<T>(what: string, limitMs: number, coming: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${limitMs / 1_000} s in vain: ${what}`)), limitMs);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells every ten seconds how far it is, until `work` has ended. */
export async function telling<T>(say: Say, how: () => string, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => say(`    ${how()}`), TOLD_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
