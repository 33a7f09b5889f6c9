import type { ProviderOutput } from '../domain/provider.ts';
import { isInlineFile } from '../net/data-url.ts';

const MAX_OUTPUTS = 64;
const MAX_URL_CHARACTERS = 8_192;

/** Whether this text is an output: an http(s) URL without credentials, or a whole file as `data:…;base64,…`. */
export function isUsableOutput(text: string): boolean {
  if (isInlineFile(text)) return true;
  if (text.length > MAX_URL_CHARACTERS || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

/**
 * Until when links live, as it counts. An end that our clock calls past says nothing while the provider still lists the
 * outputs, for a clock may be wrong: null, and the download decides. Without outputs it stays: it tells gone from never made.
 */
export function linkEnd(end: Date | null, outputs: readonly ProviderOutput[], nowMs: number): Date | null {
  return end !== null && outputs.length > 0 && end.getTime() <= nowMs ? null : end;
}

/** The usable URLs among these values as outputs: in order, each once, at most 64. */
export function outputsFrom(values: readonly unknown[]): readonly ProviderOutput[] {
  const urls = values.filter((value): value is string => typeof value === 'string' && isUsableOutput(value));
  return [...new Set(urls)].slice(0, MAX_OUTPUTS).map((url) => ({ url }));
}
