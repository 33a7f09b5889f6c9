import type { ProviderOutput } from '../domain/provider.ts';
import { outputsFrom } from './output-urls.ts';

const MAX_MEMBERS = 64;
const MAX_DEPTH = 3;

function candidates(value: unknown, keys: readonly string[], depth: number): readonly unknown[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  const members = Array.isArray(value)
    ? (value as readonly unknown[]).slice(0, MAX_MEMBERS)
    : keys.map((key) => (Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined));
  return members.flatMap((member) => candidates(member, keys, depth + 1));
}

/** The outputs in a value whose shape is not documented: URLs in it, in lists, and in members of these names. */
export function nestedOutputs(value: unknown, keys: readonly string[]): readonly ProviderOutput[] {
  return outputsFrom(candidates(value, keys, 0));
}
