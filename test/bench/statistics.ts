import type { Quantiles, Ratio } from './types.ts';

/** The value below which `share` of them lie; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function quantiles(values: readonly number[]): Quantiles {
  const at = (share: number) => rounded(quantile(values, share));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), count: values.length };
}

/** Three significant decimals are more than any machine repeats. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The ratios of some rounds with their spread. */
export function ratioOf(rounds: readonly number[]): Ratio {
  return {
    median: rounded(median(rounds)),
    min: rounded(Math.min(...rounds)),
    max: rounded(Math.max(...rounds)),
    rounds: rounds.map(rounded),
  };
}
