/**
 * The nth delay (n from 0) of a growing series, with jitter of ±10 %.
 * @param random from 0 (inclusive) to 1 (exclusive), given so that a caller can fix it.
 */
export function backoffMs(
  n: number,
  series: { readonly initialMs: number; readonly factor: number; readonly maxMs: number },
  random: number,
): number {
  const plain = Math.min(series.maxMs, series.initialMs * series.factor ** Math.min(n, 64));
  return Math.round(plain * (0.9 + 0.2 * random));
}
