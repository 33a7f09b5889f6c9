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

/** The usable URLs among these values as outputs: in order, each once, at most 64. */
export function outputsFrom(values: readonly unknown[]): readonly ProviderOutput[] {
  const urls = values.filter((value): value is string => typeof value === 'string' && isUsableOutput(value));
  return [...new Set(urls)].slice(0, MAX_OUTPUTS).map((url) => ({ url }));
}
